package checker

// Facts that contradict a premise.
const (
	wasFrozen        What = "frozen"
	workedOn         What = "worked-on"
	workedToEnd      What = "worked-to-end"
	hungToEnd        What = "hung-to-end"
	hasCrashed       What = "crashed"
	hasHung          What = "hung"
	arrivedLate      What = "arrived-late"
	answeredLate     What = "answered-late"
	neverArrived     What = "never-arrived"
	neverAnswered    What = "never-answered"
	wasStruck        What = "struck"
	evictedKey       What = "evicted"
	servedBeside     What = "served-beside"
	servedBoth       What = "served-both"
	promotedBehind   What = "promoted-behind"
	restartedAndLost What = "restarted"
	nodeClockJumped  What = "node-clock-jumped"
	nodeClockOff     What = "node-clock-off"
	nodeClocksApart  What = "node-clocks-apart"
	clientClockOff   What = "client-clock-off"
)

var premiseWords = map[Premise]string{
	ClientStops:   "a client stops when its lease ends",
	ClientLives:   "a client lives to give back what it holds",
	WorkEnds:      "a client comes back from its work",
	ClientRenews:  "a client is there to renew its lease",
	ClientReturns: "a client gives back what it holds before its lease ends",
	InTime:        "a message arrives or is lost within the lease",
	Answered:      "every message arrives and is answered",
	NodeKeeps:     "a node keeps what it acknowledged",
	ReplicaHas:    "a replica has what its primary acknowledged",
	OnePrimary:    "there is one primary at a time",
	ClocksAgree:   "clocks agree",
	ReadingFresh:  "what a client read off its clock is still true when it is used",
}

var butWords = map[What]string{
	wasFrozen:        "{who} was frozen from {since} to {until} ({fault})",
	workedOn:         "{who} worked on until {until} under a lease that it had got at {since} and that ended at {at}",
	workedToEnd:      "{who} worked on until the trial ended under a lease that it had got at {since} and that ended at {at}",
	hungToEnd:        "{who} hung in its work until the trial ended, under a lease that it had got at {since} and that ended at {at}",
	hasCrashed:       "{who} crashed at {at}",
	hasHung:          "{who} hangs in its work since {at}",
	arrivedLate:      "{by}'s {command}, sent at {sent}, ran at {ran}",
	answeredLate:     "the reply to {by}'s {command}, which ran at {arrived}, came at {replied}",
	neverArrived:     "{by}'s {command}, sent at {sent}, never reached {node}",
	neverAnswered:    "{by} never got the reply to its {command} of {sent}",
	wasStruck:        "{struck} was struck from {since} to {until} ({fault})",
	evictedKey:       "{node} evicted {key} at {at}",
	servedBeside:     "{node} served clients beside {node1} from {at} on",
	servedBoth:       "{node} and {node1} both served clients from {since} on",
	promotedBehind:   "{node} was promoted at {at} without all that clients had been told was done",
	restartedAndLost: "{node} restarted at {at} and lost {lost}",
	nodeClockJumped:  "{node}'s clock {jumped} at {at}",
	nodeClockOff:     "{node}'s clock was {off}",
	nodeClocksApart:  "{node}'s clock was {apart} {node1}'s",
	clientClockOff:   "{who}'s clock was {off} from {at} on",
}
