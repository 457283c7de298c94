package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lockstorm/lockstorm/testbed"
)

// take takes a line of the child. The error says what is wrong with it.
func (p *process) take(line []byte) (err error) {
	m, err := parse(line, p.own != nil)
	if m.stall != nil {
		p.own.stall(*m.stall)
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if p.broken == nil {
			p.broken = err
		}
	}()
	switch {
	case err != nil && p.able == nil:
		return fmt.Errorf("before it was ready, %w", err)
	case err != nil:
		return err
	case p.able == nil && m.ready == nil:
		return fmt.Errorf("the client wrote %s before it was ready: expected ready first", excerpt(line))
	case m.ready != nil && p.able != nil:
		return errors.New("the client said twice that it is ready")
	case m.ready != nil:
		p.able = m.ready
		close(p.ready)
	case m.lost != 0:
		if c := p.lost[m.lost]; c != nil {
			close(c)
			delete(p.lost, m.lost)
		}
	case p.pending[m.answer.ID] == nil:
		return fmt.Errorf("the client wrote %s: nobody asked for the id %d, or it was answered before", excerpt(line), m.answer.ID)
	default:
		p.pending[m.answer.ID] <- m.answer
		delete(p.pending, m.answer.ID)
	}
	return nil
}

// call sends a request and waits for its answer. A context that ends cancels only an acquire of a lock
// that waits; the answer is awaited nevertheless. If the child ends by itself, call panics: that is the
// conduct of the code under test, unless virtual time cannot carry it.
func (p *process) call(ctx context.Context, r request) (answer, error) {
	a, ended := p.ask(ctx, r)
	switch {
	case a.Panic != "":
		panic(testbed.Elsewhere{Did: a.Panic, Stack: a.Stack})
	case !ended:
		return a, a.outcome()
	case p.own != nil:
		if e := p.ownEnd(); e != nil {
			panic(*e)
		}
		return a, errKilled
	}
	err := p.why("during " + r.Do)
	if errors.Is(err, errNotCarried) {
		panic(testbed.Elsewhere{Err: err})
	}
	if !errors.Is(err, errKilled) {
		panic(err.Error())
	}
	return a, err
}

// ask is call without a judgement: ended says that there is no answer, because the child has ended.
func (p *process) ask(ctx context.Context, r request) (a answer, ended bool) {
	got := make(chan answer, 1)
	p.mu.Lock()
	p.last++
	r.ID = p.last
	p.pending[r.ID] = got
	if r.Do == "acquire" {
		p.lost[r.ID] = make(chan struct{})
	}
	p.mu.Unlock()
	cancelled := ctx.Done()
	if !p.able.Blocking || r.Do != "acquire" {
		cancelled = nil
	}
	if p.own != nil {
		p.bound(ctx, &r)
	}
	p.send(r)
	for {
		select {
		case a := <-got:
			return a, false
		case <-cancelled:
			cancelled = nil
			p.send(request{Cancel: r.ID})
		case <-p.ended:
			return answer{ID: r.ID}, true
		}
	}
}

// send writes a line. It ignores errors: the end of the child's output tells more.
func (p *process) send(r request) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("encode a request: %v", err)) // it has only numbers and strings
	}
	_, _ = p.in.Write(append(line, '\n'))
}
