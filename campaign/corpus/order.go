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

// lesson is what one or several candidates show.
type lesson struct {
	facts []fact
	cost  int
	worth float64 // new facts for its cost; an upper bound until it is reckoned anew
}

// Order sorts the named schedules of the candidates by what they teach: each shows the most facts, for the cost
// of its trials, that those before it do not show. Schedules that show nothing new are left out. The result
// depends on the candidates, but not on their order.
func Order(all []Candidate) []Schedule {
	index := map[Schedule]*lesson{}
	var schedules []Schedule
	for _, c := range all {
		if c.Line.Schedule == "" {
			continue
		}
		s := Schedule{c.Line.Fault, c.Line.Workload, c.Line.Schedule}
		if index[s] == nil {
			index[s] = &lesson{}
			schedules = append(schedules, s)
		}
		for _, text := range c.Facts {
			index[s].facts = append(index[s].facts, fact{lock: c.Line.Lock, fault: c.Line.Fault, text: text})
		}
		index[s].cost += c.Cost
	}
	slices.SortFunc(schedules, Schedule.compare)
	var lessons []*lesson
	for _, s := range schedules {
		lessons = append(lessons, index[s])
	}
	var order []Schedule
	for _, i := range cheapest(lessons, map[fact]bool{}) {
		order = append(order, schedules[i])
	}
	return order
}

// cheapest returns the indices of lessons, each of which shows the most facts for its cost that neither those before
// it nor known have, until none shows a new one. It adds their facts to known. A lesson's worth only falls, so that
// one whose worth, reckoned anew, is still the highest needs no comparison with what the others are worth now.
func cheapest(all []*lesson, known map[fact]bool) (taken []int) {
	for _, l := range all {
		l.worth = float64(len(l.facts)) / float64(l.cost)
	}
	for {
		best := -1
		for i, l := range all {
			if l.worth > 0 && (best < 0 || l.worth > all[best].worth) {
				best = i
			}
		}
		if best < 0 {
			return taken
		}
		l, fresh := all[best], 0
		for _, f := range l.facts {
			if !known[f] {
				fresh++
			}
		}
		if worth := float64(fresh) / float64(l.cost); worth != l.worth {
			l.worth = worth
			continue
		}
		for _, f := range l.facts {
			known[f] = true
		}
		taken, l.worth = append(taken, best), 0
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
