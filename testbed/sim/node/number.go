package node

import (
	"math"
	"strconv"
)

// parseInt parses an integer as strictly as Redis does: no plus sign, no leading zeros, no
// spaces.
func parseInt(s string) (int64, bool) {
	digits := s
	if s != "" && s[0] == '-' {
		digits = s[1:]
	}
	if digits == "" || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && s != "0" {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

const (
	notInteger = "ERR value is not an integer or out of range"
	notFloat   = "ERR value is not a valid float"
	syntax     = "ERR syntax error"
	wrongType  = "WRONGTYPE Operation against a key holding the wrong kind of value"
	noSuchKey  = "ERR no such key"
)

func invalidExpire(name string) string { return "ERR invalid expire time in '" + name + "' command" }

// formatNumber formats a number like C's %.<digits>g.
func formatNumber(v float64, digits int) string {
	switch {
	case math.IsNaN(v):
		if math.Signbit(v) {
			return "-nan"
		}
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case v == math.Trunc(v) && math.Abs(v) < 1e14 && (v != 0 || !math.Signbit(v)):
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// truncate converts v to an integer like C on x86-64: the smallest integer if out of range.
func truncate(v float64) int64 {
	if math.IsNaN(v) || v >= math.MaxInt64 || v < math.MinInt64 {
		return math.MinInt64
	}
	return int64(v)
}
