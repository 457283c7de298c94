package look

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// reader reads keys of one type. It notices a key that is larger than a look's limit.
type reader struct {
	// The command is name, the key, and args.
	name string
	args []string
	// fill stores an answer in k. It returns false if the answer exceeds a look's limit.
	fill func(k *history.KeyContent, a answer) bool
}

func (r reader) command(key string) []string {
	return append([]string{r.name, key}, r.args...)
}

// readers are keyed by type, as the command TYPE returns it.
var readers = map[string]reader{
	"string": {"GETRANGE", []string{"0", strconv.Itoa(MaxRead)}, text},
	"hash":   {"HSCAN", []string{"0", "COUNT", strconv.Itoa(MaxElements)}, scannedFields},
	"set":    {"SSCAN", []string{"0", "COUNT", strconv.Itoa(MaxElements)}, scannedMembers},
	"zset":   {"ZRANGE", []string{"0", strconv.Itoa(MaxElements), "WITHSCORES"}, scores},
	"list":   {"LRANGE", []string{"0", strconv.Itoa(MaxElements)}, elements},
	"stream": {"XRANGE", []string{"-", "+", "COUNT", strconv.Itoa(MaxElements + 1)}, entries},
}

func text(k *history.KeyContent, a answer) bool {
	k.Value = history.Bytes(a.text)
	return len(a.text) <= MaxRead
}

// scan returns the elements in the answer to HSCAN or SSCAN. Each element consists of piece answers:
// 2 for a field and its value, 1 for a member. scan removes duplicates, which Redis may return from a
// growing table. all is false if the key has too many elements for one look.
func scan(a answer, piece int) (found [][]answer, all bool) {
	if len(a.list) != 2 || a.list[0].text != "0" {
		return nil, false
	}
	seen := map[string]bool{}
	for list := a.list[1].list; len(list) >= piece; list = list[piece:] {
		if !seen[list[0].text] {
			seen[list[0].text] = true
			found = append(found, list[:piece])
		}
	}
	return found, len(found) <= MaxElements
}

func scannedFields(k *history.KeyContent, a answer) bool {
	found, all := scan(a, 2)
	for _, f := range found {
		k.Fields = append(k.Fields, history.Field{Name: history.Bytes(f[0].text), Value: history.Bytes(f[1].text)})
	}
	return all
}

func scannedMembers(k *history.KeyContent, a answer) bool {
	found, all := scan(a, 1)
	for _, m := range found {
		k.Members = append(k.Members, history.Bytes(m[0].text))
	}
	return all
}

func scores(k *history.KeyContent, a answer) bool {
	for list := a.list; len(list) >= 2; list = list[2:] {
		k.Fields = append(k.Fields, history.Field{Name: history.Bytes(list[0].text), Value: history.Bytes(list[1].text)})
	}
	return len(a.list) <= 2*MaxElements
}

func elements(k *history.KeyContent, a answer) bool {
	for _, e := range a.list {
		k.Members = append(k.Members, history.Bytes(e.text))
	}
	return len(a.list) <= MaxElements
}

// entries stores the entries of a stream, each as "id field value …".
func entries(k *history.KeyContent, a answer) bool {
	for _, e := range a.list {
		if len(e.list) != 2 {
			continue
		}
		words := []string{e.list[0].text}
		for _, w := range e.list[1].list {
			words = append(words, w.text)
		}
		k.Members = append(k.Members, history.Bytes(strings.Join(words, " ")))
	}
	return len(a.list) <= MaxElements
}

// reading reads the answers to a round, one after the other.
type reading struct {
	round
	answers  []answer
	commands [][]string
	at       int
}

func (r *reading) next() answer {
	a := r.answers[r.at]
	r.at++
	return a
}

// must returns the next answer, or an error if the node did not execute its command.
func (r *reading) must() (answer, error) {
	a := r.next()
	if err := a.problem(); err != nil {
		return a, commandError{r.commands[r.at-1][0], err}
	}
	return a, nil
}

func (r *reading) read(l *Looker, keys []string, asked map[string]question, list bool) (*round, error) {
	clock, err := r.must()
	if err != nil {
		return nil, err
	}
	if r.Time, err = clock.time(); err != nil {
		return nil, err
	}
	if l.Roles {
		role, err := r.must()
		if err != nil {
			return nil, err
		}
		if len(role.list) > 0 && role.list[0].text != "master" {
			r.Replica = true
			return &r.round, nil
		}
	}
	for _, key := range keys {
		if err := r.key(l, key, asked[key]); err != nil {
			return nil, err
		}
	}
	if l.Names != nil {
		return &r.round, nil
	}
	size, err := r.must()
	if err != nil {
		return nil, err
	}
	r.size, _ = strconv.Atoi(size.text)
	if list {
		names, err := r.must()
		if err != nil {
			return nil, err
		}
		for _, name := range names.list {
			r.listed = append(r.listed, name.text)
		}
	}
	return &r.round, nil
}

// time parses the answer to TIME.
func (a answer) time() (time.Duration, error) {
	if len(a.list) != 2 {
		return 0, fmt.Errorf("TIME: %w: %d elements", errMalformed, len(a.list))
	}
	sec, err := strconv.ParseInt(a.list[0].text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("TIME: %w", err)
	}
	usec, err := strconv.ParseInt(a.list[1].text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("TIME: %w", err)
	}
	return time.Duration(sec)*time.Second + time.Duration(usec)*time.Microsecond, nil
}

// answerAbout returns the next answer about the key. It skips an answer to ASKING.
func (r *reading) answerAbout(l *Looker, key string) said {
	if l.asking[key] {
		r.next()
	}
	return said{r.next(), r.commands[r.at-1][0]}
}

// said is an answer together with the name of the command that it answers.
type said struct {
	answer
	command string
}

// key reads the answers about one key.
func (r *reading) key(l *Looker, key string, q question) error {
	kind := q.as
	var typed said
	if q.typed {
		typed = r.answerAbout(l, key)
	}
	content, ends := r.answerAbout(l, key), r.answerAbout(l, key)
	for _, a := range []said{typed, content, ends} {
		switch a.code() {
		case "MOVED", "ASK":
			r.elsewhere[key] = !l.asking[key]
			return nil
		case "WRONGTYPE":
		default:
			if err := a.problem(); err != nil {
				return commandError{a.command, err}
			}
		}
	}
	if ends.text == "-2" {
		return nil // the key does not exist
	}
	switch {
	case q.typed && typed.text != "none" && typed.text != kind:
		if _, ok := readers[typed.text]; !ok {
			return fmt.Errorf("%w: key %.80q is of the type %s", ErrTooLarge, key, typed.text)
		}
		r.kinds[key] = typed.text
		return nil
	case content.code() == "WRONGTYPE":
		r.kinds[key] = "" // its type has changed
		return nil
	}
	return r.fill(l, key, kind, content.answer, ends.answer)
}

// fill stores a key's content and expiry.
func (r *reading) fill(l *Looker, key, kind string, content, ends answer) error {
	k := &history.KeyContent{Type: kind}
	if !readers[kind].fill(k, content) {
		return fmt.Errorf("%w: key %.80q has more than %d bytes or %d elements", ErrTooLarge, key, MaxRead, MaxElements)
	}
	k.Canonical()
	end, err := strconv.ParseInt(ends.text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s of %.80q: %w", l.ends, key, err)
	}
	switch {
	case end < 0:
		end = 0
	case l.ends == "PTTL":
		end += r.Time.Milliseconds()
	}
	r.Keys[key] = Key{Ends: end, Content: k}
	return nil
}
