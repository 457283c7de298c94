package process

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// ping sends PING to n0 as the client. If inVain is true, it gives up soon.
func ping(ctx context.Context, e testbed.Env, client int, inVain bool) error {
	patience := time.Minute
	if inVain {
		patience = 200 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return e.Client(client).Locks().Nodes[0].Ping(ctx).Err()
}

// TestAFaultOfASharedLinkIsEverybodys checks that a fault that cuts off one client cuts off all
// clients of a shared link, and that its hits count the commands of all clients. Without shared
// links, the fault cuts off only the one client.
func TestAFaultOfASharedLinkIsEverybodys(t *testing.T) {
	for _, shared := range []bool{false, true} {
		err := run(t, testbed.Setup{Topology: testbed.Single, Clients: 3, SharedLinks: shared}, func(ctx context.Context, e testbed.Env) error {
			undo, err := e.(testbed.Network).Cut(ctx, testbed.Link{From: "c0", To: "n0"}, testbed.Both)
			if err != nil {
				return err
			}
			for id, cut := range []bool{true, shared, shared} {
				if err := ping(ctx, e, id, cut); (err != nil) != cut {
					t.Errorf("shared %t: c%d asked n0: got %v, want an error: %t", shared, id, err, cut)
				}
			}
			hits, err := undo(ctx)
			if want := map[bool]int{false: 1, true: 3}[shared]; hits != want {
				t.Errorf("shared %t: the cut hit %d commands, want %d", shared, hits, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("shared %t: %v", shared, err)
		}
	}
}

// TestAHeldConnectionOfASharedLinkIsItsClients checks that Hold finds a client's first connection
// among all connections on the link.
func TestAHeldConnectionOfASharedLinkIsItsClients(t *testing.T) {
	err := run(t, testbed.Setup{Topology: testbed.Single, Clients: 3, SharedLinks: true}, func(ctx context.Context, e testbed.Env) error {
		undo, err := e.(testbed.Network).Hold(ctx, testbed.Link{From: "c1", To: "n0", Conn: 1}, testbed.Downstream)
		if err != nil {
			return err
		}
		for id, held := range []bool{false, true, false} {
			if err := ping(ctx, e, id, held); (err != nil) != held {
				t.Errorf("c%d asked n0: got %v, want an error: %t", id, err, held)
			}
		}
		hits, err := undo(ctx)
		if hits != 1 {
			t.Errorf("the hold hit %d commands, want 1", hits)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestClientsOfSharedLinksMoveTogether checks that a promotion moves all clients, and that a split
// that moves only some is refused.
func TestClientsOfSharedLinksMoveTogether(t *testing.T) {
	err := run(t, testbed.Setup{Topology: testbed.Replicated, Clients: 3, SharedLinks: true}, func(ctx context.Context, e testbed.Env) error {
		if _, err := e.(testbed.SplitBrain).Split(ctx, "n1", []int{0}); err == nil {
			t.Error("a split of one client was not refused")
		}
		if err := e.(testbed.Nodes).Promote(ctx, "n1"); err != nil {
			return err
		}
		var all []error
		for id := range 3 {
			set := func() error { return e.Client(id).Locks().Nodes[0].Set(ctx, "k", id, 0).Err() }
			err := set()
			if err != nil {
				err = set() // the first attempt found a connection that the promotion had ended
			}
			all = append(all, err)
		}
		return errors.Join(all...)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMoreClientsThanFilesAreRefused checks the error of a trial whose clients need more open files
// than the program may have.
func TestMoreClientsThanFilesAreRefused(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	less := limit
	less.Cur = 400
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &less); err != nil {
		t.Fatal(err)
	}
	for shared, want := range map[bool]string{
		false: "100 clients need 1100 open files, and this program may have 400: raise the limit (ulimit -n), or let clients share links",
		true:  "100 clients need 501 open files, and this program may have 400: raise the limit (ulimit -n)",
	} {
		setup := testbed.Setup{Topology: testbed.Single, Clients: 100, SharedLinks: shared}
		err := run(t, setup, func(context.Context, testbed.Env) error { return nil })
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
