// Package corpus holds trials that taught something: for each fact that a thorough campaign
// established, a trial that shows it. Fuzzers call such a list a seed corpus.
//
// A campaign runs the corpus first and then looks for what the corpus does not know (package
// campaign). Verdicts are computed by running the trials; the facts in the list are only compared
// with them.
package corpus

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/trial"
)

// Line is one trial of a corpus: what is needed to run it again, and what it shows.
type Line struct {
	Lock     string `json:"lock"`
	Fault    string `json:"fault"`
	Workload string `json:"workload"`
	// Schedule names the named schedule; "" = the trial is drawn.
	Schedule string `json:"schedule,omitempty"`
	// Seed and Trial identify a drawn trial: number Trial of its cell and workload in a campaign
	// with that seed. Seed 0 marks a probe, which depends on no seed.
	Seed  uint64 `json:"seed,omitempty"`
	Trial int    `json:"trial,omitempty"`
	// For are the facts for which the corpus keeps the trial, and Also the other facts that the trial
	// shows. Both are sorted texts made by Facts.
	For  []string `json:"for,omitempty"`
	Also []string `json:"also,omitempty"`
	// Operations are the operations for which the corpus keeps the trial: a function with its result, "extend ok", in
	// this cell, and a kind of operation (trial.Operations), "extend ok, late, yes", of this lock. No other line is
	// kept for them. A recipe whose code for them has changed gives the trial another Hash.
	Operations []string `json:"operations,omitempty"`
	// Hash is the beginning of history.Hash of the trial.
	Hash string `json:"hash,omitempty"`
	// Draw, in a line of a cell without a violation, is the number of trials to draw so that the
	// fault hits something in 60 of them; 0 = as many as for other cells.
	Draw int `json:"draw,omitempty"`
	// Minimal is the shrunk version of the trial, if reports show the trial for its cell.
	Minimal *trial.Spec `json:"minimal,omitempty"`
	// Remedied says what remedies do about the flaws of Minimal.
	Remedied *remedy.Effects `json:"remedied,omitempty"`

	// at is the line's place, as "set-nx-px.jsonl:12", for messages.
	at string
}

// HashDigits is the length of Line.Hash.
const HashDigits = 16

// Key identifies a trial among those of a campaign with default options.
type Key struct{ Lock, Fault, Workload, Number string }

// KeyOf returns the key of a trial.
func KeyOf(s trial.Spec) Key { return Key{s.Lock, s.Fault, s.Workload, s.Number()} }

// Key returns the key of the line's trial.
func (l Line) Key() Key {
	return KeyOf(trial.Spec{Lock: l.Lock, Fault: l.Fault, Workload: l.Workload, Schedule: l.Schedule, DrawnFrom: l.Seed, Trial: l.Trial})
}

// At returns the line's place in its file, as "set-nx-px.jsonl:12"; "" if the line is from no file.
func (l Line) At() string { return l.at }

// Title identifies the trial for a reader.
func (l Line) Title() string {
	k := l.Key()
	return fmt.Sprintf("%s under %s (%s), %s", k.Lock, k.Fault, k.Workload, cmp.Or(l.Schedule, "trial "+k.Number))
}

// List is a corpus, in the order of Sort.
type List []Line

//go:embed lists/*.jsonl
var lists embed.FS

// Builtin returns the corpus of the program's own recipes. The error is an input.Error that names
// the file and the line.
func Builtin() (List, error) {
	below, err := fs.Sub(lists, "lists")
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	return Read(below)
}

// Read reads every file *.jsonl of a directory. The error is an input.Error that names the file and
// the line: the line cannot be read, it lacks a name, it is of another recipe than the file, or another line has the
// same trial.
func Read(dir fs.FS) (List, error) {
	names, err := fs.Glob(dir, "*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	var all List
	seen := map[Key]string{}
	for _, name := range names {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, input.Errorf("corpus: %w", err)
		}
		err = eachLine(path.Base(name), text, func(at string, text []byte) error {
			l := Line{at: at}
			if err := l.parse(text); err != nil {
				return err
			}
			if list := strings.TrimSuffix(path.Base(name), ".jsonl"); l.Lock != list {
				return input.Errorf("corpus %s: a trial of %s in the list of %s", l.at, l.Lock, list)
			}
			if first, twice := seen[l.Key()]; twice {
				return input.Errorf("corpus %s: %s is already in %s: expected each trial once; "+anew, l.at, l.Title(), first, l.Lock)
			}
			seen[l.Key()] = l.at
			all = append(all, l)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// eachLine calls do for each line of a file, and its place, until do fails.
func eachLine(file string, text []byte, do func(at string, text []byte) error) error {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if err := do(fmt.Sprintf("%s:%d", file, n), line); err != nil {
			return err
		}
	}
	return nil
}

// parse decodes one line of a file.
func (l *Line) parse(text []byte) error {
	err := decode(text, l)
	switch {
	case err != nil:
		return input.Errorf("corpus %s: expected a trial as a line of JSON: %w; "+anew, l.at, err, strings.SplitN(l.at, ".jsonl", 2)[0])
	case l.Lock == "" || l.Fault == "" || l.Workload == "":
		return input.Errorf("corpus %s: expected the names of a lock, a fault and a workload", l.at)
	case l.Schedule != "" && (l.Seed != 0 || l.Trial != 0):
		return input.Errorf("corpus %s: expected a schedule, or a seed and a trial's number, not both", l.at)
	case l.Trial < 0 || l.Seed > trial.MaxSeed:
		return input.Errorf("corpus %s: seed %d, trial %d: expected a seed up to %d and a number from 0", l.at, l.Seed, l.Trial, uint64(trial.MaxSeed))
	case l.Schedule == "" && l.Seed == 0 && (l.Fault != nemesis.Undisturbed().Name || l.Trial != 0):
		return input.Errorf("corpus %s: expected a schedule or a seed: only trial 0 without a fault has neither", l.at)
	case len(l.For)+len(l.Operations) == 0:
		return input.Errorf("corpus %s: expected facts or operations for which the trial is kept", l.at)
	case l.Hash != "" && len(l.Hash) != HashDigits:
		return input.Errorf("corpus %s: hash %q: expected %d digits", l.at, l.Hash, HashDigits)
	case l.Draw < 0 || l.Draw > MostDrawn:
		return input.Errorf("corpus %s: draw %d: expected at most %d", l.at, l.Draw, MostDrawn)
	}
	return nil
}

// anew ends an error about a line: it names the command that writes a recipe's list anew.
const anew = "lockstorm corpus make --locks %s writes the list anew"

// MostDrawn is the maximum of Line.Draw.
const MostDrawn = 900

// decode decodes text, which must be one JSON value with known fields and nothing else.
func decode(text []byte, into any) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("the line is empty")
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		return err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after it")
	}
	return nil
}

// Marshal returns the list as the content of a file. It sorts the list.
func (l List) Marshal() ([]byte, error) {
	l.Sort()
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	for _, line := range l {
		if err := out.Encode(line); err != nil {
			return nil, fmt.Errorf("corpus: encode %s: %w", line.Title(), err)
		}
	}
	return text.Bytes(), nil
}

// Sort puts the lines in the order of their locks, faults, workloads, schedules, seeds and numbers.
func (l List) Sort() {
	slices.SortFunc(l, func(a, b Line) int {
		return cmp.Or(strings.Compare(a.Lock, b.Lock), strings.Compare(a.Fault, b.Fault), strings.Compare(a.Workload, b.Workload),
			strings.Compare(a.Schedule, b.Schedule), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Trial, b.Trial))
	})
}

// Facts returns all facts of the line, sorted.
func (l Line) Facts() []string {
	all := slices.Concat(l.For, l.Also)
	slices.Sort(all)
	return all
}
