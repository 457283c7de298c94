// Package clients_test runs the clients of this folder against a redis-server, without Lockstorm:
// they speak the protocol of docs/any-language.md on standard input and output.
package clients_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
)

// commandTimeout is LOCKSTORM_TIMEOUT_MS: long enough for a busy machine.
const commandTimeout = 5 * time.Second

// example is a client of this folder.
type example struct {
	argv     []string
	probe    []string // fails if a package is missing
	packages string   // Debian's
	ready    line
	// silent: a release does not tell whether the lock was still held.
	silent bool
}

func (e example) String() string { return strings.Join(e.argv, " ") }

var examples = []example{
	{argv: []string{"/usr/bin/python3", "redis_py.py"}, probe: []string{"/usr/bin/python3", "-c", "import redis"},
		packages: "python3-redis", ready: line{Ready: true, Extend: true}},
	{argv: []string{"/usr/bin/python3", "redis_py_watchdog.py"}, probe: []string{"/usr/bin/python3", "-c", "import redis"},
		packages: "python3-redis", ready: line{Ready: true, Renews: true}},
	{argv: []string{"/usr/bin/python3", "redlock.py"}, probe: []string{"/usr/bin/python3", "-c", "import redis"},
		packages: "python3-redis", ready: line{Ready: true, UntilToo: true, Independent: true}},
	{argv: []string{"php", "symfony_lock.php"},
		probe:    []string{"php", "-r", "new Redis; require '/usr/share/php/Symfony/Component/Lock/autoload.php';"},
		packages: "php-cli php-redis php-symfony-lock", ready: line{Ready: true, Extend: true, UntilToo: true}, silent: true},
	{argv: []string{"php", "laravel_lock.php"},
		probe: []string{"php", "-r",
			"new Redis; require '/usr/share/php/Illuminate/Cache/autoload.php'; require '/usr/share/php/Illuminate/Redis/autoload.php';"},
		packages: "php-cli php-redis php-illuminate-cache php-illuminate-redis", ready: line{Ready: true}},
	{argv: []string{"ruby", "set_nx.rb"}, probe: []string{"ruby", "-e", "require 'redis'"},
		packages: "ruby-redis", ready: line{Ready: true, Extend: true}},
	{argv: []string{"ruby", "set_nx_watchdog.rb"}, probe: []string{"ruby", "-e", "require 'redis'"},
		packages: "ruby-redis", ready: line{Ready: true, Renews: true}},
	{argv: []string{"node", "set_nx.cjs"}, probe: []string{"node", "-e", "require('redis')"},
		packages: "node-redis", ready: line{Ready: true, Extend: true}},
}

// line is a line of a client: what it can do, or an answer.
type line struct {
	Ready       bool
	Extend      bool
	UntilToo    bool // in the line that says ready, until is a truth value
	Independent bool
	Renews      bool
	ID          int64
	Lost        int64
	Token       string
	Until       int64
	Error       string
}

func (l *line) UnmarshalJSON(text []byte) error {
	var raw struct {
		Ready, Extend, Independent, Renews bool
		ID, Lost                           int64
		Token, Error                       string
		Until                              json.RawMessage
	}
	err := json.Unmarshal(text, &raw)
	*l = line{Ready: raw.Ready, Extend: raw.Extend, Independent: raw.Independent, Renews: raw.Renews,
		ID: raw.ID, Lost: raw.Lost, Token: raw.Token, Error: raw.Error}
	switch {
	case err != nil || raw.Until == nil:
		return err
	case raw.Ready:
		return json.Unmarshal(raw.Until, &l.UntilToo)
	}
	return json.Unmarshal(raw.Until, &l.Until)
}

// process is a running client.
type process struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Scanner
	errs *strings.Builder
	last int64
}

// start starts a client. It ends with the test.
func (e example) start(t *testing.T, name, addr string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	cmd := exec.CommandContext(ctx, e.argv[0], e.argv[1:]...)
	cmd.Env = e.environment(name, addr)
	p := &process{t: t, errs: new(strings.Builder)}
	cmd.Stderr = p.errs
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
		defer cancel()
		_ = in.Close()
		// Its exit code tells nothing: Symfony's locks release themselves at the end, here on a dead node.
		if err := cmd.Wait(); !cmd.ProcessState.Exited() {
			t.Errorf("%s does not end with its standard input: %v\n%s", e, err, p.errs)
		}
	})
	p.in, p.out = in, bufio.NewScanner(out)
	if got := p.read(); got != e.ready {
		t.Errorf("%s: first line: got %+v, want %+v", e, got, e.ready)
	}
	return p
}

func (example) environment(name, addr string) []string {
	return append(os.Environ(), "LOCKSTORM_ADDRS="+addr, "LOCKSTORM_CLIENT="+name, "LOCKSTORM_SEED=1",
		fmt.Sprintf("LOCKSTORM_TIMEOUT_MS=%d", commandTimeout.Milliseconds()),
		"NODE_PATH=/usr/share/nodejs") // where a Node that is not Debian's finds Debian's packages
}

func (p *process) read() line {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("the client's output ended: %v\n%s", p.out.Err(), p.errs)
	}
	var l line
	if err := json.Unmarshal(p.out.Bytes(), &l); err != nil {
		p.t.Fatalf("the client wrote %q: %v", p.out.Text(), err)
	}
	return l
}

// request is a line to a client.
type request struct {
	ID    int64  `json:"id"`
	Do    string `json:"do"`
	Key   string `json:"key"`
	TTL   int64  `json:"ttl,omitempty"`
	Lease int64  `json:"lease,omitempty"`
}

// ask sends a request and returns its answer. lease is the answer that granted the lock.
func (p *process) ask(do string, ttl time.Duration, lease line) line {
	p.t.Helper()
	p.last++
	text, err := json.Marshal(request{ID: p.last, Do: do, Key: key, TTL: ttl.Milliseconds(), Lease: lease.ID})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		p.t.Fatalf("%s: %v\n%s", do, err, p.errs)
	}
	l := p.read()
	for l.Lost != 0 {
		l = p.read()
	}
	if l.ID != p.last {
		p.t.Fatalf("%s %d: got the answer %+v", do, p.last, l)
	}
	return l
}

const key = "jobs:{7}"

// TestClientsTellWhatIsCertain: each client grants, refuses, prolongs and releases, and calls an
// error certain only if Redis has answered.
func TestClientsTellWhatIsCertain(t *testing.T) {
	t.Setenv("NODE_PATH", "/usr/share/nodejs")
	for _, e := range examples {
		t.Run(e.argv[1], func(t *testing.T) {
			e.needPackages(t)
			t.Parallel()
			server := redistest.Test(t)
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
			t.Cleanup(func() { _ = rdb.Close() })
			w := world{t: t, example: e, server: server, rdb: rdb,
				a: e.start(t, "c0", server.Addr()), b: e.start(t, "c1", server.Addr())}
			w.grantRefuseRelease()
			w.lose()
			w.errorsOfRedisAreUnknown()
			w.silenceIsUnknown()
		})
	}
}

// needPackages fails the test if a package is missing. Other systems have other packages.
func (e example) needPackages(t *testing.T) {
	t.Helper()
	out, err := exec.Command(e.probe[0], e.probe[1:]...).CombinedOutput()
	if err == nil {
		return
	}
	if _, apt := exec.LookPath("apt-get"); apt != nil {
		t.Skipf("NOT TESTED: %s needs Debian's packages %s", e, e.packages)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	t.Fatalf("%s cannot run: apt-get install %s (%v: %s)", e, e.packages, err, first)
}

// world is two clients of one server.
type world struct {
	t *testing.T
	example
	server *redisserver.Server
	rdb    *redis.Client
	a, b   *process
}

// granted acquires the lock for 10 s; it must be free.
func (w world) granted(p *process) line {
	w.t.Helper()
	got := p.ask("acquire", 10*time.Second, line{})
	if got.Error != "" {
		w.t.Fatalf("acquire a free lock: got the error %q\n%s", got.Error, p.errs)
	}
	if w.ready.UntilToo != (got.Until > 0) || got.Until > 10_000 {
		w.t.Errorf("acquire for 10 s: got until %d ms", got.Until)
	}
	w.lives(0, 10*time.Second)
	return got
}

// lives checks the key's remaining time: more than above, at most below.
func (w world) lives(above, below time.Duration) {
	w.t.Helper()
	if left := w.rdb.PTTL(w.t.Context(), key).Val(); left <= above || left > below {
		w.t.Errorf("the key lives for %v, want more than %v and at most %v", left, above, below)
	}
}

// want checks an answer's error.
func (w world) want(what string, got line, want string) {
	w.t.Helper()
	if got.Error != want {
		w.t.Errorf("%s: got the error %q, want %q", what, got.Error, want)
	}
}

// unknown checks that an answer is an error that is not certain.
func (w world) unknown(what string, got line) {
	w.t.Helper()
	switch got.Error {
	case "", "busy", "refused", "not-held":
		w.t.Errorf("%s: got %+v, want an error that is not certain", what, got)
	}
}

func (w world) grantRefuseRelease() {
	w.t.Helper()
	lease := w.granted(w.a)
	w.want("acquire what another holds", w.b.ask("acquire", 10*time.Second, line{}), "busy")
	if w.ready.Extend {
		w.want("extend", w.a.ask("extend", time.Minute, lease), "")
		w.lives(10*time.Second, time.Minute)
	}
	w.want("release", w.a.ask("release", 0, lease), "")
	if n := w.rdb.Exists(w.t.Context(), key).Val(); n != 0 {
		w.t.Error("the key is there after its release")
	}
}

// lose frees the lock under its holder, and lets another in.
func (w world) lose() {
	w.t.Helper()
	lost := w.granted(w.a)
	w.rdb.Del(w.t.Context(), key)
	lease := w.granted(w.b)
	if w.ready.Extend {
		w.want("extend what another holds", w.a.ask("extend", 10*time.Second, lost), "not-held")
	}
	want := "not-held"
	if w.silent {
		want = ""
	}
	w.want("release what another holds", w.a.ask("release", 0, lost), want)
	w.want("release after another's late release", w.b.ask("release", 0, lease), "")
}

// errorsOfRedisAreUnknown lets Redis answer with errors of two kinds. phpredis throws one, and
// returns false for the other.
func (w world) errorsOfRedisAreUnknown() {
	w.t.Helper()
	lease := w.granted(w.a)
	w.rdb.Del(w.t.Context(), key)
	w.rdb.LPush(w.t.Context(), key, "a list is no lock")
	w.unknown("release a key of another type", w.a.ask("release", 0, lease))
	w.rdb.Del(w.t.Context(), key)
	w.rdb.ConfigSet(w.t.Context(), "min-replicas-to-write", "1")
	w.unknown("acquire from a node that refuses writes", w.a.ask("acquire", 10*time.Second, line{}))
	w.rdb.ConfigSet(w.t.Context(), "min-replicas-to-write", "0")
}

// silenceIsUnknown ends the server under a holder.
func (w world) silenceIsUnknown() {
	w.t.Helper()
	lease := w.granted(w.a)
	if err := w.server.Kill(); err != nil {
		w.t.Fatal(err)
	}
	w.unknown("acquire from a dead node", w.b.ask("acquire", 10*time.Second, line{}))
	if w.ready.Extend {
		w.unknown("extend on a dead node", w.a.ask("extend", 10*time.Second, lease))
	}
	w.unknown("release on a dead node", w.a.ask("release", 0, lease))
}

// TestThePageHasTheWholeClient: docs/any-language.md shows redis_py.py, without its first comment.
func TestThePageHasTheWholeClient(t *testing.T) {
	page, err := os.ReadFile("../../docs/any-language.md")
	if err != nil {
		t.Fatal(err)
	}
	client, err := os.ReadFile("redis_py.py")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(client), "\nimport ")
	if want := "```python\nimport " + code + "```\n"; !strings.Contains(string(page), want) {
		t.Errorf("docs/any-language.md does not show redis_py.py as it is:\n%s", want)
	}
}
