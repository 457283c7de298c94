package process

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/lockstorm/lockstorm/testbed"
)

// Types of toxics, as toxiproxy's registry knows them. Cut and hold are ours.
//
// Toxiproxy's own timeout closes every connection when it is removed, also those
// that lost nothing, and lets the end of a connection through meanwhile; its
// latency lets go of what it holds when another toxic is added, and waits 5 s for
// each chunk to a receiver that has gone.
const (
	cutType   = "lockstorm_cut"
	holdType  = "lockstorm_hold"
	resetType = "reset_peer"
)

func init() {
	toxics.Register(cutType, new(cutToxic))
	toxics.Register(holdType, new(holdToxic))
}

// flow is a toxic's state on one connection. Toxiproxy runs one method of a
// toxic on a connection at a time.
type flow struct {
	held  []*stream.StreamChunk
	lost  bool // data was dropped
	ended bool // the sender has closed
}

// NewState implements toxics.StatefulToxic.
func (*traffic) NewState() any { return new(flow) }

// traffic is what a toxic caught on all connections.
type traffic struct {
	mu     sync.Mutex
	caught bytes.Buffer
}

// catchLimit bounds what is kept for counting.
const catchLimit = 1 << 20

func (t *traffic) note(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.caught.Len() < catchLimit {
		t.caught.Write(data)
	}
}

// messages counts what was caught, without what a primary and its replicas send
// each other when nothing happens.
func (t *traffic) messages() int {
	t.mu.Lock()
	r := bufio.NewReader(bytes.NewReader(bytes.Clone(t.caught.Bytes())))
	t.mu.Unlock()
	n := 0
	for {
		m, err := testbed.ReadMessage(r)
		if err != nil {
			return n
		}
		args, err := m.Args()
		if err != nil {
			continue
		}
		switch strings.ToUpper(string(args[0])) {
		case "PING", "REPLCONF", "SELECT":
		default:
			n++
		}
	}
}

// cutToxic drops everything, also the news that a connection was closed. When
// it is removed it closes the connections that lost something.
type cutToxic struct{ traffic }

// Pipe implements toxics.Toxic.
func (t *cutToxic) Pipe(stub *toxics.ToxicStub) {
	f := stub.State.(*flow)
	for {
		chunk, more := f.next(stub)
		if !more {
			return
		}
		f.lost = true
		t.note(chunk.Data)
	}
}

// Cleanup implements toxics.CleanupToxic.
func (t *cutToxic) Cleanup(stub *toxics.ToxicStub) {
	if f := stub.State.(*flow); f.lost || f.ended {
		stub.Close()
	}
}

// holdToxic keeps everything, and lets it go when it is removed.
type holdToxic struct {
	traffic
	discard atomic.Bool // drop instead what is held
}

// Pipe implements toxics.Toxic.
func (t *holdToxic) Pipe(stub *toxics.ToxicStub) {
	f := stub.State.(*flow)
	for {
		chunk, more := f.next(stub)
		if !more {
			return
		}
		f.held = append(f.held, chunk)
		t.note(chunk.Data)
	}
}

// flushPatience bounds how long a receiver may take for what was held: nobody
// reads on a connection that broke meanwhile.
const flushPatience = time.Second

// Cleanup implements toxics.CleanupToxic.
func (t *holdToxic) Cleanup(stub *toxics.ToxicStub) {
	f := stub.State.(*flow)
	patience := time.NewTimer(flushPatience)
	defer patience.Stop()
	for _, chunk := range f.held {
		if t.discard.Load() {
			f.ended = true
			break
		}
		select {
		case stub.Output <- chunk:
			continue
		case <-patience.C:
		}
		f.ended = true
		break
	}
	f.held = nil
	if f.ended {
		stub.Close()
	}
}

// next returns what the sender sent, until the toxic is interrupted. After the
// sender's end only the interruption comes.
func (f *flow) next(stub *toxics.ToxicStub) (*stream.StreamChunk, bool) {
	input := stub.Input
	for {
		if f.ended {
			input = nil
		}
		select {
		case <-stub.Interrupt:
			return nil, false
		case chunk := <-input:
			if chunk != nil {
				return chunk, true
			}
			f.ended = true
		}
	}
}

// poison is one toxic on one direction of one proxy.
type poison struct {
	proxy *toxiproxy.Proxy
	name  string
	toxic toxics.Toxic
}

var poisons atomic.Int64 // for names

// addToxic adds a toxic to a direction of a proxy; once it returns, what is sent
// is subject to it.
func addToxic(p *toxiproxy.Proxy, kind string, d testbed.Direction) (*poison, error) {
	name := fmt.Sprintf("%s-%d", kind, poisons.Add(1))
	spec := fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q}`, name, kind, d)
	w, err := p.Toxics.AddToxicJson(strings.NewReader(spec))
	if err != nil {
		return nil, fmt.Errorf("proxy %s: add %s: %w", p.Name, kind, err)
	}
	return &poison{proxy: p, name: name, toxic: w.Toxic}, nil
}

// remove takes the toxic away. Removing it twice is no error.
func (p *poison) remove(ctx context.Context) error {
	err := p.proxy.Toxics.RemoveToxic(ctx, p.name)
	if err != nil && err != toxiproxy.ErrToxicNotFound {
		return fmt.Errorf("proxy %s: remove %s: %w", p.proxy.Name, p.name, err)
	}
	return nil
}

// directions that d stands for.
func directions(d testbed.Direction) []testbed.Direction {
	if d == testbed.Both {
		return []testbed.Direction{testbed.Upstream, testbed.Downstream}
	}
	return []testbed.Direction{d}
}

// drop makes the toxic forget what it holds when it is removed.
func (p *poison) drop() {
	if h, ok := p.toxic.(*holdToxic); ok {
		h.discard.Store(true)
	}
}

// messages counts what the toxic caught.
func (p *poison) messages() int {
	switch t := p.toxic.(type) {
	case *cutToxic:
		return t.messages()
	case *holdToxic:
		return t.messages()
	}
	return 0
}
