package external

import (
	"cmp"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// sight is a command that a node told to have executed.
type sight struct {
	command    *history.Command
	begin, end time.Duration // by the node's clock
	heard      time.Duration // on the history's: it had ended by then
}

// stamp is what is learnt of one command.
type stamp struct {
	command         *history.Command
	exec            int
	arrived, served time.Duration
}

// give writes it into the command.
func (s stamp) give() {
	s.command.Exec, s.command.Arrived, s.command.Served = s.exec, s.arrived, s.served
}

// late says whether the command's reply tells nothing of when it was executed: it
// came after something else, or was only that it is queued.
func (s sight) late() bool {
	return testbed.Blocks(s.command.Args) || s.command.Reply == "QUEUED"
}

// by is when the command had certainly been executed.
func (s sight) by() time.Duration {
	if s.command.Replied == 0 || s.late() {
		return s.heard
	}
	return min(s.heard, s.command.Replied)
}

// timed numbers the commands in the order in which they were executed, and puts
// bounds on when: each ran after it was sent and before its reply came and its
// line was heard, and at the time of the line, on a clock whose difference from
// the history's is within what all commands together allow. If they allow none,
// as that clock was set meanwhile, it is not looked at.
func timed(seen []sight) []stamp {
	least, most := time.Duration(-1<<63), time.Duration(1<<63-1)
	for _, s := range seen {
		least, most = max(least, s.end-s.by()), min(most, s.begin-s.command.Sent)
	}
	stamps := make([]stamp, len(seen))
	for i, s := range seen {
		stamps[i] = stamp{command: s.command, exec: i + 1, arrived: s.command.Sent, served: s.by()}
		if least <= most {
			stamps[i].arrived = max(stamps[i].arrived, s.begin-most)
			stamps[i].served = min(stamps[i].served, s.end-least)
		}
	}
	for i := 1; i < len(stamps); i++ {
		stamps[i].arrived = max(stamps[i].arrived, stamps[i-1].arrived)
	}
	for i := len(stamps) - 2; i >= 0; i-- {
		stamps[i].served = min(stamps[i].served, stamps[i+1].served)
	}
	for i, s := range seen {
		if s.late() {
			stamps[i].served = cmp.Or(s.command.Replied, stamps[i].served)
		}
	}
	return stamps
}
