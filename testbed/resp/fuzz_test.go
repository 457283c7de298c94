package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mediocregopher/radix/v4/resp/resp3"
	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
)

// values returns a generator of RESP values that Redis could send, nested up to depth.
func values(depth int) *rapid.Generator[string] {
	line := rapid.StringMatching(`[ -~]{0,20}`)
	text := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) })
	plain := []*rapid.Generator[string]{
		rapid.Map(line, func(s string) string { return "+" + s + "\r\n" }),
		rapid.Map(line, func(s string) string { return "-ERR " + s + "\r\n" }),
		rapid.Map(rapid.Int64(), func(n int64) string { return fmt.Sprintf(":%d\r\n", n) }),
		rapid.Map(text, func(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }),
		rapid.SampledFrom([]string{"$-1\r\n", "*-1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "=5\r\ntxt:a\r\n", "!5\r\nERR x\r\n", "(123\r\n"}),
	}
	if depth == 0 {
		return rapid.OneOf(plain...)
	}
	inner := rapid.SliceOfN(values(depth-1), 0, 5)
	nested := rapid.Custom(func(t *rapid.T) string {
		kind, all := rapid.SampledFrom([]string{"*", "~", ">", "%"}).Draw(t, "kind"), inner.Draw(t, "values")
		n := len(all)
		if kind == "%" {
			n /= 2
			all = all[:2*n]
		}
		return fmt.Sprintf("%s%d\r\n%s", kind, n, strings.Join(all, ""))
	})
	return rapid.OneOf(append(plain, nested)...)
}

func TestMessagesAreReadAsWrittenHoweverTheyCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(values(3), 1, 8).Draw(t, "messages")
		wire := strings.Join(all, "")
		for name, r := range map[string]io.Reader{
			"at once":      strings.NewReader(wire),
			"in halves":    iotest.HalfReader(strings.NewReader(wire)),
			"byte by byte": iotest.OneByteReader(strings.NewReader(wire)),
		} {
			in := NewReader(r)
			for i, want := range all {
				if got, err := Read(in); string(got) != want || err != nil {
					t.Fatalf("%s, message %d: got %q, %v, want %q", name, i, got, err, want)
				}
			}
			if m, err := Read(in); err != io.EOF {
				t.Fatalf("%s: got %q, %v, want the end", name, m, err)
			}
		}
	})
}

func TestCommandsAreCutAsWritten(t *testing.T) {
	arg := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 100), func(b []byte) history.Bytes { return history.Bytes(b) })
	kept := new(Texts) // shared by all runs; earlier arguments must not change
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.SliceOfN(arg, 1, 40), 1, 5).Draw(t, "commands")
		var b []byte
		for _, args := range all {
			b = fmt.Appendf(b, "*%d\r\n", len(args))
			for _, a := range args {
				b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
			}
		}
		var got [][]history.Bytes
		for left := b; len(left) > 0; {
			args, n, err := Cut(left, kept)
			if err != nil || n == 0 {
				t.Fatalf("%q: got %v, %v, want a command", left, n, err)
			}
			for short := range n {
				if _, m, err := Cut(left[:short], new(Texts)); m != 0 || err != nil {
					t.Fatalf("%q: got %d, %v, want it incomplete", left[:short], m, err)
				}
			}
			left, got = left[n:], append(got, args)
		}
		clear(b) // the arguments are copies
		if fmt.Sprint(got) != fmt.Sprint(all) {
			t.Fatalf("got %q, want %q", got, all)
		}
	})
}

// refused matches bytes that the fuzz test does not give to the library: bytes that RESP forbids but
// the library accepts, and lengths that make the library allocate much memory.
var refused = regexp.MustCompile(`[0-9]{6}|[^\r]\n|^\n|[?](\r[^\n]|[^\r])|[*~>%|$=!;]([+]|-[^1]|-1[^\r])`)

// FuzzRead checks that Read and radix's parser accept the same messages.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"+OK\r\n", ":1\r\n", "$4\r\ntext\r\n", "$-1\r\n", "*-1\r\n", "_\r\n", "*2\r\n+a\r\n*1\r\n$1\r\nb\r\n",
		"%1\r\n+k\r\n:2\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", "*?\r\n", "$?\r\n;4\r\ntext\r\n;0\r\n", "*1\r\n",
		"$99999999999\r\n", "*99999999\r\n", "$3\r\nlonger\r\n", "+OK\n", "*\r\n", "|1\r\n+a\r\n+b\r\n:1\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Read(NewReader(bytes.NewReader(b)))
		slow, slowErr := Read(bufio.NewReader(iotest.OneByteReader(bytes.NewReader(b))))
		if !bytes.Equal(got, slow) || errors.Is(err, ErrMalformed) != errors.Is(slowErr, ErrMalformed) {
			t.Errorf("got %q, %v at once and %q, %v byte by byte", got, err, slow, slowErr)
		}
		if refused.Match(b) {
			return
		}
		want, wantErr := library(b)
		if err == nil != (wantErr == nil) || !bytes.Equal(got, want) {
			if bytes.Contains(b, []byte("\r\n")) && errors.Is(err, errUnended) {
				return
			}
			t.Errorf("got %q, %v, want %q, %v", got, err, want, wantErr)
		}
		// Cut, the parser of commands, must agree, too.
		args, n, err := Cut(b, new(Texts))
		if err == nil && n > 0 && (n != len(want) || len(args) == 0) {
			t.Errorf("a command: got %d bytes %q, want %d", n, args, len(want))
		}
		if incomplete := errors.Is(wantErr, io.EOF) || errors.Is(wantErr, io.ErrUnexpectedEOF); err == nil && n == 0 && !incomplete {
			t.Errorf("a command: got it incomplete, want %q, %v", want, wantErr)
		}
	})
}

// library reads a message with radix's parser, and recovers the parser's panics.
func library(b []byte) (m []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("%v", p)
		}
	}()
	var raw resp3.RawMessage
	err = raw.UnmarshalRESP(bufio.NewReader(bytes.NewReader(b)), nil)
	if err != nil {
		raw = nil
	}
	return raw, err
}
