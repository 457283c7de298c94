package reports

// causeText is what a cause means to a reader.
type causeText struct {
	Cause string
	Title string // what happened, in a few words
	// Assumption is what the recipe took for granted and what broke: "the
	// assumption that …".
	Assumption string
	// Prevention completes "What would have prevented it: …".
	Prevention string
}

const fencing = "a fencing token that grows with every grant and that the guarded resource checks"

// causeTexts explains every cause that the checker can name, in the order in
// which reports list them.
var causeTexts = []causeText{
	{
		Cause:      "race",
		Title:      "two grants by the protocol itself",
		Assumption: "nothing happens between the recipe's own commands",
		Prevention: "taking the lock in one atomic step, `SET key token NX PX ttl` or one Lua script that checks everything it relies on and then takes",
	},
	{
		Cause:      "foreign-delete",
		Title:      "somebody else's key was deleted",
		Assumption: "the key that a release deletes is still the caller's own",
		Prevention: "a value of its own for every acquire, and a release that compares it and deletes the key in one Lua script",
	},
	{
		Cause:      "foreign-renewal",
		Title:      "somebody else's lease was prolonged",
		Assumption: "the key that a renewal prolongs is still the renewer's own",
		Prevention: "a renewal that compares the owner and prolongs the key in one Lua script, by a watchdog that ends with the hold",
	},
	{
		Cause:      "renewal-failed",
		Title:      "the renewal failed and nobody noticed",
		Assumption: "renewals keep the lease alive for as long as its holder works",
		Prevention: "renewing well before the lease ends, trying again after an error, and telling the holder as soon as its lease can no longer be trusted; against all such cases, " + fencing,
	},
	{
		Cause:      "lease-outlived",
		Title:      "the lease ended under its holder",
		Assumption: "a holder is done before its lease ends",
		Prevention: fencing + "; a longer or renewed lease makes it rarer, not impossible",
	},
	{
		Cause:      "server-lost-key",
		Title:      "Redis lost a key that it had acknowledged",
		Assumption: "Redis keeps a key that it has acknowledged",
		Prevention: fencing + "; waiting for replicas (WAIT), appendfsync always, keeping a restarted node away for a lease time, or a maxmemory-policy of noeviction make it rarer",
	},
	{
		Cause:      "server-clock",
		Title:      "a node's clock jumped",
		Assumption: "the nodes' clocks run at the speed of time",
		Prevention: "nodes whose clocks are slewed and never stepped; against all such cases, " + fencing,
	},
	{
		Cause:      "client-clock",
		Title:      "clients' clocks disagreed",
		Assumption: "the clients' wall clocks agree, and a time that was read is still the time",
		Prevention: "letting Redis count the lease (PX, PEXPIRE, or TIME inside the script) instead of comparing times that clients wrote",
	},
	{
		Cause:      "no-expiry",
		Title:      "a key without an expiry was left behind",
		Assumption: "whoever takes the lock lives to release it",
		Prevention: "setting the key and its expiry in one atomic step, `SET key token NX PX ttl`",
	},
	{
		Cause:      "late-command",
		Title:      "a command of an earlier attempt arrived late",
		Assumption: "a command that was given up does not arrive any more",
		Prevention: "a value of its own for every attempt, and commands that compare it before they change anything",
	},
	{
		Cause:      "fence-regressed",
		Title:      "an older fencing token came after a newer one",
		Assumption: "fencing tokens only grow",
		Prevention: "keeping the fence counter where a restart or failover cannot set it back",
	},
	{
		Cause:      "orphaned-key",
		Title:      "an orphaned key kept everybody out until it expired",
		Assumption: "a key in Redis has a living owner",
		Prevention: "nothing that a lease can do: its length is the price of a crash or of a lost reply; a shorter, renewed lease makes the wait shorter",
	},
	{
		Cause:      "starved",
		Title:      "the lock went round among others, and one who waited never got it",
		Assumption: "who asks often enough gets in at some time",
		Prevention: "a queue in Redis whose dead are removed, so that clients get the lock in the order in which they asked; a random pause between two attempts makes it rarer",
	},
	{
		Cause:      "cross-slot",
		Title:      "a Redis Cluster refused a command whose keys are in different slots",
		Assumption: "all keys are on one node",
		Prevention: "one key for all that the lock has to remember, or a hash tag that puts its keys into one slot",
	},
	{
		Cause:      "deadlock",
		Title:      "the code under test waits for ever",
		Assumption: "every reply comes, and every wait has somebody who ends it",
		Prevention: "a timeout or a context with a deadline around everything that waits",
	},
	{
		Cause:      "panic",
		Title:      "the code under test panicked",
		Assumption: "errors come back as errors",
		Prevention: "handling the error or the reply that it did not expect, as the stack shows it",
	},
	{
		Cause:      "runaway",
		Title:      "the code under test does not come to an end",
		Assumption: "what is tried again succeeds at some time",
		Prevention: "a limit to attempts, a pause between them, and a context that ends them",
	},
	{
		Cause:      "unclassified",
		Title:      "a violation that the evidence does not explain",
		Assumption: "",
		Prevention: "",
	},
}

// Cause is what the name of a cause means.
type Cause struct{ Name, Meaning, Assumption string }

// Causes explains every cause that a verdict can name.
func Causes() []Cause {
	var all []Cause
	for _, t := range causeTexts {
		all = append(all, Cause{t.Cause, t.Title, t.Assumption})
	}
	return all
}

// explain returns the text of a cause; one that has none is shown by its name.
func explain(cause string) causeText {
	for _, t := range causeTexts {
		if t.Cause == cause {
			return t
		}
	}
	return causeText{Cause: cause, Title: cause}
}
