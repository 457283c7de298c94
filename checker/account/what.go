package account

// What is the kind of a Fact. The table words has one sentence for each kind.
type What string

// The kinds of facts that findings report.
const (
	Overlap       What = "overlap"        // two holds overlap
	Crowd         What = "crowd"          // there is one hold more than there are permits
	NoOrder       What = "no-order"       // no order fits the model; the conflict is minimal
	NoOwnersOrder What = "no-owner-order" // no order fits; the conflict is minimal if only owners may release
	NoOrderFound  What = "no-order-found" // no order fits; no minimal conflict was found in time

	ExtendedLate What = "extended-late" // an extension succeeded although another client had been granted the lock

	LostUpdate  What = "lost-update"
	Interleaved What = "interleaved" // an operation came inside another owner's critical section
	TornRead    What = "torn-read"

	ForeignRemoval     What = "foreign-removal"
	ForeignReplacement What = "foreign-replacement"
	ForeignProlonging  What = "foreign-prolonging"

	FenceNotGreater  What = "fence-not-greater"
	FenceMissing     What = "fence-missing"
	OldFenceAccepted What = "old-fence-accepted"

	OrphanKeptOut   What = "orphan-kept-out"
	Blocked         What = "blocked" // clients never got in again
	PassedOver      What = "passed-over"
	RefusedForSlots What = "refused-for-slots"
	LeftFree        What = "left-free" // clients never got in, though the lock was free for all of Span

	EnteredBeside What = "entered-beside"
	FreedEarly    What = "freed-early"
	DeniedEarly   What = "denied-early"

	// RemovalDenied: a release said that its client did not hold the lock, although the release
	// removed the client's own grant. GrantDenied: an acquire said that its client did not get the
	// lock, although the acquire had taken the lock.
	RemovalDenied What = "removal-denied"
	GrantDenied   What = "grant-denied"

	AllWaited  What = "all-waited"
	Panicked   What = "panicked"
	DidNotStop What = "did-not-stop"

	DoneAgain What = "done-again"
)

var whatWords = map[What]string{
	Overlap:       "{who} {became} {lock}{as} at {at} while {whom} still believed it held it{theirs} ({held})",
	Crowd:         "{who} {became} {lock} at {at} while {count} others still believed they held it, one too many: {crowd}",
	NoOrder:       "no order of the operations on {lock} fits the model {model}, whichever others took effect: {operations}",
	NoOwnersOrder: "no order of the operations on {lock} fits the model {model}; if only owners may release, these cannot all have happened: {operations}",
	NoOrderFound:  "no order of the operations on {lock} fits the model {model}; the operations with which this one conflicts were not found in time: {operations}",

	ExtendedLate: "{whom} was told at {at} that its lease of {lock} was extended, although {who} was granted it at {since}, after {whom} {had} it at {until}",

	LostUpdate:  "{who}'s write of {lock} at {at} was lost: {whom} had read at {since} and overwrote it at {until}",
	Interleaved: "{who} {past} {lock} at {at}, between {whom}'s {before} at {since} and its {after} at {until} in one critical section",
	TornRead:    "{who} read {values} of {lock} at {at}, which must be equal, while {whom} was still writing them (since {since})",

	ForeignRemoval:     "{who}'s {command} at {at}{late} removed {key} on {node}, which carried {whom}'s grant of {since}",
	ForeignReplacement: "{who}'s {command} at {at}{late} overwrote {key} on {node}, which carried {whom}'s grant of {since}, with its own value",
	ForeignProlonging:  "{who}'s {command} at {at}{late} set the life of {key} on {node}, which carried {whom}'s grant of {since}",

	FenceNotGreater:  "{who} was granted {lock} at {at} with fence {value}, though {whom} had been granted it at {since} with fence {other}",
	FenceMissing:     "{who} was granted {lock} at {at} with fence {value}, which is no fence",
	OldFenceAccepted: "{lock} accepted {who}'s {op} under fence {value} at {at}, though it had seen fence {other}, with {whom}'s {before} at {since}",

	OrphanKeptOut:   "{key} kept {others} out from {at} on until {ended} at {until}, though no client believed that it held the lock by that key",
	Blocked:         "{all} never got into {lock} again",
	PassedOver:      "{all} never got into {lock} from {at} on, though no key that was left behind stood in the way: others were granted it {count} times meanwhile, and it was free for {age} of {span}",
	RefusedForSlots: "{all} never got into {lock}: {node} refused {by}'s {command} of {sent}, as every other attempt: its keys are in different slots (CROSSSLOT)",
	LeftFree:        "{all} never got into {lock} from {at} on, though it was free for all of {span}, without a holder and without a key on any node",

	EnteredBeside: "{who} entered {lock} again at {at} while {whom} definitely held it ({held})",
	FreedEarly:    "{who} was granted {lock} at {at} after only {count} of {whom}'s {of} acquires (since {since}) had been released",
	DeniedEarly:   "{who}, which had acquired {lock} {of} times since {since}, was told at {at} that it did not hold it, at its release number {count}",

	RemovalDenied: "{who} was told at {at} that it did not hold {lock}, though its own {command} had removed its own {key} on {where} at {since}",
	GrantDenied:   "{who} was told at {at} that it had not got {lock}, though its own {command} had set {key} on {where} at {since}, and none of its commands undid that",

	AllWaited:  "at {at} everything waited, and nothing could end the wait{text}",
	Panicked:   "at {at} the code under test panicked{text}",
	DidNotStop: "at {at} the code under test did not come to an end{text}",

	DoneAgain: "{who} repeated from {at} on the work that {whom} had done from {since} on ({count} writes): {who} was granted {lock} at {read}, after {whom} had left it at {until}",
}
