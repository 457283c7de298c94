package shell

import (
	"os/exec"
	"testing"
)

func TestJoinCanBePastedIntoAShell(t *testing.T) {
	words := []string{"lockstorm", "run", "--locks", "rw-*", "--name", "it's", "--store", "", "a b", "$HOME", "x\ny", "~", "ünd"}
	got := Join(words...)
	want := `lockstorm run --locks 'rw-*' --name 'it'\''s' --store '' 'a b' '$HOME' 'x` + "\n" + `y' '~' ünd`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh to try it in")
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
