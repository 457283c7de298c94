package svg

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// pathStep matches one command of a path, such as "M1,2". gonum writes M, L and A, with absolute
// coordinates, and Z.
var pathStep = regexp.MustCompile(`([A-Za-z])([^A-Za-z]*)`)

// relative returns the path with relative commands. Repeated shapes then have equal commands,
// which are short and compress well. The coordinates must be multiples of a tenth, so that nothing
// is rounded. A path with other commands is returned unchanged.
func relative(d string) string {
	var out strings.Builder
	var x, y, startX, startY int // in tenths
	for _, m := range pathStep.FindAllStringSubmatch(d, -1) {
		numbers := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })
		if m[1] == "Z" {
			out.WriteString("z")
			x, y = startX, startY
			continue
		}
		n := map[string]int{"M": 2, "L": 2, "A": 7}[m[1]]
		if n == 0 || len(numbers) != n {
			return d
		}
		toX, errX := tenths(numbers[n-2])
		toY, errY := tenths(numbers[n-1])
		if errX != nil || errY != nil {
			return d
		}
		dx, dy := toX-x, toY-y
		switch {
		case m[1] == "M":
			out.WriteString("m" + decimal(dx) + "," + decimal(dy))
			startX, startY = toX, toY
		case m[1] == "A":
			out.WriteString("a" + strings.Join(numbers[:5], " ") + " " + decimal(dx) + "," + decimal(dy))
		case dy == 0:
			out.WriteString("h" + decimal(dx))
		case dx == 0:
			out.WriteString("v" + decimal(dy))
		default:
			out.WriteString("l" + decimal(dx) + "," + decimal(dy))
		}
		x, y = toX, toY
	}
	return out.String()
}

// tenths parses a decimal number and returns it in tenths.
func tenths(s string) (int, error) {
	v, err := strconv.ParseFloat(s, 64)
	return int(math.Round(v * 10)), err
}

// decimal writes tenths as a decimal number, without a zero before the point.
func decimal(n int) string {
	s := strconv.FormatFloat(float64(n)/10, 'f', -1, 64)
	if rest, ok := strings.CutPrefix(s, "0."); ok {
		return "." + rest
	}
	if rest, ok := strings.CutPrefix(s, "-0."); ok {
		return "-." + rest
	}
	return s
}
