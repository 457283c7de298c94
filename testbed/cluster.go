package testbed

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// SlotsKnownFor is how long a cluster's client goes by what it knows of the slots
// before it asks again. Only a redirection makes go-redis ask at once: who cannot
// reach a master that died would else go on dialling it for a minute, its default.
const SlotsKnownFor = 250 * time.Millisecond

// ClusterOptions are RedisOptions for a client of the cluster that has nodes with
// these addresses. It goes where it is sent by MOVED and ASK, as often as go-redis
// does unless told otherwise, and asks again where it was told that nothing was
// done. What may have been done it does not repeat: go-redis would send a SET whose
// reply was lost once more, and tell the recipe the second reply.
func ClusterOptions(addrs []string, timeout time.Duration) *redis.ClusterOptions {
	o := RedisOptions("", timeout)
	return &redis.ClusterOptions{
		Addrs: addrs, Protocol: o.Protocol, DisableIdentity: o.DisableIdentity,
		MaxRetries: o.MaxRetries, DialerRetries: o.DialerRetries, ContextTimeoutEnabled: o.ContextTimeoutEnabled,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		PoolSize: o.PoolSize, PipelinePoolSize: o.PipelinePoolSize, MaintNotificationsConfig: o.MaintNotificationsConfig,
		ReadBufferSize: o.ReadBufferSize, WriteBufferSize: o.WriteBufferSize,
		ClusterStateReloadInterval: SlotsKnownFor, DisableRoutingPolicies: true,
		NewClient: func(o *redis.Options) *redis.Client {
			node := redis.NewClient(o)
			node.AddHook(unrepeated{})
			return node
		},
	}
}

// unrepeated keeps a cluster's client from repeating what was sent and not
// answered: the errors that say so are ones that go-redis does not know.
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

// unanswered says that a command was sent, and no more.
type unanswered struct{ cause error }

// Error implements error.
func (u unanswered) Error() string { return u.cause.Error() }

// final marks an error after which the command may have run.
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
