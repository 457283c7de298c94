package applog

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// instants parses the times of one file. Either all are dates, or none is.
type instants struct {
	dated   bool   // times are dates, read as nanoseconds since 1970
	counted bool   // times are numbers or durations that count from some moment
	first   string // the first time parsed, for an error
	// fine is the unit of the last digit of the most precise time. If all times are in whole
	// milliseconds, fine is 1 ms: the log has cut off or rounded the rest. A duration with its own
	// unit, such as 1.5s, counts as exact to 1 ns.
	fine time.Duration
}

var number = regexp.MustCompile(`^-?[0-9]{1,19}(\.[0-9]{1,9})?$`)

// farthest bounds times, so that the difference between two times does not overflow.
const farthest = time.Duration(1 << 62)

var unitNames = map[time.Duration]string{time.Nanosecond: "ns", time.Microsecond: "us", time.Millisecond: "ms", time.Second: "s"}

const timeShapes = "RFC 3339 such as 2026-01-02T03:04:05.678Z"

// parse returns the instant in nanoseconds. bare is the unit of a number whose field name has no
// unit; 0 if the field name must have one.
func (in *instants) parse(f field, c cell, bare time.Duration) (time.Duration, error) {
	if number.MatchString(c.text) {
		unit := c.unit
		if unit == 0 {
			unit = bare
		}
		if unit == 0 {
			return 0, fmt.Errorf("%s is %s, a number without a unit: expected %s, or a field named %s_ns, %s_us, %s_ms or %s_s", f, c.text, timeShapes, f, f, f, f)
		}
		return in.count(f, c.text, unit)
	}
	if d, err := time.ParseDuration(c.text); err == nil && d.Abs() < farthest {
		return d, in.kind(f, c.text, false, time.Nanosecond)
	}
	text := strings.Replace(c.text, " ", "T", 1)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		if _, zoneless := time.Parse("2006-01-02T15:04:05", text); zoneless == nil {
			return 0, fmt.Errorf("%s is %q, a time without a zone: expected %s, which ends with Z or an offset such as +02:00", f, c.text, timeShapes)
		}
		return 0, fmt.Errorf("%s is %q, expected %s, or a number with its unit in the field's name, such as %s_ms", f, c.text, timeShapes, f)
	}
	if t.Year() < 1970 || t.Year() > 2100 {
		return 0, fmt.Errorf("%s is %q, expected a year from 1970 to 2100", f, c.text)
	}
	digits := 0
	if i := strings.IndexByte(text, '.'); i >= 0 {
		digits = digitsAt(text[i+1:])
	}
	return time.Duration(t.UnixNano()), in.kind(f, c.text, true, finest(time.Second, digits))
}

// count converts a number of units to nanoseconds.
func (in *instants) count(f field, text string, unit time.Duration) (time.Duration, error) {
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, fmt.Errorf("%s is %q, expected a number", f, text)
	}
	n.Mul(n, new(big.Rat).SetInt64(int64(unit)))
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	if !whole.IsInt64() || time.Duration(whole.Int64()).Abs() >= farthest {
		return 0, fmt.Errorf("%s is %s %s, expected at most 146 years from 0", f, text, unitNames[unit])
	}
	digits := 0
	if i := strings.IndexByte(text, '.'); i >= 0 {
		digits = len(text) - i - 1
	}
	return time.Duration(whole.Int64()), in.kind(f, text, false, finest(unit, digits))
}

// kind notes whether a time is a date or a number, and the unit of its last digit (fine). It
// returns an error if the file has both dates and numbers.
func (in *instants) kind(f field, text string, dated bool, fine time.Duration) error {
	if !in.dated && !in.counted {
		in.first, in.fine = text, fine
	}
	if dated {
		in.dated = true
	} else {
		in.counted = true
	}
	if in.dated && in.counted {
		return fmt.Errorf("%s is %s, but an earlier line has %s: expected either a date or a number in every line", f, text, in.first)
	}
	in.fine = min(in.fine, fine)
	return nil
}

// digitsAt returns the number of digits at the beginning of the text.
func digitsAt(text string) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// finest returns the value of one in the last digit of a number that counts units and has so many
// digits after the decimal point; at least 1 ns. For 1 s and 3 digits it returns 1 ms.
func finest(unit time.Duration, digits int) time.Duration {
	for range digits {
		unit /= 10
	}
	return max(unit, 1)
}
