package checker

import (
	"cmp"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

func believed(h Hold) account.Believed {
	b := account.Believed{Client: h.Client, Mode: h.Mode, From: h.From, Why: h.ToWhy, Extended: h.Extended > 0}
	if h.To != Never {
		b.Until = h.To
	}
	return b
}

func operated(p *history.Pair) account.Operation {
	o := account.Operation{Client: p.Invoke.Client, F: p.Invoke.F, Mode: p.Invoke.Mode, From: p.Invoke.Time}
	if p.Invoke.F == history.FAcquire {
		o.Fence = p.Lease().Fence
	}
	if p.Complete != nil {
		o.To, o.Type = p.Complete.Time, p.Complete.Type
	}
	return o
}

func touched(op history.Op) account.Operation {
	return account.Operation{Client: op.Client, F: op.F, Mode: op.Mode, From: op.Time, To: op.Time, Type: op.Type}
}

// grants converts grants to the form of an account. It skips nil entries.
func (rp *trial) grants(all ...*keyspace.Grant) (granted []account.Granted) {
	for _, g := range all {
		if g == nil {
			continue
		}
		x := account.Granted{Client: g.Client, Node: g.Node, Key: g.Key, Place: g.Place, At: g.At.Lo}
		for _, index := range rp.indexOf(g.Cmd) {
			x.Command = &index
		}
		switch {
		case g.Over != nil && (g.End == nil || g.OverSeq < g.End.Seq):
			x.Until, x.Ended = g.Over.At.Lo, account.WasTakenOver
		case g.End != nil:
			x.Until = g.End.At.Lo
			x.Ended = map[keyspace.How]account.Ending{
				keyspace.Deleted: account.WasRemoved, keyspace.Expired: account.WasExpired, keyspace.Lost: account.WasLost, keyspace.Unclear: account.WasUnclear,
			}[g.End.How]
		}
		granted = append(granted, x)
	}
	return granted
}

// call returns the command at place pos of the log, or nil if there is none.
func (rp *trial) call(pos int) *account.Call {
	if pos < 0 || pos >= len(rp.Commands) {
		return nil
	}
	c := rp.Commands[pos]
	call := &account.Call{
		Index: c.Index, Client: c.Client, Node: c.Node, Name: cmp.Or(resp.Name(c.Args), "command"),
		Sent: c.Sent, Arrived: c.Arrived, Ran: rp.Ran(pos).Lo, Replied: c.Replied, Reply: string(c.Reply),
	}
	if sha, ok := c.Script(); ok {
		call.Script, call.Name = true, rp.Claims.ScriptNames[sha]
	}
	return call
}
