package nemesis

import "github.com/lockstorm/lockstorm/testbed"

// lineup lists the clients that take part in a plan and those that are struck.
type lineup struct {
	name    string // "1of2": one of two clients is struck
	clients int
	// struck lists, for each action at the spot, the clients it may strike; it strikes one.
	struck [][]int
}

// Line-ups of schedules. With two struck clients, each has its own action; a third client
// is not struck.
var (
	alone   = lineup{"1of1", 1, [][]int{{0}}}
	pair    = lineup{"1of2", 2, [][]int{{0, 1}}}
	trio    = lineup{"1of3", 3, [][]int{{0, 1, 2}}}
	twoDown = lineup{"2of3", 3, [][]int{{0}, {1}}}
)

// crowd returns the line-up of drawn plans: any one of the world's clients is struck.
func (w World) crowd() lineup {
	return lineup{clients: w.Clients, struck: [][]int{clientsTo(w.Clients)}}
}

// one returns the smallest line-up that can show the effect of striking one client. A
// read-write lock needs three: a struck reader, another reader and a writer.
func (w World) one() lineup {
	if w.Claims.ReadWrite {
		return trio
	}
	return pair
}

// both returns the line-ups with one and with two struck clients.
func (w World) both() []lineup { return []lineup{w.one(), twoDown} }

// lineups returns the line-ups with one struck client, with two, and with a single client.
// The last is omitted at late commands of an acquire, which only a waiting client sends.
func (w World) lineups(s spot) []lineup {
	if s.step == testbed.StepAcquire && s.n > 2 {
		return w.both()
	}
	return append(w.both(), alone)
}

// everyone lists the clients.
func (l lineup) everyone() []int { return clientsTo(l.clients) }

// anyone returns the trigger set off by the first client to begin a step.
func (l lineup) anyone(step string) *Trigger { return beginning(step).trigger(l.everyone()) }

// others returns the trigger set off when a client that is not struck begins a step.
func (l lineup) others(step string) *Trigger {
	if len(l.struck) > 1 {
		return beginning(step).trigger(l.everyone()[len(l.struck):])
	}
	t := l.anyone(step)
	t.Who = Other
	return t
}

// itself returns the trigger set off when the struck client begins a step.
func (l lineup) itself(step string) *Trigger {
	t := l.anyone(step)
	t.Who = Same
	return t
}

func clientsTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
