package keyspace

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockstorm/lockstorm/history"
)

// This file finds values that another client wrote without taking the place from its owner. For example,
// the value may be a document with the owner's token, in which a refused client counts its attempts.

// stillNames reports whether a place stays its owners', although the command of an acquire of another
// client wrote a value there: the old value and the new one both have the owners' tokens, which nobody
// else uses, and the acquire did not succeed. If its outcome is unknown, the new value must not have a
// token of the acquire itself, unless a value with two tokens means something else in this place: no
// acquire that succeeded left another owner's token beside its own.
func (r *reader) stillNames(p *placeState, at KeyPlace, value string, by actor) bool {
	if !r.acquires(by.op) || len(p.current) == 0 {
		return false
	}
	for _, g := range p.current {
		tokens := r.tokensIn(g.Value, g.Op, g.Client)
		unnamed := func(token string) bool { return !names(value, token) }
		named := len(tokens) > 0 && !slices.ContainsFunc(tokens, unnamed) || len(tokens) == 0 && r.numberStays(g, at, value)
		if g.Client == by.client || g.counted || !named {
			return false
		}
	}
	asked := r.pair(by.op)
	switch asked.Done() {
	case history.Fail:
		return true
	case history.OK:
		r.joined[at] = true
		return false
	}
	return !r.joined[at] || len(r.tokensIn(value, by.op, by.client)) == 0
}

// tokensIn returns the words of the value by which a client's operation is known: the token of the lease
// that it asked for or, if the lock tells no token, the words that are the client's own.
func (r *reader) tokensIn(value string, op, client int) (tokens []string) {
	if r.acquires(op) && r.pair(op).Lease().Token != "" {
		token := r.tokenOf(op)
		if _, err := strconv.ParseFloat(token, 64); err != nil && token != "" && names(value, token) {
			return []string{token}
		}
		return nil
	}
	for _, w := range strings.FieldsFunc(value, outsideWord) {
		_, err := strconv.ParseFloat(w, 64)
		if of, sent := r.wordSenders()[w]; err != nil && sent && of == client {
			tokens = append(tokens, w)
		}
	}
	return tokens
}

// numberStays reports whether the value has the numbers by which the grant's acquire is known, where the
// grant's value has them. A number may be a count as well, so only those slots of the place's values matter
// in which each acquire that succeeded put a number of its own.
func (r *reader) numberStays(g *Grant, at KeyPlace, value string) bool {
	was, is := slots(g.Value), slots(value)
	stays := false
	for slot := range r.numberSlots(at) {
		if !r.isNumberOf(was[slot], g.Op) || is[slot] != was[slot] {
			return false
		}
		stays = true
	}
	return stays
}

// numberSlots returns the slots of the place's values in which each acquire that succeeded put a number of
// its own.
func (r *reader) numberSlots(at KeyPlace) map[string]bool {
	common, known := r.numbers[at]
	if known {
		return common
	}
	for pos, c := range r.Commands {
		if p := r.pair(c.Op); !r.acquires(c.Op) || p.Done() != history.OK {
			continue
		}
		for _, i := range r.Effects[pos] {
			if string(r.Evidence.Keys[i].Key) != at.Key {
				continue
			}
			for _, s := range r.Differences[i].put() {
				if s.Name != at.Place {
					continue
				}
				own := map[string]bool{}
				for slot, word := range slots(s.Value) {
					if (common == nil || common[slot]) && r.isNumberOf(word, c.Op) {
						own[slot] = true
					}
				}
				common = own
			}
		}
	}
	if r.numbers == nil {
		r.numbers = map[KeyPlace]map[string]bool{}
	}
	r.numbers[at] = common
	return common
}

// isNumberOf reports whether the word is a number by which the acquire is known: the token of its lease or, if
// the lock tells no token, a number that only its client sent.
func (r *reader) isNumberOf(word string, op int) bool {
	if _, err := strconv.ParseFloat(word, 64); err != nil || !r.acquires(op) {
		return false
	}
	if r.pair(op).Lease().Token != "" {
		return word == r.tokenOf(op)
	}
	of, sent := r.wordSenders()[word]
	return sent && of == r.pair(op).Invoke.Client
}

// slots returns the words of a value. Its keys say where they stand: after which word or, if that is a
// number or there is none, at which position.
func slots(value string) map[string]string {
	words := strings.FieldsFunc(value, outsideWord)
	all := make(map[string]string, len(words))
	for i, w := range words {
		slot := strconv.Itoa(i)
		if i > 0 {
			if _, err := strconv.ParseFloat(words[i-1], 64); err != nil {
				slot = words[i-1]
			}
		}
		all[slot] = w
	}
	return all
}

// wordSenders maps each word that clients sent to the client that sent it first; to Stranger, if another
// client sent it too, without having read it. The sources of scripts are left out.
func (r *reader) wordSenders() map[string]int {
	if r.words != nil {
		return r.words
	}
	type read struct {
		client int
		word   string
	}
	r.words = map[string]int{}
	known := map[read]bool{}
	for _, c := range r.Commands {
		for i, arg := range c.Args {
			if _, isScript := c.Script(); isScript && i == 1 {
				continue
			}
			for w := range strings.FieldsFuncSeq(string(arg), outsideWord) {
				switch of, sent := r.words[w]; {
				case !sent:
					r.words[w] = c.Client
				case of != c.Client && !known[read{c.Client, w}]:
					r.words[w] = Stranger
				}
			}
		}
		for w := range strings.FieldsFuncSeq(string(c.Reply), outsideWord) {
			known[read{c.Client, w}] = true
		}
	}
	return r.words
}

// tokenOf returns the token of the lease that an acquire asked for. It returns "" if the operation is no
// acquire, its token is not known, or acquires of another client have the same token.
func (r *reader) tokenOf(op int) string {
	if r.tokens == nil {
		r.tokens = map[string]int{}
		for _, p := range r.pairing.All {
			if token := p.Lease().Token; p.Invoke.F == history.FAcquire && token != "" {
				if client, used := r.tokens[token]; used && client != p.Invoke.Client {
					r.tokens[token] = Stranger
					continue
				}
				r.tokens[token] = p.Invoke.Client
			}
		}
	}
	if !r.acquires(op) {
		return ""
	}
	token := r.pair(op).Lease().Token
	if r.tokens[token] == Stranger {
		return ""
	}
	return token
}

// names reports whether the token stands in the value as a word of its own.
func names(value, token string) bool {
	for rest := value; ; {
		i := strings.Index(rest, token)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:i])
		after, _ := utf8.DecodeRuneInString(rest[i+len(token):])
		if !partOfWord(before) && !partOfWord(after) {
			return true
		}
		rest = rest[i+len(token):]
	}
}

func outsideWord(c rune) bool { return !partOfWord(c) }

func partOfWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_'
}
