package live

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// aof tracks the size of a node's append-only file. A kill alone loses nothing, because the kernel
// keeps written data. So cut shortens the file to what a power loss would have left under appendfsync
// everysec: writes after testbed.LastFsync are not on disk.
//
// The options from persistence make Redis write to the file before it answers. After an
// answer, the file holds the whole command.
type aof struct {
	mu     sync.Mutex
	path   string // the file that Redis appends to; "" if none
	began  time.Duration
	sizes  []growth // in order of time; the first is the size at the start
	killed time.Duration
	err    error // why some sizes are unknown; nil if all are known
}

// growth is the size of the append-only file at one time.
type growth struct {
	at   time.Duration
	size int64
}

// begin finds the file and follows it from now on. The file's present content counts as synced.
func (a *aof) begin(dir string, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.path, a.err = growingFile(dir)
	a.began, a.sizes = now, nil
	a.look(now)
}

// answered notes the file's size. It is called after each answer of the node.
func (a *aof) answered(now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.look(now)
}

func (a *aof) look(now time.Duration) {
	if a.path == "" || a.err != nil {
		return
	}
	info, err := os.Stat(a.path)
	if err != nil {
		a.err = err
		return
	}
	if n := len(a.sizes); n == 0 || a.sizes[n-1].size != info.Size() {
		a.sizes = append(a.sizes, growth{now, info.Size()})
	}
}

// end notes the time of the node's kill.
func (a *aof) end(now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.killed = now
}

// cut truncates the file to its synced part and returns the commands that it removed. It
// fails if the synced size is unknown.
func (a *aof) cut(dir string) (lost []history.Bytes, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	path, err := growingFile(dir)
	switch {
	case err != nil:
		return nil, err
	case path == "":
		return nil, errors.New("there is no append-only file")
	case a.err != nil && (a.path == path || a.path == ""):
		return nil, fmt.Errorf("follow the append-only file: %w", a.err)
	case path != a.path:
		return nil, nil // Redis has rewritten the file since, and thus synced it
	}
	synced := testbed.LastFsync(a.began, a.killed)
	keep := a.sizes[0].size
	for _, g := range a.sizes {
		if g.at <= synced {
			keep = g.size
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if int64(len(content)) <= keep {
		return nil, nil
	}
	if err := os.Truncate(path, keep); err != nil {
		return nil, err
	}
	return commands(content[keep:]), nil
}

// commands returns the commands in a piece of an append-only file, as text.
func commands(piece []byte) []history.Bytes {
	var all []history.Bytes
	r := bufio.NewReader(bytes.NewReader(piece))
	for {
		m, err := resp.Read(r)
		if err != nil {
			return all
		}
		args, err := m.Args()
		if err != nil || resp.Name(args) == "SELECT" { // SELECT writes nothing
			continue
		}
		words := []string{resp.Name(args)}
		for _, arg := range args[1:] {
			words = append(words, printable(string(arg)))
		}
		all = append(all, history.Bytes(strings.Join(words, " ")))
	}
}

func printable(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` || s == "" {
		return q
	}
	return s
}

// growingFile returns the file that Redis appends to, "" if there is none. Before Redis 7
// there is one file; since then a manifest lists several, and Redis appends to the last
// incremental one.
func growingFile(dir string) (path string, err error) {
	const (
		before7  = "appendonly.aof"
		since7   = "appendonlydir"
		manifest = "appendonly.aof.manifest"
	)
	text, err := os.ReadFile(filepath.Join(dir, since7, manifest))
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, before7)
		if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return path, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		// Example: file appendonly.aof.1.incr.aof seq 1 type i
		f := strings.Fields(line)
		if len(f) == 6 && f[0] == "file" && f[4] == "type" && f[5] == "i" {
			path = filepath.Join(dir, since7, f[1])
		}
	}
	return path, err
}
