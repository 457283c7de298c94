package account

// What is the kind of a Fact. The table words has one sentence for each kind.
type What string

// The kinds of facts that findings report.
var (
	Overlap       = fact("overlap", "{who} {became} {lock}{as} at {at} while {whom} still believed it held it{theirs} ({held})")
	Crowd         = fact("crowd", "{who} {became} {lock} at {at} while {count} others still believed they held it, one too many: {crowd}")
	NoOrder       = fact("no-order", "no order of the operations on {lock} fits the model {model}, whichever others took effect: {operations}")
	NoOwnersOrder = fact("no-owner-order", "no order of the operations on {lock} fits the model {model}; if only owners may release, these cannot all have happened: {operations}")
	NoOrderFound  = fact("no-order-found", "no order of the operations on {lock} fits the model {model}; the operations with which this one conflicts were not found in time: {operations}")

	ExtendedLate = fact("extended-late", "{whom} was told at {at} that its lease of {lock} was extended, although {who} was granted it at {since}, after {whom} {had} it at {until}")

	LostUpdate  = fact("lost-update", "{who}'s write of {lock} at {at} was lost: {whom} had read at {since} and overwrote it at {until}")
	Interleaved = fact("interleaved", "{who} {past} {lock} at {at}, between {whom}'s {before} at {since} and its {after} at {until} in one critical section")
	TornRead    = fact("torn-read", "{who} read {values} of {lock} at {at}, which must be equal, while {whom} was still writing them (since {since})")

	ForeignRemoval     = fact("foreign-removal", "{who}'s {command} at {at}{late} removed {key} on {node}, which carried {whom}'s grant of {since}")
	ForeignReplacement = fact("foreign-replacement", "{who}'s {command} at {at}{late} overwrote {key} on {node}, which carried {whom}'s grant of {since}, with its own value")
	ForeignProlonging  = fact("foreign-prolonging", "{who}'s {command} at {at}{late} set the life of {key} on {node}, which carried {whom}'s grant of {since}")

	FenceNotGreater  = fact("fence-not-greater", "{who} was granted {lock} at {at} with fence {value}, though {whom} had been granted it at {since} with fence {other}")
	FenceMissing     = fact("fence-missing", "{who} was granted {lock} at {at} with fence {value}, which is no fence")
	OldFenceAccepted = fact("old-fence-accepted", "{lock} accepted {who}'s {op} under fence {value} at {at}, though it had seen fence {other}, with {whom}'s {before} at {since}")

	OrphanKeptOut   = fact("orphan-kept-out", "{key} kept {others} out from {at} on until {ended} at {until}, though no client believed that it held the lock by that key")
	Blocked         = fact("blocked", "{all} never got into {lock} again")
	PassedOver      = fact("passed-over", "{all} never got into {lock} from {at} on, though no key that was left behind stood in the way: others were granted it {count} times meanwhile, and it was free for {age} of {span}")
	RefusedForSlots = fact("refused-for-slots", "{all} never got into {lock}: {node} refused {by}'s {command} of {sent}, as every other attempt: its keys are in different slots (CROSSSLOT)")
	LeftFree        = fact("left-free", "{all} never got into {lock} from {at} on, though it was free for all of {span}, without a holder and without a key on any node")

	EnteredBeside = fact("entered-beside", "{who} entered {lock} again at {at} while {whom} definitely held it ({held})")
	FreedEarly    = fact("freed-early", "{who} was granted {lock} at {at} after only {count} of {whom}'s {of} acquires (since {since}) had been released")
	DeniedEarly   = fact("denied-early", "{who}, which had acquired {lock} {of} times since {since}, was told at {at} that it did not hold it, at its release number {count}")

	// RemovalDenied: a release said that its client did not hold the lock, although the release
	// removed the client's own grant. GrantDenied: an acquire said that its client did not get the
	// lock, although the acquire had taken the lock. GrantClaimed: an acquire said that its client got
	// the lock, although Redis had refused it.
	RemovalDenied = fact("removal-denied", "{who} was told at {at} that it did not hold {lock}, though its own {command} had removed its own {key} on {where} at {since}")
	GrantDenied   = fact("grant-denied", "{who} was told at {at} that it had not got {lock}, though its own {command} had set {key} on {where} at {since}, and none of its commands undid that")
	GrantClaimed  = fact("grant-claimed", "{who} was told at {at} that it had {lock}, though its {command} of {since} took nothing on {node}")

	AllWaited  = fact("all-waited", "at {at} everything waited, and nothing could end the wait{text}")
	Panicked   = fact("panicked", "at {at} the code under test panicked{text}")
	DidNotStop = fact("did-not-stop", "at {at} the code under test did not come to an end{text}")

	DoneAgain = fact("done-again", "{who} repeated from {at} on the work that {whom} had done from {since} on ({count} writes): {who} was granted {lock} at {read}, after {whom} had left it at {until}")
)
