package decision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// Runner runs the continuations. A worker.Pool is one. Run is called by several goroutines.
type Runner interface {
	Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error)
}

// Instant is an instant at which a trial is cut: the time of an event in its evidence, or a time
// between two events.
type Instant struct {
	At time.Duration `json:"at"` // on the history's clock
	// Op is the index of the history entry at that time, and Key the index of the key change; -1 =
	// none.
	Op  int `json:"op"`
	Key int `json:"key"`
}

// Point is the outcome of the continuations from one instant.
type Point struct {
	Instant
	// Runs counts the continuations that repeated the trial up to the instant. Violated counts
	// those of them that showed the trial's flaw.
	Runs     int `json:"runs"`
	Violated int `json:"violated"`
}

// Share returns the share of the continuations that showed the flaw.
func (p Point) Share() float64 { return float64(p.Violated) / float64(max(1, p.Runs)) }

// Decision says when the violation of a trial became certain.
type Decision struct {
	// Flaw is the trial's worst flaw. Shown is the time at which its first finding shows.
	Flaw  trial.Flaw    `json:"flaw"`
	Shown time.Duration `json:"shown"`
	// Points are the tried instants, ascending, without those whose continuations did not repeat
	// the trial.
	Points []Point `json:"points"`
	// Certain is the index in Points of the first instant from which every continuation showed the
	// flaw.
	Certain int `json:"certain"`
}

// firstRound is the number of instants tried before the search narrows.
const firstRound = 24

// ErrNotDecided is wrapped by the error of Run if there is no Decision.
var ErrNotDecided = errors.New("the moment of decision is unknown")

// Run finds when the worst flaw of a violated trial became certain. From each tried instant it runs
// the given number of continuations, parallel of them at a time. First it cuts at events spread over
// the time until the flaw showed. Then it narrows the gap between the last cut after which some
// continuation averted the flaw and the first cut from which none did. The directory scratch is for
// the runs' files. The error wraps ErrNotDecided if the trial shows no flaw, does not repeat
// itself, or shows no instant at which the flaw was certain.
func Run(ctx context.Context, on Runner, original trial.Result, e history.Evidence, continuations, parallel int, scratch string) (Decision, error) {
	d, ok := flawOf(original)
	if !ok {
		return d, fmt.Errorf("%w: the trial shows no flaw", ErrNotDecided)
	}
	all := instants(e, d.Shown)
	s := search{on: on, spec: original.Spec, evidence: e, flaw: d.Flaw, continuations: continuations, parallel: parallel, scratch: scratch}
	done := map[int]Point{}
	try := func(places []int) error {
		for _, i := range places {
			if _, ok := done[i]; ok {
				continue
			}
			p, err := s.point(ctx, all[i])
			if err != nil {
				return err
			}
			done[i] = p
		}
		return nil
	}
	if err := try(spread(len(all), firstRound)); err != nil {
		return d, err
	}
	for {
		averted, certain := edge(done)
		if certain < 0 {
			return d, fmt.Errorf("%w: %s", ErrNotDecided, undecided(done))
		}
		next := (averted + certain) / 2
		if _, tried := done[next]; tried || certain-averted < 2 {
			break
		}
		if err := try([]int{next}); err != nil {
			return d, err
		}
	}
	for i := range all {
		if p, ok := done[i]; ok && p.Runs > 0 {
			d.Points = append(d.Points, p)
		}
	}
	return d, d.narrow(func(at time.Duration) (Point, error) { return s.point(ctx, Instant{at, -1, -1}) })
}

// resolution ends the search. It is the maximum time between the last instant at which the flaw
// could be averted and the first instant at which it was certain.
const resolution = time.Millisecond

// narrow tries instants between events until the resolution is reached, or until no continuation
// repeats the trial up to a tried instant. It sets d.Certain.
func (d *Decision) narrow(try func(at time.Duration) (Point, error)) error {
	for {
		d.Certain = len(d.Points) - 1
		for d.Certain > 0 && d.Points[d.Certain-1].Violated == d.Points[d.Certain-1].Runs {
			d.Certain--
		}
		if d.Certain == 0 {
			return nil
		}
		from, to := d.Points[d.Certain-1].At, d.Points[d.Certain].At
		if to-from <= resolution {
			return nil
		}
		p, err := try((from + to) / 2)
		if err != nil {
			return err
		}
		if p.Runs == 0 {
			return nil
		}
		d.Points = slices.Insert(d.Points, d.Certain, p)
	}
}

// flawOf returns the trial's worst flaw and the time at which the flaw's first finding shows.
func flawOf(t trial.Result) (Decision, bool) {
	if len(t.Flaws) == 0 {
		return Decision{}, false
	}
	d := Decision{Flaw: t.Flaws[0]}
	for _, v := range t.Verdicts {
		if v.Oracle != d.Flaw.Oracle || v.Result != checker.Violated {
			continue
		}
		i := slices.IndexFunc(v.Findings, func(f checker.Finding) bool { return string(cmp.Or(f.Cause, checker.Unclassified)) == d.Flaw.Cause })
		if i >= 0 {
			d.Shown = max(v.Findings[i].From, v.Findings[i].To)
			return d, true
		}
	}
	return d, false
}

// instants lists the times of all events until an instant, ascending, each once.
func instants(e history.Evidence, until time.Duration) []Instant {
	var all []Instant
	for _, op := range e.Ops {
		if op.Time <= until {
			all = append(all, Instant{op.Time, op.Index, -1})
		}
	}
	for _, k := range e.Keys {
		if k.To <= until {
			all = append(all, Instant{k.To, -1, k.Index})
		}
	}
	slices.SortStableFunc(all, func(a, b Instant) int { return cmp.Compare(a.At, b.At) })
	return slices.CompactFunc(all, func(a, b Instant) bool { return a.At == b.At })
}

// spread returns indices below n, at most the given number, evenly spread, including the first and the
// last.
func spread(n, most int) (places []int) {
	if n <= most {
		for i := range n {
			places = append(places, i)
		}
		return places
	}
	for k := range most {
		places = append(places, k*(n-1)/(most-1))
	}
	return places
}

// edge returns the indices of two tried instants. certain is the first instant from which, and from
// all later ones, every continuation showed the flaw; -1 = none. averted is the last instant from
// which a continuation averted the flaw; -1 = none. If certain exists, averted may be a later instant
// before certain (see skipIdle). An instant counts only if a continuation that was cut there repeated
// the trial up to the cut.
func edge(done map[int]Point) (averted, certain int) {
	averted, certain = -1, -1
	places := make([]int, 0, len(done))
	for i := range done {
		places = append(places, i)
	}
	slices.Sort(places)
	for _, i := range slices.Backward(places) {
		switch p := done[i]; {
		case p.Runs == 0:
		case p.Violated == p.Runs:
			certain = i
		default:
			averted = i
			if certain >= 0 {
				return skipIdle(done, averted, certain), certain
			}
			return averted, certain
		}
	}
	return averted, certain
}

// undecided says why no tried instant is one from which every continuation showed the flaw.
func undecided(done map[int]Point) string {
	if last := slices.Max(slices.Collect(maps.Keys(done))); done[last].Runs > 0 {
		return "at no instant was the flaw certain, not even at the last one"
	}
	return "the trial did not repeat itself"
}

// skipIdle returns the last tried instant between averted and certain at which no continuation
// repeated the trial up to the cut, or averted if there is none. The search narrows only the gap
// after that instant.
func skipIdle(done map[int]Point, averted, certain int) int {
	for i := certain - 1; i > averted; i-- {
		if p, ok := done[i]; ok && p.Runs == 0 {
			return i
		}
	}
	return averted
}

// search runs continuations of one trial.
type search struct {
	on                      Runner
	spec                    trial.Spec
	evidence                history.Evidence
	flaw                    trial.Flaw
	continuations, parallel int
	scratch                 string
}

// point runs all continuations from an instant and counts those that showed the flaw.
func (s *search) point(ctx context.Context, at Instant) (Point, error) {
	p := Point{Instant: at}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, s.parallel))
	for k := range s.continuations {
		group.Go(func() error {
			same, violated, err := s.continuation(ctx, at, k)
			mu.Lock()
			defer mu.Unlock()
			if same {
				p.Runs++
			}
			if same && violated {
				p.Violated++
			}
			return err
		})
	}
	return p, group.Wait()
}

// continuation runs one continuation. same says that the continuation repeated the trial up to the
// instant.
func (s *search) continuation(ctx context.Context, at Instant, k int) (same, violated bool, err error) {
	folder := filepath.Join(s.scratch, strconv.Itoa(k))
	d, err := s.on.Run(ctx, trial.Task{Spec: Cut(s.spec, s.evidence.Ops, at.At, k), Folder: folder, Keep: true}, nil)
	if err != nil {
		return false, false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if d.Trial.Err != "" { // for example, a fault could not end at that instant
		return false, false, nil
	}
	record, err := trial.LoadRecord(folder)
	if err != nil {
		return false, false, err
	}
	same = reflect.DeepEqual(until(record.Evidence.Ops, at.At), until(s.evidence.Ops, at.At))
	return same, slices.ContainsFunc(d.Trial.Flaws, s.flaw.Same), nil
}

// until returns the clients' operations before an instant.
func until(ops []history.Op, at time.Duration) (all []history.Op) {
	for _, op := range ops {
		if op.Process != history.Nemesis && op.Time < at {
			op.Index = 0 // indices differ if entries of faults are missing
			all = append(all, op)
		}
	}
	return all
}
