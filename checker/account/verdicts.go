package account

// Kinds of reasons for the result of a verdict, such as why it is unknown. The reasons of findings have
// other kinds.
var (
	NothingAcquired  = fact("nothing-acquired", "nothing was acquired")
	NothingCertain   = fact("nothing-certain", "nothing was acquired or released for certain")
	NothingTouched   = fact("nothing-touched", "nothing guarded was touched")
	NothingExtended  = fact("nothing-extended", "no lease was extended")
	NothingReentered = fact("nothing-re-entered", "no holder acquired the lock again")
	NothingOnce      = fact("nothing-once", "the workload has no work that must be done only once")
	NoCommands       = fact("no-commands", "no commands on keys were recorded")
	NoLease          = fact("no-lease", "no lease time is claimed to count from")
	NoModel          = fact("no-model", `there is no model "{model}"`)
	NotFenced        = fact("not-fenced", "the recipe claims no fencing tokens")
	NotReentrant     = fact("not-reentrant", "the recipe does not claim to be reentrant")
	SeveralHolders   = fact("several-holders", "several owners may hold the lock at a time")
	SeveralUsers     = fact("several-users", "{count} owners may use it at a time")

	NotJudged          = fact("not-judged", "not judged: {said}")
	NotJudgedToEnd     = fact("not-judged-to-the-end", "not judged to the end: {said}")
	OracleCrashed      = fact("oracle-crashed", "the oracle crashed: {said}")
	HistoryImpossible  = fact("history-impossible", "the history is impossible: {said}")
	CheckersDisagree   = fact("checkers-disagree", "{said}")
	NotDecided         = fact("not-decided", "porcupine came to no answer in time for {locks}")
	TooWide            = fact("too-wide", "too many states of {locks} are possible at one time, because of operations of unknown outcome")
	SweptAlone         = fact("swept-alone", "the sweep alone judged the {count} operations on {locks}; porcupine, the second opinion, judges up to {of} in the time it has")
	NotMinimal         = fact("not-minimal", "the conflict on {locks} could not be made minimal in time")
	OverlapsCounted    = fact("overlaps-counted", "there are {count} overlaps")
	FirstListed        = fact("first-listed", "the first {count} of {of} findings are listed")
	SomeListed         = fact("some-listed", "{count} of {of} findings are listed")
	HarnessStalled     = fact("harness-stalled", "the harness itself was not scheduled for {span}, more than a tenth of the lease time"+proofless)
	LongerThanTimeout  = fact("longer-than-timeout", "the harness itself was not scheduled for {span}, longer than the {age} that the lock or its client waits for a reply"+proofless)
	ShorterThanStall   = fact("shorter-than-stall", "{count} of {of} findings are shorter than the {span} for which the harness itself was not scheduled")
	UnprovokedElection = fact("unprovoked-election", "{node} was taken for dead though no fault had struck it"+proofless)

	KeysUnrecorded = fact("keys-unrecorded", "the nodes' keys are not on record")
	KeysUnseen     = fact("keys-unseen", "{node}'s keys could not be watched: {said}")
	RestsOnNoKey   = fact("rests-on-no-key", "{who}'s grant of {at} rests on no key that it set or found")
	EndUnseen      = fact("end-unseen", "the end of {key} on {node}, which {who} had set at {at}, was not observed")
	OrderUnseen    = fact("order-unseen", "whether {who} still held {key} of {since} when {by}'s {command} ran at {at} is unknown")
	LapseUnsure    = fact("lapse-unsure", "whether {who}'s grant of {since} had lapsed when {by}'s {command} ran at {at} is unknown: no lease time is claimed")

	// GrantTimeUnseen: the time of the first client's grant on the node is unknown, so its order with the
	// concurrent grant of the second client is unknown too.
	GrantTimeUnseen = fact("grant-time-unseen", "the time of {who}'s grant of {locks} with fence {value} was not observed, so {whom}'s grant may be earlier or later")

	EndedByCode   = fact("ended-by-code", "the code under test ended the trial at {at} ({said}): waiting clients had no time left to get in")
	NeverHealed   = fact("never-healed", "the run ended before its faults were healed")
	LetInLate     = fact("let-in-late", "{who} got into {locks} only at {at}, after {until}, and no key explains the wait")
	StillBelieved = fact("still-believed", "{who} was never let into {locks}, which {whom} still believed it held")
	Unexplained   = fact("unexplained", "{all} never got into {locks} after {since}, though no key that was left behind explains it{errs}")
	KeyYoung      = fact("key-young", "{all} did not get into {locks} before the run ended at {at}, though the key that is there is no older than the recipe claims")
	NotLongEnough = fact("not-long-enough", "{all} did not get into {locks} before the run ended at {at}; the recipe had until {until}")
)

// Reasons why a question stays open because a stored trial or an imported history lacks something.
var (
	HistoryCut         = fact("history-cut", "the history ends at {span}: its last line is cut short")
	CommandsCut        = fact("commands-cut", "the commands end at {span}: the last line is cut short")
	KeysCut            = fact("keys-cut", "the key changes end at {span}: the last line is cut short")
	HistoryUnhealed    = fact("history-unhealed", "the history ends at {span}, before everything was healed")
	HistoryUnexamined  = fact("history-unexamined", "the history ends at {span}, without a post-mortem of the nodes")
	CommandsGone       = fact("commands-gone", "there is no file of commands with the history")
	KeysGone           = fact("keys-gone", "there is no file of key changes with the history")
	CommandsIncomplete = fact("commands-incomplete", "the commands end at {span}: there is none for the lock that client {number} acquired at {age}")
	HashDiffers        = fact("hash-differs", "{said}")
	HistoryUntimed     = fact("history-untimed", "the history has no times, so waiting times are unknown")
	HistoryUnordered   = fact("history-unordered", "the history does not say in which order the resource saw reads and writes")
	HoldsOnly          = fact("holds-only", "the log does not show what this oracle judges")
	NoOverlapLogged    = fact("no-overlap-logged", "no two of the {count} holds in the log overlap; that does not show that the lock is safe")
	OverlapUnsure      = fact("overlap-unsure", "{said}")
	ModelUnfenced      = fact("model-unfenced", "the model has no fencing tokens")
	ModelNotReentrant  = fact("model-not-reentrant", "the model is not reentrant")
)

// proofless ends the sentences about violations that the harness or its machine may have caused.
const proofless = ", so this proves nothing"
