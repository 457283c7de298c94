package nemesis

import "github.com/lockstorm/lockstorm/testbed"

// lineup is who takes part in a plan and who of them is struck.
type lineup struct {
	name    string // "1of2": one of two clients is struck
	clients int
	// struck lists, for each action at the spot, who may be the one it strikes.
	struck [][]int
}

// Line-ups of schedules. Where two are struck, each has its own action, and the third
// looks on.
var (
	alone   = lineup{"1of1", 1, [][]int{{0}}}
	pair    = lineup{"1of2", 2, [][]int{{0, 1}}}
	trio    = lineup{"1of3", 3, [][]int{{0, 1, 2}}}
	twoDown = lineup{"2of3", 3, [][]int{{0}, {1}}}
)

// crowd is the line-up of drawn plans: any one of the world's clients is struck.
func (w World) crowd() lineup {
	return lineup{clients: w.Clients, struck: [][]int{clientsTo(w.Clients)}}
}

// one is the line-up in which one client is struck, with as few others as can show
// what comes of it: beside a reader it takes a reader and a writer.
func (w World) one() lineup {
	if w.Claims.ReadWrite {
		return trio
	}
	return pair
}

// both are the line-ups with one struck client and with two.
func (w World) both() []lineup { return []lineup{w.one(), twoDown} }

// lineups are those with one struck client, with two, and with one that is alone. The
// last is left out at late commands of an acquire, which only a waiting client sends.
func (w World) lineups(s spot) []lineup {
	if s.step == testbed.StepAcquire && s.n > 2 {
		return w.both()
	}
	return append(w.both(), alone)
}

// everyone lists the clients.
func (l lineup) everyone() []int { return clientsTo(l.clients) }

// anyone is the trigger of whoever begins a step first.
func (l lineup) anyone(step string) *Trigger { return beginning(step).trigger(l.everyone()) }

// others is the trigger of any client that is not struck, at the beginning of a step.
func (l lineup) others(step string) *Trigger {
	if len(l.struck) > 1 {
		return beginning(step).trigger(l.everyone()[len(l.struck):])
	}
	t := l.anyone(step)
	t.Who = Other
	return t
}

// itself is the trigger of the struck client, at the beginning of a step.
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
