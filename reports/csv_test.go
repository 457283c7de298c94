package reports

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/reports/reporttest"
)

func TestTheTableOfCellsCanBeReadByOthers(t *testing.T) {
	m := sampleMatrix(t)
	m.Cells[0].Exercised, m.Cells[0].Enumerated, m.Cells[0].Violations = 40, 10, 0 // 30 drawn trials: enough for a bound
	m.Cells[0].Shown = 3
	m.Cells[0].Replay = `lockstorm replay --lock 'a, "b"'`
	text, err := csvReport(m)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(m.Cells)+1 || len(rows[0]) != len(csvColumns) {
		t.Errorf("%d rows of %d columns, want %d of %d", len(rows), len(rows[0]), len(m.Cells)+1, len(csvColumns))
	}
	for name, want := range map[string]string{"bound": "0.0950", "replay": m.Cells[0].Replay, "lock": m.Cells[0].Lock, "shown": "3", "exercised": "40"} {
		for i, column := range rows[0] {
			if column == name && rows[1][i] != want {
				t.Errorf("%s is %q, want %q", name, rows[1][i], want)
			}
		}
	}
	reporttest.Golden(t, "results.csv", text)
}
