package look

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// answer is a reply of the node, or an element of a reply that is an array.
type answer struct {
	kind byte // the type in RESP 2: + - : $ *
	text string
	list []answer
	null bool
}

// talk sends commands in one write and reads their answers.
func (l *Looker) talk(commands [][]string) ([]answer, error) {
	l.out = l.out[:0]
	for _, args := range commands {
		l.out = resp.AppendCommand(l.out, args...)
	}
	if _, err := l.conn.Write(l.out); err != nil {
		return nil, err
	}
	left := maxReply
	answers := make([]answer, len(commands))
	for i := range answers {
		var err error
		if answers[i], err = read(l.in, &left); err != nil {
			if i == 1 && answers[0].kind == '-' { // the node refused and hung up: too many clients, perhaps
				err = fmt.Errorf("%w: %s", ErrRefused, answers[0].text)
			}
			return nil, err
		}
	}
	return answers, nil
}

var errMalformed = errors.New("malformed reply")

// read reads an answer of at most left bytes, and subtracts its length from left.
func read(in *bufio.Reader, left *int) (answer, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("%w: a line of more than %d bytes", errMalformed, len(line))
		}
		return answer{}, err
	}
	if *left -= len(line); *left < 0 {
		return answer{}, tooMuch()
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return answer{}, fmt.Errorf("%w: %.40q", errMalformed, line)
	}
	a := answer{kind: line[0], text: string(line[1 : len(line)-2])}
	switch a.kind {
	case '+', '-', ':':
		return a, nil
	case '$', '*':
	default:
		return answer{}, fmt.Errorf("%w: %.40q", errMalformed, line)
	}
	n, err := strconv.Atoi(a.text)
	switch {
	case err != nil || n < -1:
		return answer{}, fmt.Errorf("%w: %.40q", errMalformed, line)
	case n == -1:
		return answer{kind: a.kind, null: true}, nil
	case n > *left:
		return answer{}, tooMuch()
	case a.kind == '$':
		return a.bulk(in, n, left)
	}
	a.list = make([]answer, n)
	for i := range a.list {
		if a.list[i], err = read(in, left); err != nil {
			return answer{}, err
		}
	}
	return a, nil
}

// bulk reads a string of n bytes.
func (a answer) bulk(in *bufio.Reader, n int, left *int) (answer, error) {
	text := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(in, text); err != nil {
		return answer{}, err
	}
	*left -= len(text)
	a.text = string(text[:n])
	return a, nil
}

func tooMuch() error {
	return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, maxReply)
}

// code returns the first word of an error reply, "" for other answers.
func (a answer) code() string {
	if a.kind != '-' {
		return ""
	}
	code, _, _ := strings.Cut(a.text, " ")
	return code
}

// passing are the codes of temporary errors.
var passing = map[string]bool{
	"LOADING": true, "CLUSTERDOWN": true, "MASTERDOWN": true, "TRYAGAIN": true, "BUSY": true, "UNBLOCKED": true,
}

// commandError says why a command was not executed.
type commandError struct {
	command string
	error
}

// Error implements error.
func (e commandError) Error() string { return e.command + ": " + e.error.Error() }

// Unwrap returns the node's error.
func (e commandError) Unwrap() error { return e.error }

// problem returns the reason why the command was not executed; nil if it was executed.
func (a answer) problem() error {
	switch code := a.code(); {
	case code == "":
		return nil
	case passing[code]:
		return fmt.Errorf("%w: %s", ErrNotNow, a.text)
	default:
		return fmt.Errorf("%w: %s", ErrRefused, a.text)
	}
}

func (a answer) unknownCommand() bool {
	return a.code() == "ERR" && strings.HasPrefix(a.text, "ERR unknown command")
}
