package reports

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

// everyPlot draws all plots, from two campaigns.
func everyPlot(t *testing.T) []plotView {
	t.Helper()
	sample, err := drawPlots(sampleResult(t))
	if err != nil {
		t.Fatal(err)
	}
	swept, err := drawPlots(sweptResult(sweptTrials("plain", 1, 8, trial.Violated)))
	if err != nil {
		t.Fatal(err)
	}
	var overlaps []trial.Result
	for range leastOverlaps {
		overlaps = append(overlaps, overlapping("plain", 30))
	}
	overlapped, err := drawPlots(sweptResult(overlaps))
	if err != nil {
		t.Fatal(err)
	}
	swept = append(swept, overlapped...)
	all := sample
	for _, p := range swept {
		if !slices.ContainsFunc(all, func(q plotView) bool { return q.Name == p.Name }) {
			all = append(all, p)
		}
	}
	if len(all) != len(campaignPlots) {
		t.Fatalf("%d of %d plots are drawn", len(all), len(campaignPlots))
	}
	return all
}

// Where the plots' font is missing, viewers take another that may be wider.
func TestTitlesOfPlotsFitInAWiderFontToo(t *testing.T) {
	const wider = 1.2
	for _, p := range everyPlot(t) {
		if got := titleStyle.Width(p.drawn.What) * wider; got > plotWidth-20 {
			t.Errorf("%s: the title is %.0f points wide, the plot %d: %s", p.Name, got, plotWidth, p.drawn.What)
		}
	}
}

func TestEveryPlotIsSavedForScreenAndPrintWithItsFigures(t *testing.T) {
	for _, p := range everyPlot(t) {
		dir := t.TempDir()
		if err := p.save(dir); err != nil {
			t.Fatal(err)
		}
		names := []string{p.Name + ".png", p.Name + ".svg"}
		if p.Data != "" {
			names = append(names, p.Name+".csv")
		}
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || len(data) == 0 {
				t.Errorf("%s: %d bytes, %v", name, len(data), err)
			}
			if filepath.Ext(name) != ".png" {
				continue
			}
			picture, err := png.DecodeConfig(bytes.NewReader(data))
			if err != nil || picture.Width < 1400 {
				t.Errorf("%s: %d pixels wide, %v", name, picture.Width, err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != len(names) {
			t.Errorf("%s: files %v, %v, want %v", p.Name, left, err, names)
		}
	}
}
