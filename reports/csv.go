package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
)

type csvColumn struct {
	name  string
	value func(campaign.Cell) string
}

// csvColumns are the columns of results.csv. Other programs rely on their order: a new column must
// come last.
//
// The matrix shows shown/exercised. exercised counts the trials that decided something: those with
// a violation, and those whose fault struck and whose oracles could tell. shown counts the
// exercised trials that have the cell's own verdict and kind. trials also counts undecided trials
// and trials whose fault struck nothing, so it is at least exercised. violations also counts
// violations milder than the cell's, so it is at least shown.
var csvColumns = []csvColumn{
	{"lock", func(c campaign.Cell) string { return c.Lock }},
	{"fault", func(c campaign.Cell) string { return c.Fault }},
	{"verdict", func(c campaign.Cell) string { return string(c.Verdict) }},
	{"kind", func(c campaign.Cell) string { return string(c.Kind) }},
	{"undeclared", func(c campaign.Cell) string { return wording.YesNo(undeclared(c)) }},
	{"causes", func(c campaign.Cell) string { return strings.Join(c.Causes, " ") }},
	{"trials", func(c campaign.Cell) string { return strconv.Itoa(c.Trials) }},
	{"violations", func(c campaign.Cell) string { return strconv.Itoa(c.Violations) }},
	{"exercised", func(c campaign.Cell) string { return strconv.Itoa(c.Exercised) }},
	{"enumerated", func(c campaign.Cell) string { return strconv.Itoa(c.Enumerated) }},
	{"undecided", func(c campaign.Cell) string { return strconv.Itoa(c.Undecided) }},
	{"bound", bound},
	{"seed", func(c campaign.Cell) string { return strconv.FormatUint(c.Seed, 10) }},
	{"hash", func(c campaign.Cell) string { return c.Hash }},
	{"replay", func(c campaign.Cell) string { return c.Replay }},
	{"shown", func(c campaign.Cell) string { return strconv.Itoa(c.Shown) }},
	{"covered", func(c campaign.Cell) string { return strconv.Itoa(c.Covered) }},
	{"last_new", func(c campaign.Cell) string { return strconv.Itoa(c.LastNew) }},
}

// bound is the upper end of the 95 % interval of the share of violated trials, from 0 to 1; "" if
// the cell has no bound.
func bound(c campaign.Cell) string {
	if c.Violations > 0 || !c.Bounded() {
		return ""
	}
	return strconv.FormatFloat(c.Bound(), 'f', 4, 64)
}

// csvReport returns the matrix's cells as a table with a header, in the matrix's order.
func csvReport(m campaign.Matrix) ([]byte, error) {
	rows := [][]string{texts(csvColumns, func(c csvColumn) string { return c.name })}
	for _, cell := range m.Cells {
		rows = append(rows, texts(csvColumns, func(c csvColumn) string { return c.value(cell) }))
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return nil, fmt.Errorf("write %s: %w", CSVFile, err)
	}
	return b.Bytes(), nil
}
