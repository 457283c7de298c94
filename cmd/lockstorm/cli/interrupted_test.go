package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// TestCommandsEndAsAShellExpectsAfterASignal: whenever the signal comes, a command either says
// that it was interrupted or, if its work was already done, ends as without a signal. Everything
// stored until then can be read.
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
		t.Run(name, func(t *testing.T) {
			undisturbed := app{args: args(filepath.Join(t.TempDir(), "out")), testbeds: testbeds, output: output{stdout: io.Discard, stderr: io.Discard}}
			whole := undisturbed.run(t.Context())
			if whole == campaign.ExitHarness {
				t.Fatalf("without a signal: exit code %d", whole)
			}
			for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
				for _, after := range []time.Duration{0, 3 * time.Millisecond, 30 * time.Millisecond} {
					code, stderr := interrupted(t, signal, after, args)
					if code != want && (after == 0 || code != whole) {
						t.Errorf("%v after %v: exit code %d, want %d or, later than at once, %d; stderr\n%s", signal, after, code, want, whole, stderr)
					}
					if code == want && (strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, interruption{signal}.Error())) {
						t.Errorf("%v after %v: stderr\n%s", signal, after, stderr)
					}
				}
			}
		})
	}
}

// interrupted runs a command and interrupts it with a signal after a while (0 = before it begins).
// It checks that the history stored by the command can be read.
func interrupted(t *testing.T, signal syscall.Signal, after time.Duration, args func(out string) []string) (code int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if after == 0 {
		cancel(interruption{signal})
	}
	defer time.AfterFunc(after, func() { cancel(interruption{signal}) }).Stop()
	var errs bytes.Buffer
	out := filepath.Join(t.TempDir(), "out")
	a := app{args: args(out), testbeds: testbeds, output: output{stdout: io.Discard, stderr: &errs}}
	code = a.run(ctx)
	if _, err := os.Stat(filepath.Join(out, trial.HistoryFile)); err == nil {
		if _, err := trial.LoadRecord(out); err != nil {
			t.Errorf("%v after %v: %v", signal, after, err)
		}
	}
	return code, errs.String()
}
