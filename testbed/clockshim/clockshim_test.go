package clockshim_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed/clockshim"
)

// clocks is a C program. For each character that it reads, it prints the wall clock, read in the
// four possible ways, and the monotonic clock, in nanoseconds.
const clocks = `
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
static long long at(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(void) {
	while (getchar() != EOF) {
		struct timeval v;
		gettimeofday(&v, NULL);
		time_t stored, returned = time(&stored);
		printf("%lld %lld %lld %lld %lld\n", at(CLOCK_REALTIME), at(CLOCK_REALTIME_COARSE),
			v.tv_sec * 1000000000LL + v.tv_usec * 1000LL,
			(stored == returned) * returned * 1000000000LL, at(CLOCK_MONOTONIC));
		fflush(stdout);
	}
	return 0;
}
`

// built returns the library's path.
func built(t *testing.T) string {
	t.Helper()
	shim, err := clockshim.Find()
	if err != nil {
		t.Fatal(err)
	}
	return shim
}

func TestEveryLookAtTheWallClockSeesTheJumpAndNoOther(t *testing.T) {
	shim := built(t)
	clock, err := clockshim.New(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	look := start(t, shim, clock.Path())
	var last int64 // the monotonic clock at the last look
	for _, offset := range []time.Duration{
		0, time.Minute, time.Minute + 999_999_999, -time.Minute, -1, -time.Second - 1, 5 * time.Minute, 0,
	} {
		clock.Set(offset)
		if got := clock.Offset(); got != offset {
			t.Errorf("Offset: got %v, want %v", got, offset)
		}
		from := time.Now()
		shown := look()
		to := time.Now()
		// coarse is how far each way of reading may be behind the clock itself.
		for i, coarse := range []time.Duration{0, 100 * time.Millisecond, time.Microsecond, time.Second} {
			got := time.Unix(0, shown[i]).Add(-offset)
			if got.Before(from.Add(-coarse)) || got.After(to) {
				t.Errorf("ahead by %v, asked in way %d: got %v, want %v to %v", offset, i, got, from, to)
			}
		}
		if passed := time.Duration(shown[4] - last); last > 0 && (passed <= 0 || passed > time.Minute/2) {
			t.Errorf("after a jump to %v: %v have passed by the monotonic clock", offset, passed)
		}
		last = shown[4]
	}
	for range 2 {
		if err := clock.Close(); err != nil {
			t.Error(err)
		}
	}
	clock.Set(time.Hour) // no effect on a closed clock
}

// start builds and starts the program clocks. look returns the clocks that the program prints.
func start(t *testing.T, shim, clock string) (look func() [5]int64) {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "clocks.c"), filepath.Join(dir, "clocks")
	if err := os.WriteFile(source, []byte(clocks), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), clockshim.Environment(shim, clock)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewReader(out)
	return func() (shown [5]int64) {
		if _, err := io.WriteString(in, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscan(lines, &shown[0], &shown[1], &shown[2], &shown[3], &shown[4]); err != nil {
			t.Fatal(err)
		}
		return shown
	}
}

// TestAProgramWithoutItsClockEnds checks that a program ends at once if the file of its clock is
// missing or too short. Otherwise the program would use another clock.
func TestAProgramWithoutItsClockEnds(t *testing.T) {
	shim := built(t)
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("1234567"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "cannot open the file",
		short:                              "too short",
	} {
		cmd := exec.Command("/bin/sh", "-c", "echo ran")
		cmd.Env = append(os.Environ(), clockshim.Environment(shim, file)...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "ran") {
			t.Errorf("%s: got %q, %v, want %q", file, out, err, want)
		}
	}
}

func TestTheLibraryIsFoundOrItIsSaidHowToGetIt(t *testing.T) {
	dir := t.TempDir()
	library, blank := filepath.Join(dir, "shim.so"), filepath.Join(dir, "a shim.so")
	for _, path := range []string{library, blank} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ variable, cache, want, err string }{
		{library, "", library, ""},
		{blank, "", "", "cannot be preloaded"},
		{filepath.Join(dir, "none"), "", "", "no such file"},
		{"", filepath.Join(dir, "no:where"), "", "cannot be preloaded"},
		{"", filepath.Join(library, "no"), "", "a cache directory is needed"},
		{"", dir, "", "a C compiler (cc) is needed"},
	} {
		t.Setenv(clockshim.PathVariable, c.variable)
		t.Setenv("XDG_CACHE_HOME", c.cache)
		t.Setenv("PATH", dir)
		got, err := clockshim.Find()
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: got %q, %v, want %q, %q", c.variable, got, err, c.want, c.err)
		}
	}
}
