package locks

import (
	"context"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// luaSetnxExpireFraction is D1's second version with a wrong argument: the lease time has a fraction
// of a second. D1 says that developers find such a mistake before production. The script's tonumber
// accepts "1.5", EXPIRE refuses it, and the script ends with an error. Redis does not undo the SETNX
// before EXPIRE: the key stays for ever, without an expiry and without an owner.
//
// D1 gives no example of a wrong argument. The recipe adds half a second to the whole seconds of the
// lease. So no attempt succeeds: TryLock returns the script's error, which means an unknown outcome,
// or ErrBusy once the key exists.
type luaSetnxExpireFraction struct {
	polling
	plainDel
}

// fractionMargin is added to the whole seconds of the lease, so that EXPIRE refuses the result.
const fractionMargin = 500 * time.Millisecond

func init() {
	Register(Recipe{
		ID:       "lua-setnx-expire-fraction",
		Document: "D1",
		Summary:  "Lua: SETNX key 1, EXPIRE key <s + 0.5>, which fails · DEL key",
		Topology: Single,
		Claims: claims("lua-setnx-expire-fraction", func(ttl time.Duration) time.Duration { return wholeSeconds(ttl) + fractionMargin },
			history.Claims{}, setnxThenExpire),
		Flaws: flaws(
			under(anyFault, "no-expiry", Bug,
				"SETNX takes effect, and then EXPIRE fails, since it takes whole seconds only; a script that ends with an error undoes nothing.",
				"D1: a script whose EXPIRE fails", "liveness"),
		),
		New: onOneNode(func(h handle) (Lock, error) { return &luaSetnxExpireFraction{plainDel: plainDel{h}}, nil }),
	})
}

// TryLock implements Lock. The lease has no token.
func (l *luaSetnxExpireFraction) TryLock(ctx context.Context) (Lease, error) {
	ttl := (wholeSeconds(l.ttl) + fractionMargin).Seconds()
	return Lease{}, acquireBySetnxThenExpire(ctx, l.node(), l.key, 1, strconv.FormatFloat(ttl, 'f', -1, 64))
}
