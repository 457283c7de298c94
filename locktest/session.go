package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
	"github.com/lockstorm/lockstorm/workloads"
)

// session tests one lock. Call open first, then fault for each fault, in any order, one at a time.
type session struct {
	lock
	pool     *reportingPool
	parallel int
	dir      string // for trials; close removes it

	plan       *campaign.Planning
	traits     traits
	probes     []trial.Result
	faultsLeft int            // number of faults that are still to be tried
	deadline   time.Time      // the end of Options.Budget, for all trials
	shrink     time.Duration  // the time left for shrinking
	reported   []reportedFlaw // violations whose story a result tells or will tell
	attempts   []attempt      // of the last trial of findTraits whose workload is not cancel
	// renewing: the lock was seen to renew its lease, although no option promises that.
	renewing bool
	// tries: remedies are to be tried on the first trial that is told, since a panic would not end this process.
	tries bool
}

// reportedFlaw is a violation whose story is told: by the result of a fault, or by a saved trial.
type reportedFlaw struct {
	trial.Flaw
	fault string
	saved string // the file of the trial, if an earlier run saved it; else ""
}

// String returns the words after "the same as under", such as "delay, which tells it".
func (t reportedFlaw) String() string {
	if t.saved == "" {
		return t.fault + ", which tells it"
	}
	return t.fault + ", in " + t.saved
}

// reportedAs returns the entry of s.reported for this flaw, if there is one.
func (s *session) reportedAs(f trial.Flaw) (where reportedFlaw, ok bool) {
	if i := slices.IndexFunc(s.reported, func(t reportedFlaw) bool { return t.Same(f) }); i >= 0 {
		return s.reported[i], true
	}
	return reportedFlaw{}, false
}

// newSession returns a session on the pool. The session closes the pool.
func newSession(l lock, pool worker.Pool, parallel int) (*session, error) {
	dir, err := os.MkdirTemp("", "lockstorm-locktest-")
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("locktest: %w", err)
	}
	reporting := &reportingPool{Pool: pool, test: l.name, slowAfter: slowAfter}
	return &session{lock: l, pool: reporting, parallel: parallel, dir: dir}, nil
}

func (s *session) close() error {
	s.pool.Close()
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("locktest: %w", err)
	}
	return nil
}

// open finds out the traits of the lock and runs the probes. An error says why nothing can be
// tested.
func (s *session) open(ctx context.Context) error {
	s.deadline, s.shrink = time.Now().Add(s.Budget), s.Budget/4
	if err := s.findTraits(ctx); err != nil {
		return err
	}
	if err := s.lookForRenewals(ctx); err != nil {
		return err
	}
	c := s.config(s.traits.id(s.name))
	var err error
	if s.plan, err = campaign.NewPlanning(sim.New(), c); err != nil {
		return fmt.Errorf("locktest: %w", err)
	}
	specs, err := s.plan.Probes()
	if err != nil {
		return fmt.Errorf("locktest: %w", err)
	}
	specs = s.probesOf(specs)
	done, err := s.run(ctx, specs, true, s.deadline)
	if err != nil {
		return err
	}
	for i, d := range done {
		if d == nil {
			continue
		}
		if d.Trial.Err == "" {
			s.plan.Saw(specs[i], d.Seen)
		}
		s.probes = append(s.probes, d.Trial)
	}
	s.faultsLeft = len(s.plan.Faults())
	return nil
}

// share returns the end of the next fault's share of the budget.
func (s *session) share() time.Time {
	left := max(1, s.faultsLeft)
	s.faultsLeft--
	return time.Now().Add(time.Until(s.deadline) / time.Duration(left))
}

// findTraits finds out the traits of the lock in a fault-free trial whose clients also try to extend
// their leases. If the lock has readers, a second trial has readers and writers. If it has none, the
// options Reentrant and Blocking each add a trial that checks them. Reentrant is an error for a lock
// with readers.
func (s *session) findTraits(ctx context.Context) error {
	found, err := s.lookAs(ctx, traits{extends: true}, "extend")
	if err == nil && found.readWrite {
		found, err = s.lookAs(ctx, traits{readWrite: true}, "read-write")
		found.readWrite = true
	}
	s.traits = found
	if err == nil && s.Reentrant {
		if found.readWrite {
			return errors.New("locktest: the option Reentrant does not suit a read-write lock (Client.Readers): test re-entry in a Run of its own, without readers")
		}
		_, err = s.lookAs(ctx, found, "reentrant")
	}
	if err == nil && s.Blocking && !found.readWrite {
		_, err = s.lookAs(ctx, found, cancelWorkload)
	}
	return err
}

// cancelWorkload is the workload whose attempts to acquire a lock have contexts that end.
const cancelWorkload = "cancel"

// lookAs runs a fault-free trial that treats the lock as one with the given traits. It returns the
// traits that the trial shows. An error says why nothing can be tested.
func (s *session) lookAs(ctx context.Context, as traits, workload string) (found traits, err error) {
	spec, err := campaign.PlanTrial(ctx, sim.New(), s.config(as.id(s.name)), as.id(s.name), "none", workload, 0)
	if err != nil {
		return found, fmt.Errorf("locktest: %w", err)
	}
	folder := filepath.Join(s.dir, "look-"+workload)
	d, err := s.pool.Run(ctx, trial.Task{Spec: spec, Folder: folder, Keep: true}, nil)
	if err != nil {
		return found, fmt.Errorf("locktest: %w", err)
	}
	for _, bad := range []error{errNoAcquire, errNoReaders} {
		if strings.Contains(d.Trial.Err, bad.Error()) {
			return found, fmt.Errorf("locktest: %w", bad)
		}
	}
	record, err := trial.LoadRecord(folder)
	switch {
	case d.Trial.Err != "" && err == nil && unseen(record):
		return found, fmt.Errorf("locktest: a trial without any fault failed: %s; %s", d.Trial.Err, undialed)
	case d.Trial.Err != "":
		return found, fmt.Errorf("locktest: a trial without any fault failed: %s", d.Trial.Err)
	case err != nil:
		return found, fmt.Errorf("locktest: %w", err)
	}
	if ops := record.Evidence.Ops; d.Died && len(ops) > 0 && ops[len(ops)-1].F == history.FRunaway {
		// Every other trial would run away too.
		return found, fmt.Errorf("locktest: without any fault, %s", ops[len(ops)-1].Error)
	}
	found, acquired, failed := traitsOf(record)
	switch {
	case failed == errNoRelease.Error():
		return found, errors.New("locktest: " + failed)
	case acquired && unseen(record):
		return found, errors.New("locktest: clients acquired the lock, but " + undialed)
	case found.readWrite || len(d.Trial.Flaws) > 0: // the next call of lookAs, or the verdicts, tell more
	case !acquired:
		return found, fmt.Errorf("locktest: without any fault, nobody acquired the lock: %s", whyNobody(record, failed))
	}
	if workload != cancelWorkload {
		s.attempts = attemptsOf(record)
	}
	if workload == cancelWorkload {
		cancel, ok := workloads.ByName(cancelWorkload)
		if !ok {
			return found, fmt.Errorf("locktest: there is no workload %q", cancelWorkload)
		}
		if late := overstayed(record, cancel, spec.Options); late > s.TTL/20 {
			return found, fmt.Errorf("locktest: the option Blocking says that Acquire waits until its context ends, but without any fault it went on for %v after that", late.Round(time.Millisecond))
		}
	}
	if lack := reentryLacks(attemptsOf(record), s.TTL); s.Reentrant && lack != "" {
		return found, errors.New("locktest: the option Reentrant says that a holder can acquire the lock again, but without any fault it " + lack)
	}
	if s.Fencing && acquired && !found.fenced {
		return found, errors.New("locktest: fencing is required, but Acquire returned no Held.Fence")
	}
	return found, nil
}

// lookForRenewals finds out whether the lock renews its lease by itself although no option promises
// that. It runs a fault-free trial with long work, whose verdicts do not count.
func (s *session) lookForRenewals(ctx context.Context) error {
	if s.Renews || s.traits.readWrite || s.Replay != "" {
		return nil
	}
	id := s.traits.id(s.name)
	spec, err := campaign.PlanTrial(ctx, sim.New(), s.config(id), id, "none", "mutex", 0)
	if err != nil {
		return fmt.Errorf("locktest: %w", err)
	}
	spec.Options.Hold = s.TTL
	folder := filepath.Join(s.dir, "look-renewals")
	d, err := s.pool.Run(ctx, trial.Task{Spec: spec, Folder: folder, Keep: true}, nil)
	if err != nil {
		return fmt.Errorf("locktest: %w", err)
	}
	if d.Trial.Err != "" {
		return nil
	}
	record, err := trial.LoadRecord(folder)
	if err != nil {
		return fmt.Errorf("locktest: %w", err)
	}
	s.renewing = renews(record.Evidence)
	return nil
}

// hints returns hints about options that fit the observed behaviour of the lock.
func (s *session) hints() (hints []string) {
	if s.renewing {
		hints = append(hints, "the lock renews its lease while it is held: with the option PromiseRenewal, a lease that ends under its holder is no limit but a failure")
	}
	if !s.WallClock && slices.ContainsFunc(s.attempts, attempt.byWallClock) {
		hints = append(hints, "the lock's Held.Until is an instant of Client.Now: with the option WallClock, the fault client-skew is among the default faults")
	}
	if hint := turnHint(s.attempts, s.TTL, s.Blocking); hint != "" && !s.traits.readWrite {
		hints = append(hints, hint)
	}
	if hint := busyHint(s.attempts); hint != "" && !s.Blocking {
		hints = append(hints, hint)
	}
	return hints
}

// run runs trials, parallel at a time, and returns their outcomes in the same order. An outcome is
// nil if there was no time for its trial before end. Probes run even after end.
func (s *session) run(ctx context.Context, specs []trial.Spec, probes bool, end time.Time) ([]*trial.Done, error) {
	done := make([]*trial.Done, len(specs))
	workers, running := errgroup.WithContext(ctx)
	workers.SetLimit(s.parallel)
	for i, spec := range specs {
		if running.Err() != nil || !probes && time.Now().After(end) {
			break
		}
		workers.Go(func() error {
			d, err := s.pool.Run(running, trial.Task{Spec: spec, Folder: s.folder(spec), Probe: probes}, nil)
			if err != nil {
				return fmt.Errorf("locktest: %w", err)
			}
			d.Trial.Spec = spec
			done[i] = &d
			return nil
		})
	}
	err := workers.Wait()
	return done, cmp.Or(ctx.Err(), err)
}

func (s *session) folder(spec trial.Spec) string {
	return filepath.Join(s.dir, filename(spec.Fault), filename(spec.Workload+"-"+spec.Number()))
}
