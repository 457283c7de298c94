package wording

import (
	"os/exec"
	"strings"
	"testing"
)

func TestJoinCanBePastedIntoAShell(t *testing.T) {
	words := []string{"lockstorm", "run", "--locks", "rw-*", "--name", "it's", "--store", "", "a b", "$HOME", "x\ny", "~", "ünd"}
	got := Command(words...)
	want := `lockstorm run --locks 'rw-*' --name 'it'\''s' --store '' 'a b' '$HOME' 'x` + "\n" + `y' '~' ünd`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal("NOT TESTED: there is no sh to try it in")
	}
	out, err := exec.Command(sh, "-c", "printf '<%s>' "+got).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all string
	for _, w := range words {
		all += "<" + w + ">"
	}
	if string(out) != all {
		t.Errorf("a shell reads %s, want %s", out, all)
	}
}

func TestLinesAreOneCommandToAShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal("NOT TESTED: there is no sh to try it in")
	}
	command := Command("printf", "<%s>", "--locks", "rw-*", "it's so", "a  b", "--hash", "345e2259538f7564", "c")
	whole, err := exec.Command(sh, "-c", command).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{30, 34, 48} {
		lines := CommandLines(command, "  ", width)
		for line := range strings.Lines(lines) {
			if n := len(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
		got, err := exec.Command(sh, "-c", lines).Output()
		if err != nil || string(got) != string(whole) {
			t.Errorf("at %d columns a shell reads %s (%v), want %s:\n%s", width, got, err, whole, lines)
		}
	}
	if got := CommandLines(command, "  ", 0); got != command {
		t.Errorf("without a limit: %s", got)
	}
}
