package trial

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
	"github.com/lockstorm/lockstorm/internal/packed"
)

// trialWriter records one trial: in memory, to be saved if the trial shows something, or
// directly in its folder, so that the evidence survives a kill.
type trialWriter struct {
	folder string
	spec   storedSpec

	// Buffers of a trial recorded in memory.
	ops, cmds, keys bytes.Buffer

	// Files of a streamed trial, else nil.
	history, commands, changes *os.File

	stderr map[string]string // by client: what its processes wrote on their standard error

	line   []byte // a line of commands, reused
	change []byte // a line of changes, reused

	mu   sync.Mutex
	err  error  // the first write error
	fail func() // called on err; may be nil
}

// newTrialWriter returns a trialWriter in memory.
func newTrialWriter(folder string, s storedSpec) *trialWriter {
	s.Format = Format
	return &trialWriter{folder: folder, spec: s, stderr: map[string]string{}}
}

// stream makes the trial's folder and writes everything as it happens from now on. It
// calls fail once writing fails.
func (p *trialWriter) stream(fail func()) (err error) {
	p.fail = fail
	if err := p.open(false); err != nil {
		return err
	}
	files := map[string]**os.File{HistoryFile: &p.history, CommandsFile: &p.commands}
	if p.spec.Watched {
		files[KeysFile] = &p.changes
	}
	for name, file := range files {
		if *file, err = os.Create(filepath.Join(p.folder, name)); err != nil {
			return errors.Join(fmt.Errorf("open the trial's folder: %w", err), p.closeFiles())
		}
	}
	return nil
}

func (p *trialWriter) closeFiles() error {
	var errs []error
	for _, f := range []*os.File{p.history, p.commands, p.changes} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// open makes the trial's folder with its spec.json, compressed or not.
func (p *trialWriter) open(compressed bool) error {
	if err := MakeFolder(p.folder); err != nil {
		return err
	}
	path := filepath.Join(p.folder, SpecFile)
	if compressed {
		return packed.WriteJSONPacked(path, p.spec)
	}
	if err := packed.WriteJSONLine(path, p.spec); err != nil {
		return err
	}
	if err := os.Remove(path + packed.Suffix); err != nil && !errors.Is(err, fs.ErrNotExist) { // an earlier trial's
		return err
	}
	return nil
}

// writer returns where the history is written: to a file if the trial is streamed, else to memory.
func (p *trialWriter) writer() io.Writer {
	if p.history != nil {
		return historyWriter{p}
	}
	return &p.ops
}

// historyWriter writes the history as it happens.
type historyWriter struct{ *trialWriter }

// Write implements io.Writer.
func (w historyWriter) Write(b []byte) (int, error) {
	n, err := w.history.Write(b)
	w.failed(err)
	return n, err
}

// failed notes a write error and ends the trial, because its evidence is incomplete.
func (p *trialWriter) failed(err error) {
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

// command records one command. Calls come one at a time.
func (p *trialWriter) command(c history.Command) {
	if p.commands == nil {
		return // close writes the commands in order
	}
	p.line = append(c.AppendJSON(p.line[:0]), '\n')
	_, err := p.commands.Write(p.line)
	p.failed(err)
}

// keyChange records one change of a key. Calls come one at a time, concurrently with
// those of command.
func (p *trialWriter) keyChange(c history.KeyChange) {
	if p.changes == nil {
		return
	}
	p.change = append(c.AppendJSON(p.change[:0]), '\n')
	_, err := p.changes.Write(p.change)
	p.failed(err)
}

// copy records the entries that a process wrote before it died.
func (p *trialWriter) copy(ops []history.Op) {
	for i := range ops {
		p.ops.Write(append(ops[i].AppendJSON(p.ops.AvailableBuffer()), '\n'))
	}
}

// Usual lengths of a line in bytes, to size buffers: a buffer that grows is copied.
const commandLine, changeLine = 300, 220

// close ends the recording of this evidence, and returns its history.Hash and the first
// write error.
func (p *trialWriter) close(e history.Evidence) (hash string, err error) {
	if p.history != nil {
		p.failed(p.closeFiles())
		return history.Hash(e), p.err
	}
	p.cmds.Grow(commandLine * len(e.Commands))
	for i := range e.Commands {
		p.cmds.Write(append(e.Commands[i].AppendJSON(p.cmds.AvailableBuffer()), '\n'))
	}
	p.keys.Grow(changeLine * len(e.Keys))
	for i := range e.Keys {
		p.keys.Write(append(e.Keys[i].AppendJSON(p.keys.AvailableBuffer()), '\n'))
	}
	// The buffers are hashed: encoding everything again would slow every campaign.
	h := sha256.New()
	h.Write(p.ops.Bytes())
	h.Write(p.cmds.Bytes())
	h.Write(p.keys.Bytes())
	return hex.EncodeToString(h.Sum(nil)), nil
}

// said records what the processes of a client wrote on their standard error.
func (p *trialWriter) said(client, text string) { p.stderr[client] = text }

// save writes the recorded trial into its folder, except what was streamed there.
func (p *trialWriter) save(compressed bool) error {
	if p.history == nil {
		if err := p.saveEvidence(compressed); err != nil {
			return err
		}
	}
	return p.saveStderr()
}

// saveStderr writes a file for each client whose processes wrote on their standard error. It removes
// such files of an earlier trial.
func (p *trialWriter) saveStderr() error {
	old, err := fs.Glob(os.DirFS(p.folder), "*"+StderrSuffix)
	for _, name := range old {
		err = errors.Join(err, os.Remove(filepath.Join(p.folder, name)))
	}
	for client, text := range p.stderr {
		if text != "" {
			err = errors.Join(err, os.WriteFile(filepath.Join(p.folder, client+StderrSuffix), []byte(text), 0o666))
		}
	}
	if err != nil {
		return fmt.Errorf("store the standard error of the clients: %w", err)
	}
	return nil
}

// saveEvidence writes the trial's spec and evidence into its folder.
func (p *trialWriter) saveEvidence(compressed bool) error {
	if err := p.open(compressed); err != nil {
		return err
	}
	files := map[string][]byte{HistoryFile: p.ops.Bytes(), CommandsFile: p.cmds.Bytes()}
	if p.spec.Watched {
		files[KeysFile] = p.keys.Bytes()
	}
	for name, data := range files {
		path := filepath.Join(p.folder, name)
		err := packed.Remove(path) // an earlier trial's file, compressed or not
		switch {
		case err != nil:
		case compressed:
			err = packed.WriteFile(path, data)
		default:
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			return fmt.Errorf("store the trial: %w", err)
		}
	}
	return nil
}
