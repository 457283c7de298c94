package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// linkFault returns the inject of a fault that applies do to each of its links. The proof
// is the network's count of affected messages, or of connections if these are reset.
func linkFault(do func(context.Context, testbed.Network, testbed.Link, testbed.Direction) (testbed.Undo, error)) func(context.Context, *injection) (heal, error) {
	return func(ctx context.Context, s *injection) (heal, error) {
		network := s.env.(testbed.Network)
		var undos []testbed.Undo
		for _, l := range s.links() {
			undo, err := do(ctx, network, l, s.action.Direction)
			if err != nil {
				healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healing)
				defer cancel()
				_, uerr := undoAll(healing, undos)
				return nil, errors.Join(fmt.Errorf("%s on %s–%s: %w", s.action.Fault, l.From, l.To, err), uerr)
			}
			undos = append(undos, undo)
		}
		return func(ctx context.Context) (result, error) {
			i := s.lasted()
			hits, err := undoAll(ctx, undos)
			if s.fault.effect == history.Reset {
				i.Connections = hits
			} else {
				i.Messages = hits
			}
			return result{hits, i}, err
		}, nil
	}
}

// undoAll calls every undo, even if one fails, and sums their hits.
func undoAll(ctx context.Context, undos []testbed.Undo) (hits int, err error) {
	for _, undo := range undos {
		n, uerr := undo(ctx)
		hits += n
		err = errors.Join(err, uerr)
	}
	return hits, err
}

// cut, hold and resetLink adapt testbed.Network to linkFault.
func cut(ctx context.Context, n testbed.Network, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return n.Cut(ctx, l, d)
}

func hold(ctx context.Context, n testbed.Network, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return n.Hold(ctx, l, d)
}

func resetLink(ctx context.Context, n testbed.Network, l testbed.Link, _ testbed.Direction) (testbed.Undo, error) {
	return n.Reset(ctx, l)
}
