package node_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// exception is a known difference between the two nodes, which docs/fidelity.md lists. The
// tests fail if a difference matches no exception, or if the example of an exception no longer
// shows a difference.
type exception struct {
	ID       string
	Commands []string // names, as in the coverage
	// Real and Sim match the two replies, each as a whole and in the form that show gives.
	Real, Sim *regexp.Regexp
	// When, if set, reports whether the exception applies to a call with these arguments.
	When func(args []string) bool
	// Diverges says that the two nodes have different data afterwards. The script of
	// commands then ends.
	Diverges    bool
	Differs     string // the difference, in a sentence
	Consequence string // the consequence for verdicts
	Example     []step
}

var exceptions = []exception{
	{
		ID: "lua-error-text", Commands: scripting,
		Real: whole(`-"ERR user_script:\d+: attempt to .*`), Sim: whole(`-"ERR user_script:\d+: .*`),
		Differs:     "The text of an error that the Lua interpreter itself raises (arithmetic on nil and the like). That there is one, its first word and its line are the same.",
		Consequence: "None: libraries look at an error's first word.",
		Example:     calls([]string{"EVAL", "return nil + 1", "0"}),
	},
	{
		ID: "lua-syntax-text", Commands: append([]string{"SCRIPT LOAD"}, scripting...),
		Real: whole(`-"ERR Error compiling script \(new function\): .*`), Sim: whole(`-"ERR Error compiling script \(new function\): .*`),
		Differs:     "What a syntax error is called after `Error compiling script (new function):`.",
		Consequence: "None: such a script never runs on either.",
		Example:     calls([]string{"EVAL", "return (", "0"}),
	},
	{
		ID: "lua-json-text", Commands: scripting,
		Real: whole(`-"ERR user_script:\d+: Expected .*`), Sim: whole(`-"ERR user_script:\d+: .*`),
		Differs:     "The text of cjson's errors.",
		Consequence: "None: libraries look at an error's first word.",
		Example:     calls([]string{"EVAL", "return cjson.decode('nonsense')", "0"}),
	},
	{
		ID: "lua-libraries", Commands: scripting,
		Real: whole(`:.*|\$.*|_.*`), Sim: whole(`-"ERR user_script:\d+: Script attempted to access nonexistent global variable '(bit|cmsgpack|struct|coroutine)'.*`), Diverges: true,
		Differs:     "The libraries bit, cmsgpack, struct and coroutine are not there.",
		Consequence: "A script that uses them fails, which is seen at once. No recipe does.",
		Example:     calls([]string{"EVAL", "return bit.band(7, 3)", "0"}),
	},
	{
		ID: "dbsize-expired", Commands: []string{"DBSIZE"},
		Real: whole(`:"\d+"`), Sim: whole(`:"\d+"`),
		Differs:     "Redis counts keys that have expired until it has swept them away; the node does not.",
		Consequence: "None: no lock counts the keys of a node.",
		Example:     calls([]string{"SET", "l1", "x", "PXAT", "@ms-10"}, []string{"DBSIZE"}),
	},
	{
		ID: "getrange-backwards", Commands: []string{"GETRANGE"},
		Real: whole(`\$""`), Sim: whole(`\$"."`),
		Differs:     "A range that ends before it begins, both counted from the end, yields the first byte instead of nothing.",
		Consequence: "None: no lock reads a part of a value.",
		Example:     calls([]string{"SET", "k1", "5"}, []string{"GETRANGE", "k1", "-1", "-100"}),
	},
	{
		ID: "float-digits", Commands: []string{"INCRBYFLOAT", "HINCRBYFLOAT"},
		Real: whole(`\$"-?\d+\.\d{15,}"`), Sim: whole(`\$"-?\d+(\.\d+)?"`), Diverges: true,
		Differs:     "Redis counts with 80 bits and shows the error of the last; the node with 64.",
		Consequence: "None: no lock counts in fractions.",
		Example:     calls([]string{"SET", "k1", "3000"}, []string{"INCRBYFLOAT", "k1", "-0.1"}),
	},
	{
		ID: "zincrby-nan", Commands: []string{"ZINCRBY"},
		Real: whole(`-"ERR resulting score is not a number \(NaN\)"`), Sim: whole(`.*nan.*`), Diverges: true,
		Differs:     "The sum of both infinities is a score instead of an error.",
		Consequence: "None: no lock has infinite scores.",
		Example:     calls([]string{"ZADD", "z1", "-inf", "a"}, []string{"ZINCRBY", "z1", "inf", "a"}),
	},
	{
		ID: "zadd-twice", Commands: []string{"ZADD"}, When: repeatsMember,
		Real: whole(`:.*`), Sim: whole(`:.*`), Diverges: true,
		Differs:     "How often a member counts that one command names more than once.",
		Consequence: "None: no lock does that.",
		Example:     calls([]string{"ZADD", "z1", "CH", "1", "a", "1.5", "a"}),
	},
}

// repeatsMember reports whether the last two members of a ZADD are equal.
func repeatsMember(args []string) bool {
	return len(args) > 5 && args[len(args)-1] == args[len(args)-3]
}

var scripting = []string{"EVAL", "EVALSHA"}

// calls returns commands as steps of session 0.
func calls(commands ...[]string) []step {
	var steps []step
	for _, args := range commands {
		steps = append(steps, step{args: args})
	}
	return steps
}

// listed returns the exception that matches a difference, if there is one.
func listed(args []string, real, sim value) (exception, bool) {
	for _, e := range exceptions {
		if slices.Contains(e.Commands, commandName(args)) && (e.When == nil || e.When(args)) && e.Real.MatchString(show(real)) && e.Sim.MatchString(show(sim)) {
			return e, true
		}
	}
	return exception{}, false
}

// whole compiles a pattern that must match a whole reply.
func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?s:` + pattern + `)$`) }

// exceptionsTable returns the table of exceptions, as docs/fidelity.md must contain it.
func exceptionsTable() string {
	var b strings.Builder
	b.WriteString("| id | command | what differs | consequence for verdicts |\n|---|---|---|---|\n")
	for _, e := range exceptions {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.ID, strings.Join(e.Commands, ", "), e.Differs, e.Consequence)
	}
	return b.String()
}
