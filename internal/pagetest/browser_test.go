package pagetest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var reportFlag = flag.String("report", "", "test this report.html instead of that of a small campaign")

// browsers are the names of Chromium on PATH, and its paths on macOS.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// chromium returns the browser's path, or an error that says how to get it.
func chromium() (string, error) {
	if path := os.Getenv("LOCKSTORM_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("NOT TESTED: no Chromium is on PATH: scripts/ensure-chromium installs it (on Debian: apt-get install chromium), or name one in LOCKSTORM_CHROMIUM")
}

// browser starts the browser once; stopBrowser stops it.
var (
	browser     = sync.OnceValues(startBrowser)
	stopBrowser = func() {}
)

func startBrowser() (context.Context, error) {
	path, err := chromium()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU)
	if runtime.GOOS == "linux" && os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to sandbox root
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	stopBrowser = stop
	ctx, _ = chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return ctx, nil
}

// campaignArgs are the arguments of the tested campaign. Its page has long names, every fault, and
// every kind of answer.
var campaignArgs = []string{"run", "--locks", "fenced,set-nx-px,redlock,setnx,exists-set,set-nx-px-watchdog-reused,set-nx-ex-bounded-renewal",
	"--trials", "2", "--named=false", "--shrink", "0"}

// manyArgs are the arguments of a campaign of all recipes.
var manyArgs = []string{"run", "--locks", "all", "--workloads", "mutex,read-write,fenced-write", "--trials", "1", "--named=false", "--shrink", "0"}

// built builds the program once, and returns its path.
var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(scratch, "lockstorm")
	build := exec.Command("go", "build", "-o", binary, "./cmd/lockstorm")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build lockstorm: %w\n%s", err, out)
	}
	return binary, nil
})

// campaign and manyRecipes run their campaign once, and return the path of the campaign's page.
var (
	campaign    = sync.OnceValues(func() (string, error) { return pageOf("few", campaignArgs) })
	manyRecipes = sync.OnceValues(func() (string, error) { return pageOf("many", manyArgs) })
)

// pageOf runs a campaign, and returns the path of its page.
func pageOf(store string, args []string) (string, error) {
	binary, err := built()
	if err != nil {
		return "", err
	}
	store = filepath.Join(scratch, store)
	if out, err := exec.Command(binary, append(args, "--store", store)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("run a campaign: %w\n%s", err, out)
	}
	return filepath.Join(store, "latest", "report.html"), nil
}

// scratch is a directory for campaigns. TestMain makes and removes it.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pagetest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	stopBrowser()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// report returns the path of the tested page.
func report(t *testing.T) string {
	t.Helper()
	if *reportFlag != "" {
		path, err := filepath.Abs(*reportFlag)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	path, err := campaign()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tab is a page in a browser context of its own: no cookies, storage or history are shared with other tabs.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	complain []string // console messages, exceptions and loaded resources
}

// screen is the size and colour scheme with which a tab shows the page.
type screen struct {
	width, height int64
	dark          bool
}

var (
	desk  = screen{width: 1280, height: 900}
	phone = screen{width: 390, height: 844}
)

// visit opens the tested page, and waits until its evidence is unpacked.
func visit(t *testing.T, s screen) *tab {
	t.Helper()
	return visitPage(t, report(t), s)
}

// visitPage does what visit does, with the page at path.
func visitPage(t *testing.T, path string, s screen) *tab {
	t.Helper()
	shared, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(shared, chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	x := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, x.listen); err != nil { // opens the tab
		t.Fatal(err)
	}
	x.ctx, stop = context.WithTimeout(ctx, 10*time.Minute) // make test runs other tests beside these
	t.Cleanup(stop)
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	call(x, log.Enable, cdp.Empty{})
	call(x, network.Enable, network.EnableParams{})
	call(x, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	x.do(chromedp.EmulateViewport(s.width, s.height), chromedp.Navigate("file://"+path), chromedp.WaitReady("html[data-ready]"))
	return x
}

// call runs a command of the DevTools protocol.
func call[P, R any](x *tab, command cdp.Command[P, R], params P) {
	x.t.Helper()
	if _, err := chromedp.Call(x.ctx, command, params); err != nil {
		x.t.Fatal(err)
	}
}

// listen notes events that no page should cause.
func (x *tab) listen(event any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e := event.(type) {
	case *cdpruntime.EventExceptionThrown:
		x.complain = append(x.complain, "it throws: "+e.ExceptionDetails.Text)
	case *cdpruntime.EventConsoleAPICalled:
		x.complain = append(x.complain, fmt.Sprintf("it calls console.%s", e.Type))
	case *log.EventEntryAdded:
		x.complain = append(x.complain, "the console says: "+e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; e.Type != network.ResourceTypeDocument && !strings.HasPrefix(u, "data:") {
			x.complain = append(x.complain, "it loads "+u)
		}
	}
}

func (x *tab) complaints() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]string(nil), x.complain...)
}

func (x *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	if err := chromedp.Do(x.ctx, actions...); err != nil {
		x.t.Fatal(err)
	}
}

// eval returns the value of a JavaScript expression. The expression may be a promise.
func eval[T any](x *tab, script string) T {
	x.t.Helper()
	out, err := chromedp.Run(x.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		x.t.Fatalf("%v\nin %s", err, script)
	}
	return out
}

// run evaluates a JavaScript statement.
func (x *tab) run(script string) {
	x.t.Helper()
	eval[bool](x, "(() => {"+script+"; return true; })()")
}

// until waits until a JavaScript expression is true.
func (x *tab) until(condition string) {
	x.t.Helper()
	if _, err := chromedp.Run(x.ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(2*time.Minute))); err != nil {
		x.t.Fatalf("%s: never true: %v", condition, err)
	}
}

func (x *tab) press(keys string) {
	x.t.Helper()
	x.do(chromedp.KeyEvent(keys))
}

// click clicks on the first element that a CSS selector finds.
func (x *tab) click(selector string) {
	x.t.Helper()
	x.do(chromedp.Click(selector))
}

func pages(pdf []byte) int { return bytes.Count(pdf, []byte("/Type /Page\n")) }
