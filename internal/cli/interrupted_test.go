package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// TestCommandsEndAsAShellExpectsAfterASignal: this holds whenever the signal comes, and
// everything stored by then can be read.
func TestCommandsEndAsAShellExpectsAfterASignal(t *testing.T) {
	dir, _ := simulated(t)
	for name, args := range map[string]func(out string) []string{
		"replay what is named": func(out string) []string { return []string{"replay", "--lock", "set-nx-px", "--out", out} },
		"replay a schedule": func(out string) []string {
			return []string{"replay", "--lock", "set-nx-px", "--fault", "client-crash", "--schedule", "hold-1of2", "--out", out}
		},
		"replay what is stored": func(out string) []string { return []string{"replay", dir, "--out", out} },
		"shrink":                func(out string) []string { return []string{"shrink", dir, "--out", out} },
		"check":                 func(string) []string { return []string{"check", dir} },
	} {
		for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			for _, after := range []time.Duration{0, 3 * time.Millisecond, 30 * time.Millisecond} {
				ctx, cancel := context.WithCancelCause(t.Context())
				if after == 0 {
					cancel(interruption{signal})
				}
				timer := time.AfterFunc(after, func() { cancel(interruption{signal}) })
				var stdout, stderr bytes.Buffer
				out := filepath.Join(t.TempDir(), "out")
				a := app{args: args(out), stdout: &stdout, stderr: &stderr, testbeds: testbeds}
				code := a.run(ctx)
				done := timer.Stop() && after > 0 // before the signal came
				if code != want && !done && (name != "check" || after == 0) || code == campaign.ExitHarness {
					t.Errorf("%s, %s after %v: exit code %d, want %d; stderr\n%s", name, signal, after, code, want, &stderr)
				}
				if code == want && (strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), map[syscall.Signal]string{syscall.SIGINT: "interrupted by SIGINT", syscall.SIGTERM: "interrupted by SIGTERM"}[signal])) {
					t.Errorf("%s, %s after %v: stderr\n%s", name, signal, after, &stderr)
				}
				if exists(filepath.Join(out, trial.HistoryFile)) {
					if _, err := trial.LoadRecord(out); err != nil {
						t.Errorf("%s, %s after %v: %v", name, signal, after, err)
					}
				}
				cancel(nil)
			}
		}
	}
}
