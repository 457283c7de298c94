package account

// Kinds of reasons for the result of a verdict, such as why it is unknown. The reasons of findings have
// other kinds.
const (
	NothingAcquired  What = "nothing-acquired"
	NothingCertain   What = "nothing-certain"
	NothingTouched   What = "nothing-touched"
	NothingExtended  What = "nothing-extended"
	NothingReentered What = "nothing-re-entered"
	NothingOnce      What = "nothing-once"
	NoCommands       What = "no-commands"
	NoLease          What = "no-lease"
	NoModel          What = "no-model"
	NotFenced        What = "not-fenced"
	NotReentrant     What = "not-reentrant"
	SeveralHolders   What = "several-holders"
	SeveralUsers     What = "several-users"

	OutOfTime          What = "out-of-time"
	NotJudged          What = "not-judged"
	NotJudgedToEnd     What = "not-judged-to-the-end"
	OracleCrashed      What = "oracle-crashed"
	HistoryImpossible  What = "history-impossible"
	CheckersDisagree   What = "checkers-disagree"
	NotDecided         What = "not-decided"
	TooWide            What = "too-wide"
	SweptAlone         What = "swept-alone"
	NotMinimal         What = "not-minimal"
	OverlapsCounted    What = "overlaps-counted"
	FirstListed        What = "first-listed"
	SomeListed         What = "some-listed"
	HarnessStalled     What = "harness-stalled"
	LongerThanTimeout  What = "longer-than-timeout"
	ShorterThanStall   What = "shorter-than-stall"
	UnprovokedElection What = "unprovoked-election"

	KeysUnrecorded What = "keys-unrecorded"
	KeysUnseen     What = "keys-unseen"
	RestsOnNoKey   What = "rests-on-no-key"
	EndUnseen      What = "end-unseen"
	OrderUnseen    What = "order-unseen"
	LapseUnsure    What = "lapse-unsure"

	// GrantTimeUnseen: the time of the first client's grant on the node is unknown, so its order with the
	// concurrent grant of the second client is unknown too.
	GrantTimeUnseen What = "grant-time-unseen"

	EndedByCode   What = "ended-by-code"
	NeverHealed   What = "never-healed"
	LetInLate     What = "let-in-late"
	StillBelieved What = "still-believed"
	Unexplained   What = "unexplained"
	KeyYoung      What = "key-young"
	NotLongEnough What = "not-long-enough"
)

// Reasons why a question stays open because a stored trial or an imported history lacks something.
const (
	HistoryCut         What = "history-cut"
	CommandsCut        What = "commands-cut"
	KeysCut            What = "keys-cut"
	HistoryUnhealed    What = "history-unhealed"
	HistoryUnexamined  What = "history-unexamined"
	CommandsGone       What = "commands-gone"
	KeysGone           What = "keys-gone"
	CommandsIncomplete What = "commands-incomplete"
	HashDiffers        What = "hash-differs"
	HistoryUntimed     What = "history-untimed"
	HistoryUnordered   What = "history-unordered"
	HoldsOnly          What = "holds-only"
	NoOverlapLogged    What = "no-overlap-logged"
	OverlapUnsure      What = "overlap-unsure"
	ModelUnfenced      What = "model-unfenced"
	ModelNotReentrant  What = "model-not-reentrant"
)

// proofless ends the sentences about violations that the harness or its machine may have caused.
const proofless = ", so this proves nothing"

var reasonWords = map[What]string{
	NothingAcquired:  "nothing was acquired",
	NothingCertain:   "nothing was acquired or released for certain",
	NothingTouched:   "nothing guarded was touched",
	NothingExtended:  "no lease was extended",
	NothingReentered: "no holder acquired the lock again",
	NothingOnce:      "the workload has no work that must be done only once",
	NoCommands:       "no commands on keys were recorded",
	NoLease:          "no lease time is claimed to count from",
	NoModel:          `there is no model "{model}"`,
	NotFenced:        "the recipe claims no fencing tokens",
	NotReentrant:     "the recipe does not claim to be reentrant",
	SeveralHolders:   "several owners may hold the lock at a time",
	SeveralUsers:     "{count} owners may use it at a time",

	OutOfTime:          "{said}",
	NotJudged:          "not judged: {said}",
	NotJudgedToEnd:     "not judged to the end: {said}",
	OracleCrashed:      "the oracle crashed: {said}",
	HistoryImpossible:  "the history is impossible: {said}",
	CheckersDisagree:   "{said}",
	NotDecided:         "porcupine came to no answer in time for {locks}",
	TooWide:            "too many states of {locks} are possible at one time, because of operations of unknown outcome",
	SweptAlone:         "the sweep alone judged the {count} operations on {locks}; porcupine, the second opinion, judges up to {of} in the time it has",
	NotMinimal:         "the conflict on {locks} could not be made minimal in time",
	OverlapsCounted:    "there are {count} overlaps",
	FirstListed:        "the first {count} of {of} findings are listed",
	SomeListed:         "{count} of {of} findings are listed",
	HarnessStalled:     "the harness itself was not scheduled for {span}, more than a tenth of the lease time" + proofless,
	LongerThanTimeout:  "the harness itself was not scheduled for {span}, longer than the {age} that the lock or its client waits for a reply" + proofless,
	ShorterThanStall:   "{count} of {of} findings are shorter than the {span} for which the harness itself was not scheduled",
	UnprovokedElection: "{node} was taken for dead though no fault had struck it" + proofless,

	KeysUnrecorded: "the nodes' keys are not on record",
	KeysUnseen:     "{node}'s keys could not be watched: {said}",
	RestsOnNoKey:   "{who}'s grant of {at} rests on no key that it set or found",
	EndUnseen:      "the end of {key} on {node}, which {who} had set at {at}, was not observed",
	LapseUnsure:    "whether {who}'s grant of {since} had lapsed when {by}'s {command} ran at {at} is unknown: no lease time is claimed",
	OrderUnseen:    "whether {who} still held {key} of {since} when {by}'s {command} ran at {at} is unknown",

	GrantTimeUnseen: "the time of {who}'s grant of {locks} with fence {value} was not observed, so {whom}'s grant may be earlier or later",

	EndedByCode:   "the code under test ended the trial at {at} ({said}): waiting clients had no time left to get in",
	NeverHealed:   "the run ended before its faults were healed",
	LetInLate:     "{who} got into {locks} only at {at}, after {until}, and no key explains the wait",
	StillBelieved: "{who} was never let into {locks}, which {whom} still believed it held",
	Unexplained:   "{all} never got into {locks} after {since}, though no key that was left behind explains it",
	KeyYoung:      "{all} did not get into {locks} before the run ended at {at}, though the key that is there is no older than the recipe claims",
	NotLongEnough: "{all} did not get into {locks} before the run ended at {at}; the recipe had until {until}",

	HistoryCut:         "the history ends at {span}: its last line is cut short",
	CommandsCut:        "the commands end at {span}: the last line is cut short",
	KeysCut:            "the key changes end at {span}: the last line is cut short",
	HistoryUnhealed:    "the history ends at {span}, before everything was healed",
	HistoryUnexamined:  "the history ends at {span}, without a post-mortem of the nodes",
	CommandsGone:       "there is no file of commands with the history",
	KeysGone:           "there is no file of key changes with the history",
	CommandsIncomplete: "the commands end at {span}: there is none for the lock that client {number} acquired at {age}",
	HashDiffers:        "{said}",
	HistoryUntimed:     "the history has no times, so waiting times are unknown",
	HistoryUnordered:   "the history does not say in which order the resource saw reads and writes",
	HoldsOnly:          "the log does not show what this oracle judges",
	NoOverlapLogged:    "no two of the {count} holds in the log overlap; that does not show that the lock is safe",
	OverlapUnsure:      "{said}",
	ModelUnfenced:      "the model has no fencing tokens",
	ModelNotReentrant:  "the model is not reentrant",
}
