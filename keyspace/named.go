package keyspace

import (
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
// else uses, and the acquire did not succeed. If its outcome is unknown, the new value must not have the
// token of the acquire itself, unless a value with two tokens means something else in this place: no
// acquire that succeeded left another owner's token beside its own.
func (r *reader) stillNames(p *placeState, at KeyPlace, value string, by actor) bool {
	if !r.acquires(by.op) || len(p.current) == 0 {
		return false
	}
	for _, g := range p.current {
		token := r.tokenOf(g.Op)
		if g.Client == by.client || g.counted || token == "" || !names(g.Value, token) || !names(value, token) {
			return false
		}
	}
	asked := r.pairs[by.op]
	switch asked.Done() {
	case history.Fail:
		return true
	case history.OK:
		r.joined[at] = true
		return false
	}
	own := asked.Lease().Token
	return !r.joined[at] || own == "" || !names(value, own)
}

// tokenOf returns the token of the lease that an acquire asked for. It returns "" if the operation is no
// acquire, its token is not known or is a number, or acquires of another client have the same token.
func (r *reader) tokenOf(op int) string {
	if r.tokens == nil {
		r.tokens = map[string]int{}
		for _, p := range r.pairs {
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
	token := r.pairs[op].Lease().Token
	if _, err := strconv.ParseFloat(token, 64); err == nil || r.tokens[token] == Stranger {
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

func partOfWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_'
}
