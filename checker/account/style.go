package account

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Style makes sentences from accounts, and formats times.
type Style struct {
	Instant func(time.Duration) string // formats a time since the trial's start
	Length  func(time.Duration) string
}

// Plain is the style of stored sentences.
var Plain = Style{seconds, time.Duration.String}

// lockAccount is an account with the name of its lock.
type lockAccount struct {
	Account
	lock string
}

// Summary returns what happened to the lock and why, in one sentence.
func (s Style) Summary(a Account, lock string) string {
	said := s.What(a, lock)
	for i, r := range a.Reasons {
		joint := "; "
		if i == 0 || abandonments[r.What] {
			joint = ": "
		}
		said += joint + s.say(lockAccount{Account{Fact: r}, lock})
	}
	if a.What == FenceNotGreater && a.Broken != nil {
		said += ": " + s.Broken(a.Broken)
	}
	return said
}

// What returns what happened to the lock, without the reasons.
func (s Style) What(a Account, lock string) string { return s.say(lockAccount{a, lock}) }

// Broken returns the assumption that did not hold, as one clause, such as "that a client stops when its
// lease ends: c1 was frozen from 0.010s to 0.060s (client-pause)".
func (s Style) Broken(a *Assumption) string {
	return "that " + premiseWords[a.Premise] + ": " + s.Say(a.But)
}

// Say returns the sentence of a single fact, which belongs to no account.
func (s Style) Say(f Fact) string { return s.say(lockAccount{Account: Account{Fact: f}}) }

// words has the sentence of each kind of fact. The table blanks fills in the names in braces.
var words = map[What]string{}

// fact adds a kind of fact with its sentence to words.
func fact(kind What, sentence string) What {
	words[kind] = sentence
	return kind
}

// premiseWords has each premise as a clause.
var premiseWords = map[Premise]string{}

// premise adds a premise with its clause to premiseWords.
func premise(name Premise, clause string) Premise {
	premiseWords[name] = clause
	return name
}

func (s Style) say(a lockAccount) string {
	var said strings.Builder
	for rest := words[a.What]; rest != ""; {
		before, blank, found := strings.Cut(rest, "{")
		said.WriteString(before)
		if !found {
			break
		}
		blank, rest, _ = strings.Cut(blank, "}")
		said.WriteString(blanks[blank](s, a))
	}
	return said.String()
}

// blanks maps the names in braces to the functions that fill them in.
var blanks = map[string]func(Style, lockAccount) string{
	"who":    func(_ Style, a lockAccount) string { return a.client(0) },
	"whom":   func(_ Style, a lockAccount) string { return a.client(1) },
	"all":    func(_ Style, a lockAccount) string { return names(a.Clients) },
	"others": func(_ Style, a lockAccount) string { return names(a.Clients[min(1, len(a.Clients)):]) },
	"node":   func(_ Style, a lockAccount) string { return a.node(0) },
	"node1":  func(_ Style, a lockAccount) string { return a.node(1) },
	"node2":  func(_ Style, a lockAccount) string { return a.node(2) },
	"node3":  func(_ Style, a lockAccount) string { return a.node(3) },
	"where":  func(_ Style, a lockAccount) string { return a.where() },
	"lock":   func(_ Style, a lockAccount) string { return a.lock },
	"key":    func(_ Style, a lockAccount) string { return a.Key },
	"fault":  func(_ Style, a lockAccount) string { return a.Fault },
	"model":  func(_ Style, a lockAccount) string { return a.Model },
	"struck": func(_ Style, a lockAccount) string { return a.struck() },
	"text":   func(_ Style, a lockAccount) string { return after(": ", a.Text) },
	"errs":   func(_ Style, a lockAccount) string { return after("; the last attempt ended in the error: ", a.Text) },
	"said":   func(_ Style, a lockAccount) string { return cmp.Or(a.Text, "no reason was recorded") },
	"locks":  func(_ Style, a lockAccount) string { return strings.Join(a.Locks, ", ") },
	"number": func(_ Style, a lockAccount) string { return a.number(0) },
	"lost":   func(_ Style, a lockAccount) string { return cmp.Or(a.Lost.String(), "its data") },
	"ended":  func(_ Style, a lockAccount) string { return endingWords[a.Ended] },

	"at":    func(s Style, a lockAccount) string { return s.Instant(a.At) },
	"since": func(s Style, a lockAccount) string { return s.Instant(a.Since) },
	"until": func(s Style, a lockAccount) string { return s.Instant(a.Until) },
	"read":  func(s Style, a lockAccount) string { return s.Instant(a.Read) },
	"span":  func(s Style, a lockAccount) string { return s.Length(a.Span) },
	"age":   func(s Style, a lockAccount) string { return s.Length(a.Age) },
	"apart": func(s Style, a lockAccount) string { return s.signed(a.Offset, "%s ahead of", "%s behind") },
	"jumped": func(s Style, a lockAccount) string {
		return s.signed(a.Offset, "jumped ahead by %s", "went back by %s")
	},
	"off": func(s Style, a lockAccount) string { return s.signed(a.Offset, "%s ahead", "%s behind") },

	"command": func(_ Style, a lockAccount) string { return a.call().words() },
	"by":      func(_ Style, a lockAccount) string { return history.ClientName(a.call().Client) },
	"reply":   func(_ Style, a lockAccount) string { return fmt.Sprintf("%q", a.call().Reply) },
	"sent":    func(s Style, a lockAccount) string { return s.Instant(a.call().Sent) },
	"arrived": func(s Style, a lockAccount) string { return s.Instant(a.call().Arrived) },
	"ran":     func(s Style, a lockAccount) string { return s.Instant(a.call().Ran) },
	"replied": func(s Style, a lockAccount) string { return s.Instant(a.call().Replied) },
	"late": func(s Style, a lockAccount) string {
		if !a.Late {
			return ""
		}
		return ", which belonged to an operation of " + s.Instant(a.Read) + " and arrived late,"
	},

	"count": func(_ Style, a lockAccount) string { return fmt.Sprint(a.Count) },
	"of":    func(_ Style, a lockAccount) string { return fmt.Sprint(a.Of) },

	"value":  func(_ Style, a lockAccount) string { return a.value(0) },
	"other":  func(_ Style, a lockAccount) string { return a.value(1) },
	"values": func(_ Style, a lockAccount) string { return a.value(0) + " and " + a.value(1) },

	"became": func(_ Style, a lockAccount) string { return became(a.hold(0)) },
	"as":     func(_ Style, a lockAccount) string { return inMode(a.hold(0).Mode) },
	"theirs": func(_ Style, a lockAccount) string { return inMode(a.hold(1).Mode) },
	"held":   func(s Style, a lockAccount) string { return s.held(a.hold(1)) },
	"crowd":  func(s Style, a lockAccount) string { return s.crowd(a.Holds[min(1, len(a.Holds)):]) },

	"had":        func(_ Style, a lockAccount) string { return had(a.operation(0).F) },
	"op":         func(_ Style, a lockAccount) string { return a.operation(0).F },
	"past":       func(_ Style, a lockAccount) string { return past(a.operation(0).F) },
	"before":     func(_ Style, a lockAccount) string { return a.operation(1).F },
	"after":      func(_ Style, a lockAccount) string { return a.operation(2).F },
	"operations": func(s Style, a lockAccount) string { return s.operations(a.Operations) },
}

// endingWords states how a key stopped keeping others out.
var endingWords = map[Ending]string{
	WasLeft: "it was still there when the run ended", WasOverdue: "its time was over",
	WasExpired: "it expired", WasTakenOver: "it was taken over",
}
