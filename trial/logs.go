package trial

import (
	"fmt"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// receivers receive commands and changes of keys as they happen; nil = no receiver.
type receivers struct {
	commands func(history.Command)
	keys     func(history.KeyChange)
	// stderr gets, after the trial's end, what the processes of a client wrote on their standard error.
	// There is one call for each client that has processes.
	stderr func(client, text string)
	// acted gets, after the trial's end, what the trial's remedies did.
	acted func(remedy.Acted)
}

// keyWatcher is implemented by testbeds that can say whether they observe changes of
// their nodes' keys.
type keyWatcher interface{ WatchesKeys() bool }

// WatchesKeys says whether a testbed observes changes of its nodes' keys.
func WatchesKeys(tb testbed.Testbed) bool {
	w, ok := tb.(keyWatcher)
	return ok && w.WatchesKeys()
}

// commandLog collects commands and passes them on, one at a time.
type commandLog struct {
	mu   sync.Mutex
	next func(history.Command)
	all  []history.Command
}

func (l *commandLog) add(c history.Command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, c)
	if l.next != nil {
		l.next(c)
	}
}

// sorted returns the commands in the order of their indices.
func (l *commandLog) sorted() []history.Command {
	l.mu.Lock()
	defer l.mu.Unlock()
	history.SortCommands(l.all)
	return l.all
}

// keyLog collects changes of keys and passes them on. Calls come one at a time.
type keyLog struct {
	rec  *history.Recorder
	next func(history.KeyChange)
	all  []history.KeyChange

	size   int // approximate size of the contents in bytes
	unseen map[string]bool
}

// maxContents bounds the contents of a trial's key changes, in bytes: hundreds of times
// what locks need. A key that grows with each command would otherwise take all memory.
const maxContents = 32 << 20

func (l *keyLog) add(c history.KeyChange) {
	if l.size > maxContents {
		l.lose(c.Node)
		return
	}
	l.size += contentSize(c.After)
	l.all = append(l.all, c)
	if l.next != nil {
		l.next(c)
	}
}

// lose records that changes of a node's keys are unknown from now on.
func (l *keyLog) lose(node string) {
	if l.unseen[node] {
		return
	}
	if l.unseen == nil {
		l.unseen = map[string]bool{}
	}
	l.unseen[node] = true
	// The only possible error is that the history has ended: then nothing is missing.
	_, _ = l.rec.Event(history.Op{
		Process: history.Nemesis, Client: history.NoClient, F: history.FUnseen, Node: node,
		Error: fmt.Sprintf("the key changes of the trial hold more than %d MB: no more are kept", maxContents>>20),
	})
}

// contentSize estimates the size of a key's content in bytes.
func contentSize(k *history.KeyContent) int {
	if k == nil {
		return 0
	}
	size := 64 + len(k.Value)
	for _, f := range k.Fields {
		size += 32 + len(f.Name) + len(f.Value)
	}
	for _, m := range k.Members {
		size += 16 + len(m)
	}
	return size
}
