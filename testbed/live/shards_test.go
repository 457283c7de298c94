package live

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// asked is a server that answers ROLE with its role. While it has no role, it hangs up.
type asked struct {
	*stub
	role atomic.Value // "" = none
}

func newAsked(t *testing.T) *asked {
	t.Helper()
	s := new(asked)
	s.role.Store("")
	s.stub = newStub(listens(t, s.serve))
	return s
}

func (s *asked) serve(c net.Conn) {
	defer c.Close()
	for r := resp.NewReader(c); ; {
		m, err := resp.Read(r)
		if err != nil {
			return
		}
		reply := "-ERR unknown command\r\n"
		if args, _ := m.Args(); resp.Name(args) == "ROLE" {
			role := s.role.Load().(string)
			if role == "" {
				return
			}
			reply = "*1\r\n+" + role + "\r\n"
		}
		if _, err := c.Write([]byte(reply)); err != nil {
			return
		}
	}
}

// rivalry is a cluster of one shard, in which n1 was elected and n0 has not stepped down.
type rivalry struct {
	clusterEnv
	old  *asked
	told []string
}

func newRivalry(t *testing.T) *rivalry {
	place := slowPlace{start: make(chan Server, 1)}
	n0, n1 := newStubNode(t, place), newStubNode(t, place)
	n1.name = "n1"
	r := &rivalry{old: newAsked(t)}
	startAs(t, n0, place, r.old)
	e := &env{ctx: t.Context(), nodes: []*node{n0, n1}}
	e.cluster = &cluster{
		env: e, elections: elections{provocation: new(provocation)}, pauses: map[*node]int{},
		shards: []*shard{{nodes: e.nodes, master: n0, heir: n1, moved: map[int]bool{}}},
	}
	r.clusterEnv = clusterEnv{ownEnv{e}, e.cluster}
	r.OnElection(func(op history.Op) { r.told = append(r.told, op.F+" "+op.Node) })
	t.Cleanup(func() {
		if err := n0.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// saw checks which events the history got.
func (r *rivalry) saw(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.told, want) {
		t.Errorf("told %q, want %q", r.told, want)
	}
}

func TestAMasterThatDoesNotAnswerHasNotSteppedDown(t *testing.T) {
	r := newRivalry(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.awaitStepDown(ctx, r.nodes[0]); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it hangs up: got %v, want %v", err, context.DeadlineExceeded)
	}
	r.saw(t)
	r.old.role.Store("slave")
	if err := r.awaitStepDown(t.Context(), r.nodes[0]); err != nil {
		t.Error(err)
	}
	r.saw(t, history.FPromote+" n1")
}

func TestACommandAtAMasterThatDoesNotAnswerEndsNoRivalry(t *testing.T) {
	r := newRivalry(t)
	get := []history.Bytes{history.Bytes("GET"), history.Bytes("k")}
	admit := r.admit(r.nodes[0])
	admit(0, get)
	r.saw(t)
	r.old.role.Store("master")
	admit(0, get)
	r.saw(t)
	r.old.role.Store("slave")
	admit(0, get)
	r.saw(t, history.FPromote+" n1")
}
