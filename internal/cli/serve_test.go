package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// storeOfOne returns a store with one small campaign.
func storeOfOne(t *testing.T, seed string) (store string) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "s")
	code, _, stderr := lockstorm(t, "run", "--locks", "setnx", "--faults", "none,failover", "--trials", "1", "--shrink", "0", "--seed", seed, "--store", store)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return store
}

func TestServeShowsTheStoreAndNothingElse(t *testing.T) {
	store := storeOfOne(t, "1")
	secret := file(t, "secret.txt", "secret")
	if err := os.Symlink(secret, filepath.Join(store, "way-out.txt")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(store)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	pages := storePages(store, root)
	get := func(method, path, host string) (int, http.Header, string) {
		r := httptest.NewRequest(method, path, nil)
		r.Host = host
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		return w.Code, w.Header(), w.Body.String()
	}
	_, _, list := get("GET", "/", "localhost:1")
	report := regexp.MustCompile(`href="(/files/compare/[^"]+)report\.html">compare</a>.*<td>violated</td>`).FindStringSubmatch(list)
	if report == nil {
		t.Fatalf("the list has no report:\n%s", list)
	}
	dir := report[1]
	for _, c := range []struct {
		method, path, host string
		code               int
		kind, has          string
	}{
		{"GET", "/", "127.0.0.1:7480", 200, "text/html; charset=utf-8", "<h1>Campaigns</h1>"},
		{"GET", dir + "report.html", "[::1]:7480", 200, "text/html; charset=utf-8", "<title>"},
		{"HEAD", dir + "report.html", "localhost", 200, "text/html; charset=utf-8", ""},
		{"GET", dir, "localhost", 200, "text/html; charset=utf-8", `<a href="./report.html">`},
		{"GET", dir + "plots", "localhost", 302, "", ""},
		{"GET", dir + trial.ResultsFile, "localhost", 200, "text/plain; charset=utf-8", `"lock":"setnx"`}, // this file is stored compressed
		{"GET", dir + "matrix.json", "localhost", 200, "application/json", `"schema": 1`},
		{"GET", "/files/latest/report.html", "localhost", 200, "text/html; charset=utf-8", "<title>"},
		{"GET", "/files/", "localhost", 200, "text/html; charset=utf-8", `<a href="./compare/">`},
		{"GET", dir + "nothing.html", "localhost", 404, "", ""},
		{"GET", "/files/way-out.txt", "localhost", 404, "", ""},
		{"GET", "/files/..%2f..%2fetc/passwd", "localhost", 404, "", ""},
		{"GET", "/elsewhere", "localhost", 404, "", ""},
		{"POST", "/", "localhost", 405, "", ""},
		{"DELETE", dir + "report.html", "localhost", 405, "", ""},
		{"GET", "/", "evil.example", 403, "", ""},
		{"GET", "/", "10.0.0.7:7480", 403, "", ""},
	} {
		code, header, body := get(c.method, c.path, c.host)
		if code != c.code || !strings.Contains(body, c.has) || c.kind != "" && header.Get("Content-Type") != c.kind {
			t.Errorf("%s %s at %s: %d, %s, want %d, %s and %q:\n%.300s", c.method, c.path, c.host, code, header.Get("Content-Type"), c.code, c.kind, c.has, body)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%s shows what is outside of the store", c.path)
		}
		if c.code == 200 && (header.Get("Content-Security-Policy") != policy || header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s: headers are %v", c.path, header)
		}
	}
	if err := os.Mkdir(filepath.Join(store, "50%:a b"), 0o777); err != nil {
		t.Fatal(err)
	}
	const to = "./50%25:a%20b/"
	if code, header, _ := get("GET", "/files/50%25:a%20b", "localhost"); code != http.StatusFound || header.Get("Location") != "/files/"+to[2:] {
		t.Errorf("a folder without its slash: %d to %q, want %q", code, header.Get("Location"), "/files/"+to[2:])
	}
}

func TestServeEndsWithTheSignal(t *testing.T) {
	store := storeOfOne(t, "1")
	ctx, cancel := context.WithCancelCause(t.Context())
	out, in := io.Pipe()
	a := app{args: []string{"serve", "--store", store, "--listen", "127.0.0.1:0"}, stdout: in, stderr: io.Discard, testbeds: testbeds}
	ended := make(chan int, 1)
	go func() { ended <- a.run(ctx) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(address + "/")
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v", address, answer.Status, err)
	}
	cancel(interruption{os.Interrupt})
	if code := <-ended; code != campaign.ExitExpected {
		t.Errorf("exit code %d, want 0", code)
	}
	if _, err := client.Get(address + "/"); err == nil {
		t.Error("it listens on after its end")
	}
}
