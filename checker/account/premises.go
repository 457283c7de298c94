package account

import (
	"maps"
	"slices"
)

// The kinds of facts that contradict a premise.
var (
	WasFrozen        = fact("frozen", "{who} was frozen from {since} to {until} ({fault})")
	WorkedOn         = fact("worked-on", "{who} worked on until {until} under a lease that it had got at {since} and that ended at {at}")
	ClaimedTooLong   = fact("claimed-too-long", "{who} claimed the lock until {until}, by a count of its own, under a lease that it had got at {since} and that ended at {at}")
	WorkedToEnd      = fact("worked-to-end", "{who} worked on until the trial ended under a lease that it had got at {since} and that ended at {at}")
	HungToEnd        = fact("hung-to-end", "{who} hung in its work until the trial ended, under a lease that it had got at {since} and that ended at {at}")
	HasCrashed       = fact("crashed", "{who} crashed at {at}")
	HasHung          = fact("hung", "{who} hangs in its work since {at}")
	ArrivedLate      = fact("arrived-late", "{by}'s {command}, sent at {sent}, ran at {ran}")
	AnsweredLate     = fact("answered-late", "the reply to {by}'s {command}, which ran at {arrived}, came at {replied}")
	NeverArrived     = fact("never-arrived", "{by}'s {command}, sent at {sent}, never reached {node}")
	NeverAnswered    = fact("never-answered", "{by} never got the reply to its {command} of {sent}")
	WasStruck        = fact("struck", "{struck} was struck from {since} to {until} ({fault})")
	EvictedKey       = fact("evicted", "{node} evicted {key} at {at}")
	ServedBeside     = fact("served-beside", "{node} and {node1} both served clients from {at} on")
	ServedBoth       = fact("served-both", "{node} and {node1} both served clients from {since} on")
	PromotedBehind   = fact("promoted-behind", "{node} was promoted at {at} and lacked writes that clients had seen acknowledged")
	RestartedAndLost = fact("restarted", "{node} restarted at {at} and lost {lost}")
	NodeClockJumped  = fact("node-clock-jumped", "{node}'s clock {jumped} at {at}")
	NodeClockOff     = fact("node-clock-off", "{node}'s clock was {off}")
	NodeClocksApart  = fact("node-clocks-apart", "{node}'s clock was {apart} {node1}'s")
	ClientClockOff   = fact("client-clock-off", "{who}'s clock was {off} from {at} on")
)

// Premises returns everything that leases rely on, sorted.
func Premises() []Premise { return slices.Sorted(maps.Keys(premiseWords)) }
