package corpus

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/internal/input"
)

// Schedule is a named schedule, whatever the recipe.
type Schedule struct{ Fault, Workload, Name string }

func (s Schedule) compare(other Schedule) int {
	return cmp.Or(cmp.Compare(s.Fault, other.Fault), cmp.Compare(s.Workload, other.Workload), cmp.Compare(s.Name, other.Name))
}

// lesson is what the candidates of one schedule show, over all recipes.
type lesson struct {
	Schedule
	facts []fact
	cost  int
	worth float64 // new facts for its cost; an upper bound until it is reckoned anew
}

// Order sorts the named schedules of the candidates by what they teach: each shows the most facts, for the cost
// of its trials, that those before it do not show. Schedules that show nothing new are left out. The result
// depends on the candidates, but not on their order.
func Order(all []Candidate) []Schedule {
	index := map[Schedule]*lesson{}
	var left []*lesson
	for _, c := range all {
		if c.Line.Schedule == "" {
			continue
		}
		s := Schedule{c.Line.Fault, c.Line.Workload, c.Line.Schedule}
		if index[s] == nil {
			index[s] = &lesson{Schedule: s}
			left = append(left, index[s])
		}
		l := index[s]
		for _, text := range c.Facts {
			l.facts = append(l.facts, fact{lock: c.Line.Lock, fault: c.Line.Fault, text: text})
		}
		l.cost += c.Cost
		l.worth = float64(len(l.facts)) / float64(l.cost)
	}
	slices.SortFunc(left, func(a, b *lesson) int { return a.compare(b.Schedule) })
	known := map[fact]bool{}
	var order []Schedule
	for {
		best := mostWorth(left, known)
		if best < 0 {
			return order
		}
		for _, f := range left[best].facts {
			known[f] = true
		}
		order = append(order, left[best].Schedule)
		left = slices.Delete(left, best, best+1)
	}
}

// mostWorth returns the index of the lesson that is worth most; -1 = none shows anything new. A lesson's worth only
// falls, so that one whose worth, reckoned anew, is still the highest needs no comparison with what the
// others are worth now.
func mostWorth(left []*lesson, known map[fact]bool) int {
	for {
		best := -1
		for i, l := range left {
			if l.worth > 0 && (best < 0 || l.worth > left[best].worth) {
				best = i
			}
		}
		if best < 0 {
			return -1
		}
		fresh := 0
		for _, f := range left[best].facts {
			if !known[f] {
				fresh++
			}
		}
		worth := float64(fresh) / float64(left[best].cost)
		if worth == left[best].worth {
			return best
		}
		left[best].worth = worth
	}
}

// OrderFile is the name of the file beside the lists that has the order of the schedules.
const OrderFile = "order.txt"

// MarshalOrder returns the text of OrderFile: one schedule a line.
func MarshalOrder(order []Schedule) []byte {
	var b strings.Builder
	for _, s := range order {
		fmt.Fprintln(&b, s.Fault, s.Workload, s.Name)
	}
	return []byte(b.String())
}

//go:embed lists/order.txt
var builtinOrder string

// BuiltinOrder returns the named schedules in the order of what they taught over the program's own recipes (Order).
// The error is an input.Error that names the file and the line.
func BuiltinOrder() ([]Schedule, error) {
	var order []Schedule
	n := 0
	for line := range strings.Lines(builtinOrder) {
		n++
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, input.Errorf("corpus %s:%d: expected a fault, a workload and a schedule, not %q: lockstorm corpus make writes it anew", OrderFile, n, strings.TrimSpace(line))
		}
		order = append(order, Schedule{words[0], words[1], words[2]})
	}
	return order, nil
}
