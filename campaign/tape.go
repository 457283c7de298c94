package campaign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/lockstorm/lockstorm/history"
)

// tape takes down one trial: in memory, to be saved if there is something to see
// in it, or in its folder as it happens, so that a kill leaves what there was.
type tape struct {
	folder string
	spec   storedSpec

	// In memory.
	ops, cmds bytes.Buffer

	// As it happens; nil otherwise.
	history, commands *os.File
	line              []byte

	mu   sync.Mutex
	err  error  // the first of writing
	fail func() // called then; nil = nobody is told
}

// newTape is in memory.
func newTape(folder string, s storedSpec) *tape { return &tape{folder: folder, spec: s} }

// stream makes the trial's folder and has everything written as it happens. Fail
// is called when that cannot be done any more.
func (p *tape) stream(fail func()) (err error) {
	p.fail = fail
	if err := p.open(); err != nil {
		return err
	}
	if p.history, err = os.Create(filepath.Join(p.folder, HistoryFile)); err != nil {
		return fmt.Errorf("open the trial's folder: %w", err)
	}
	if p.commands, err = os.Create(filepath.Join(p.folder, CommandsFile)); err != nil {
		return errors.Join(fmt.Errorf("open the trial's folder: %w", err), p.history.Close())
	}
	return nil
}

// open makes the trial's folder with its spec.json.
func (p *tape) open() error {
	if err := makeFolder(p.folder); err != nil {
		return err
	}
	return writeJSON(filepath.Join(p.folder, SpecFile), p.spec)
}

// writer is where the history goes.
func (p *tape) writer() io.Writer {
	if p.history != nil {
		return historyWriter{p}
	}
	return &p.ops
}

// historyWriter writes the history as it happens.
type historyWriter struct{ *tape }

// Write implements io.Writer.
func (w historyWriter) Write(b []byte) (int, error) {
	n, err := w.history.Write(b)
	w.failed(err)
	return n, err
}

// failed notes an error of writing: what is not stored is no evidence, and going
// on is of no use.
func (p *tape) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil || p.err != nil {
		return
	}
	p.err = fmt.Errorf("store the trial: %w", err)
	if p.fail != nil {
		p.fail()
	}
}

// command takes one command down. Calls come one at a time.
func (p *tape) command(c history.Command) {
	if p.commands == nil {
		return // they are written in order in the end
	}
	p.line = append(c.AppendJSON(p.line[:0]), '\n')
	_, err := p.commands.Write(p.line)
	p.failed(err)
}

// copy takes down what was recorded before.
func (p *tape) copy(ops []history.Op) {
	for i := range ops {
		p.ops.Write(append(ops[i].AppendJSON(p.ops.AvailableBuffer()), '\n'))
	}
}

// close ends the recording of this evidence, and returns its history.Hash and
// the first error of writing.
func (p *tape) close(e history.Evidence) (hash string, err error) {
	if p.history != nil {
		p.failed(p.history.Close())
		p.failed(p.commands.Close())
		return history.Hash(e), p.err
	}
	for i := range e.Commands {
		p.cmds.Write(append(e.Commands[i].AppendJSON(p.cmds.AvailableBuffer()), '\n'))
	}
	// What it is to encode all of it a second time shows in every campaign.
	h := sha256.New()
	h.Write(p.ops.Bytes())
	h.Write(p.cmds.Bytes())
	return hex.EncodeToString(h.Sum(nil)), nil
}

// save puts what was taken down into the trial's folder, if it is not there.
func (p *tape) save() error {
	if p.history != nil {
		return nil
	}
	if err := p.open(); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(p.folder, HistoryFile), p.ops.Bytes(), 0o666),
		os.WriteFile(filepath.Join(p.folder, CommandsFile), p.cmds.Bytes(), 0o666),
	)
}

// makeFolder makes a trial's folder, also while another's is taken away with the
// empty directories above it.
func makeFolder(path string) (err error) {
	for range 5 {
		if err = os.MkdirAll(path, 0o777); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("open the trial's folder: %w", err)
	}
	return nil
}
