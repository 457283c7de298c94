package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// layouts are the contents of nodes' directories: files by path, and the file that Redis appends
// to.
var layouts = map[string]struct {
	files map[string]string
	grows string
}{
	"Redis 6.2": {map[string]string{"appendonly.aof": ""}, "appendonly.aof"},
	"Redis 7": {map[string]string{
		"appendonlydir/appendonly.aof.manifest": "file appendonly.aof.2.base.rdb seq 2 type b\n" +
			"file appendonly.aof.2.incr.aof seq 2 type i\nfile appendonly.aof.3.incr.aof seq 3 type i\n",
		"appendonlydir/appendonly.aof.3.incr.aof": "",
	}, "appendonlydir/appendonly.aof.3.incr.aof"},
	"none": {},
}

// layOut makes a node's directory and returns it with the append-only file that Redis would write to;
// grows is "" if the layout has none.
func layOut(t *testing.T, name string) (dir, grows string) {
	t.Helper()
	dir = t.TempDir()
	for path, text := range layouts[name].files {
		write(t, filepath.Join(dir, path), text)
	}
	if layouts[name].grows != "" {
		grows = filepath.Join(dir, layouts[name].grows)
	}
	return dir, grows
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAPowerLossTakesWhatWasNotSynced relies on a sync at each whole second since the start.
func TestAPowerLossTakesWhatWasNotSynced(t *testing.T) {
	const one, two, three = "*1\r\n$3\r\none\r\n", "*2\r\n$3\r\ntwo\r\n$1\r\n\xff\r\n", "*1\r\n$5\r\nthree\r\n"
	const began = 300 * time.Millisecond
	for name, layout := range layouts {
		if layout.grows == "" {
			continue
		}
		for _, c := range []struct {
			killed time.Duration // since the start; commands come at 0.9 s, 2.1 s and 3.3 s
			kept   string
			lost   string
		}{
			{950 * time.Millisecond, "", `ONE, TWO "\xff", THREE`},
			{1000 * time.Millisecond, one, `TWO "\xff", THREE`},
			{2999 * time.Millisecond, one, `TWO "\xff", THREE`},
			{3250 * time.Millisecond, one + two, "THREE"},
			{4 * time.Second, one + two + three, ""},
		} {
			dir, path := layOut(t, name)
			var a aof
			a.begin(dir, began)
			text := ""
			for i, command := range []string{one, two, three} {
				text += command
				write(t, path, text)
				a.answered(began + 900*time.Millisecond + time.Duration(i)*1200*time.Millisecond)
			}
			a.end(began + c.killed)
			lost, err := a.cut(dir)
			if got := (&history.Lost{Commands: lost}).String(); err != nil || strings.Trim(got, " ()") != c.lost {
				t.Errorf("%s, killed at %v: lost %q, %v, want %q", name, c.killed, got, err, c.lost)
			}
			if kept, _ := os.ReadFile(path); string(kept) != c.kept {
				t.Errorf("%s, killed at %v: kept %q, want %q", name, c.killed, kept, c.kept)
			}
		}
	}
}

const manifest = "appendonlydir/appendonly.aof.manifest"

// swap replaces a file by a directory, which even root cannot read as a file.
func swap(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// hide renames a file while the function looking runs, and then gives it back its name.
func hide(t *testing.T, path string, looking func()) {
	t.Helper()
	aside := path + ".aside"
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	looking()
	if err := os.Rename(aside, path); err != nil {
		t.Fatal(err)
	}
}

// spoilt are cases in which an aof cannot follow the append-only file.
var spoilt = map[string]struct {
	layout string
	follow func(t *testing.T, a *aof, dir, grows string)
	want   string
}{
	"manifest is unreadable at the start": {"Redis 7", func(t *testing.T, a *aof, dir, grows string) {
		path := filepath.Join(dir, manifest)
		text := layouts["Redis 7"].files[manifest]
		swap(t, path)
		a.begin(dir, 0)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
		a.answered(1)
	}, "follow the append-only file"},
	"manifest is unreadable at the end": {"Redis 7", func(t *testing.T, a *aof, dir, grows string) {
		a.begin(dir, 0)
		swap(t, filepath.Join(dir, manifest))
	}, "is a directory"},
	"file is not there at the start": {"Redis 7", func(t *testing.T, a *aof, dir, grows string) {
		hide(t, grows, func() { a.begin(dir, 0) })
		a.answered(1)
	}, "follow the append-only file"},
	"file was not there after a command": {"Redis 6.2", func(t *testing.T, a *aof, dir, grows string) {
		a.begin(dir, 0)
		hide(t, grows, func() { a.answered(1) })
		a.answered(2)
	}, "follow the append-only file"},
	"file is unreadable": {"Redis 6.2", func(t *testing.T, a *aof, dir, grows string) {
		a.begin(dir, 0)
		swap(t, grows)
	}, "is a directory"},
	"no file": {"none", func(t *testing.T, a *aof, dir, grows string) { a.begin(dir, 0) }, "no append-only file"},
}

// TestNothingIsCalledKeptThatCouldNotBeRead checks that cut fails if the kept part is unknown.
func TestNothingIsCalledKeptThatCouldNotBeRead(t *testing.T) {
	for name, c := range spoilt {
		t.Run(name, func(t *testing.T) {
			dir, grows := layOut(t, c.layout)
			var a aof
			c.follow(t, &a, dir, grows)
			a.end(time.Hour)
			if lost, err := a.cut(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("lost %q, %v, want an error with %q", lost, err, c.want)
			}
		})
	}
}
