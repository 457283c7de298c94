package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
)

// plainEvery is the interval between progress lines if there is no terminal.
const plainEvery = 15 * time.Second

// progress shows how far a campaign is: a bar on a terminal, otherwise a plain line at intervals. It
// prints violations as they are found (news), above the bar if there is one. The methods may be called
// concurrently.
type progress struct {
	w       io.Writer
	width   int // the width of w in columns; 0 = unlimited
	volume  volume
	started time.Time
	words   func(campaign.Progress) []string // the texts beside the trial counts, the most important first

	mu   sync.Mutex
	bar  *progressbar.ProgressBar
	last time.Time
	told map[string]bool // the flaws that were already printed
}

func (a *output) newProgress(v volume) *progress {
	p := &progress{w: a.stderr, width: a.width(a.stderr), volume: v, started: time.Now(), last: time.Now(), told: map[string]bool{}}
	p.words = p.text
	if terminal(a.stderr) && v != quiet {
		p.bar = progressbar.NewOptions(1,
			progressbar.OptionSetWriter(a.stderr),
			progressbar.OptionSetDescription("trials"),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(false), // the bar's estimate ignores that trials overlap
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(barWidth),
			progressbar.OptionThrottle(100*time.Millisecond),
		)
	}
	return p
}

// barWidth is the width of the bar itself, in columns. aroundBar is the width of the spaces, the
// percentage and the brackets around the bar, without the counts.
const barWidth, aroundBar = 10, 14

// show displays the state after a trial.
func (p *progress) show(s campaign.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.news(s) {
		p.print(line)
	}
	switch now := time.Now(); {
	case p.bar != nil:
		p.bar.ChangeMax(s.Total)
		p.bar.Describe(p.beside(s))
		_ = p.bar.Set(s.Done) // an error in drawing the bar does not stop the campaign
	case p.volume != quiet && now.Sub(p.last) >= plainEvery:
		p.last = now
		p.print(fmt.Sprintf("%d of %d trials: %s", s.Done, s.Total, strings.Join(p.words(s), ", ")))
	}
}

// beside returns as much of the text beside the bar as the terminal has room for.
func (p *progress) beside(s campaign.Progress) string {
	words := p.words(s)
	room := p.width - barWidth - aroundBar - len(fmt.Sprintf("(%d/%d)", s.Total, s.Total))
	for p.width > 0 && len(words) > 1 && utf8.RuneCountInString(strings.Join(words, ", ")) > room {
		words = words[:len(words)-1]
	}
	return strings.Join(words, ", ")
}

// print prints a line above the bar. The caller holds mu.
func (p *progress) print(line string) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.w, wording.Fill(line, "  ", p.width))
}

// note prints a line above the bar.
func (p *progress) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(line)
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// news returns lines about the trial that has just ended: its flaws with their stories. An
// undeclared flaw is printed once for each lock and fault. Declared flaws by the same cause are
// printed once for each lock, and only on a terminal or when verbose. When verbose, every trial has
// a line.
func (p *progress) news(s campaign.Progress) (lines []string) {
	t := s.Trial
	if t == nil || p.volume == quiet {
		return nil
	}
	if p.volume == verbose {
		lines = append(lines, fmt.Sprintf("%s under %s, %s, %s: %s", t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, t.Spec.Title(), t.Outcome))
	}
	for _, f := range t.Flaws {
		shown := campaign.ShownFlaw{Lock: t.Spec.Lock, Fault: t.Spec.Fault, Oracle: f.Oracle, Cause: f.Cause, Kind: f.Kind, Trial: *t}
		key, kind := fmt.Sprint(t.Spec.Lock, f.Cause), string(f.Kind)
		if f.Kind == "" {
			key, kind = fmt.Sprint(t.Spec.Lock, t.Spec.Fault, f.Oracle, f.Cause), "NEW"
		}
		if p.told[key] || f.Kind != "" && p.bar == nil && p.volume != verbose {
			continue
		}
		p.told[key] = true
		line := fmt.Sprintf("%s: %s under %s: %s by %s", kind, shown.Lock, shown.Fault, shown.Oracle, shown.Cause)
		if story := storyOf(shown); story != "" {
			line += ": " + story
		}
		lines = append(lines, line)
	}
	return lines
}

// text returns the texts that stand beside the trial counts.
func (p *progress) text(s campaign.Progress) []string {
	words := []string{fmt.Sprintf("%d violated", s.Violations)}
	if s.ToShrink > 0 {
		return append(words, fmt.Sprintf("of the %d to be shown %d are shrunk", s.ToShrink, s.Shrunk))
	}
	if s.Failed > 0 {
		words = append(words, fmt.Sprintf("%d failed", s.Failed))
	}
	if left := p.left(s); left > 0 {
		words = append(words, fmt.Sprintf("%v left", left))
	}
	if took := time.Since(p.started).Seconds(); took > 0 {
		words = append(words, fmt.Sprintf("%.3g trials/s", float64(s.Done)/took))
		if s.Virtual > 0 {
			words = append(words, fmt.Sprintf("%.3g virtual s/s", s.Virtual.Seconds()/took))
		}
	}
	return words
}

// left estimates the remaining time from the number of trials per time so far; 0 if no trial has
// ended.
func (p *progress) left(s campaign.Progress) time.Duration {
	if s.Done == 0 {
		return 0
	}
	each := time.Since(p.started) / time.Duration(s.Done)
	return (each * time.Duration(s.Total-s.Done)).Round(time.Second)
}
