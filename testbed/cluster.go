package testbed

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// SlotsKnownFor is how long a cluster's client uses its map of the slots before it asks for
// a new one. By default go-redis asks after a redirection, but otherwise only once a minute:
// a client could dial a dead master for a minute.
const SlotsKnownFor = 250 * time.Millisecond

// ClusterOptions returns RedisOptions for a client of the cluster whose nodes have these
// addresses. The client follows MOVED and ASK as often as go-redis does by default, and
// retries commands that a node refused to execute. The client does not repeat commands that
// may have run: if the reply to a SET was lost, go-redis would send the SET again, and the
// recipe would see only the second reply.
func ClusterOptions(addrs []string, timeout time.Duration) *redis.ClusterOptions {
	o := universal(timeout, addrs...).Cluster()
	o.ClusterStateReloadInterval, o.DisableRoutingPolicies = SlotsKnownFor, true
	o.NewClient = func(o *redis.Options) *redis.Client {
		node := redis.NewClient(o)
		node.AddHook(unrepeated{})
		return node
	}
	return o
}

// unrepeated is a hook for a cluster's client. It keeps the client from repeating a command
// that was sent but not answered: it replaces the error with one that go-redis does not retry.
type unrepeated struct{}

var _ redis.Hook = unrepeated{}

// DialHook implements redis.Hook.
func (unrepeated) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (unrepeated) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return final(next(ctx, cmd)) }
}

// ProcessPipelineHook implements redis.Hook.
func (unrepeated) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return final(next(ctx, cmds)) }
}

// unanswered is the error of a command that was sent and may have run.
type unanswered struct{ cause error }

// Error implements error.
func (u unanswered) Error() string { return u.cause.Error() }

// final returns err itself if the command was answered, if it was not sent, or if a context ended:
// go-redis never retries after the end of a context. final wraps every other error in unanswered,
// because the command may have run.
func final(err error) error {
	var reply redis.Error
	var dial *net.OpError
	switch {
	case err == nil, errors.As(err, &reply):
		return err
	case errors.As(err, &dial) && dial.Op == "dial":
		return err
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return unanswered{err}
}
