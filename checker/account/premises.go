package account

import (
	"maps"
	"slices"
)

// The kinds of facts that contradict a premise. butWords has their sentences.
const (
	WasFrozen        What = "frozen"
	WorkedOn         What = "worked-on"
	ClaimedTooLong   What = "claimed-too-long"
	WorkedToEnd      What = "worked-to-end"
	HungToEnd        What = "hung-to-end"
	HasCrashed       What = "crashed"
	HasHung          What = "hung"
	ArrivedLate      What = "arrived-late"
	AnsweredLate     What = "answered-late"
	NeverArrived     What = "never-arrived"
	NeverAnswered    What = "never-answered"
	WasStruck        What = "struck"
	EvictedKey       What = "evicted"
	ServedBeside     What = "served-beside"
	ServedBoth       What = "served-both"
	PromotedBehind   What = "promoted-behind"
	RestartedAndLost What = "restarted"
	NodeClockJumped  What = "node-clock-jumped"
	NodeClockOff     What = "node-clock-off"
	NodeClocksApart  What = "node-clocks-apart"
	ClientClockOff   What = "client-clock-off"
)

var premiseWords = map[Premise]string{
	ClientStops:   "a client stops when its lease ends",
	ClientLives:   "a client lives to give back what it holds",
	WorkEnds:      "a client comes back from its work",
	ClientRenews:  "a client is there to renew its lease",
	ClientReturns: "a client gives back what it holds before its lease ends",
	CountsRight:   "a client does not claim more than its lease",
	InTime:        "a message arrives or is lost within the lease",
	Answered:      "every message arrives and is answered",
	NodeKeeps:     "a node keeps what it acknowledged",
	ReplicaHas:    "a replica has what its primary acknowledged",
	OnePrimary:    "there is one primary at a time",
	ClocksAgree:   "clocks agree",
	ReadingFresh:  "a time that a client read from its clock is still right when the client uses it",
}

var butWords = map[What]string{
	WasFrozen:        "{who} was frozen from {since} to {until} ({fault})",
	WorkedOn:         "{who} worked on until {until} under a lease that it had got at {since} and that ended at {at}",
	ClaimedTooLong:   "{who} claimed the lock until {until}, by a count of its own, under a lease that it had got at {since} and that ended at {at}",
	WorkedToEnd:      "{who} worked on until the trial ended under a lease that it had got at {since} and that ended at {at}",
	HungToEnd:        "{who} hung in its work until the trial ended, under a lease that it had got at {since} and that ended at {at}",
	HasCrashed:       "{who} crashed at {at}",
	HasHung:          "{who} hangs in its work since {at}",
	ArrivedLate:      "{by}'s {command}, sent at {sent}, ran at {ran}",
	AnsweredLate:     "the reply to {by}'s {command}, which ran at {arrived}, came at {replied}",
	NeverArrived:     "{by}'s {command}, sent at {sent}, never reached {node}",
	NeverAnswered:    "{by} never got the reply to its {command} of {sent}",
	WasStruck:        "{struck} was struck from {since} to {until} ({fault})",
	EvictedKey:       "{node} evicted {key} at {at}",
	ServedBeside:     "{node} and {node1} both served clients from {at} on",
	ServedBoth:       "{node} and {node1} both served clients from {since} on",
	PromotedBehind:   "{node} was promoted at {at} and lacked writes that clients had seen acknowledged",
	RestartedAndLost: "{node} restarted at {at} and lost {lost}",
	NodeClockJumped:  "{node}'s clock {jumped} at {at}",
	NodeClockOff:     "{node}'s clock was {off}",
	NodeClocksApart:  "{node}'s clock was {apart} {node1}'s",
	ClientClockOff:   "{who}'s clock was {off} from {at} on",
}

// Premises returns everything that leases rely on, sorted.
func Premises() []Premise { return slices.Sorted(maps.Keys(premiseWords)) }
