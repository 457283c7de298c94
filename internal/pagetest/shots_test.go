package pagetest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var shotsFlag = flag.String("shots", "", "write screenshots for the README into this directory")

// TestScreenshots writes the README's pictures with -shots; without it, it checks that each
// picture is small enough to be committed.
func TestScreenshots(t *testing.T) {
	const most = 200_000
	dir := *shotsFlag
	if dir == "" {
		dir = filepath.Join("..", "..", "docs", "images")
	} else {
		x := visit(t, desk)
		x.do(chromedp.EmulateViewport(1280, 2080, chromedp.EmulateScale(0.55)))
		x.shot(filepath.Join(dir, "report-answers.png"), `document.querySelector("header")`)
		x.do(chromedp.EmulateViewport(1280, 1500, chromedp.EmulateScale(0.7)))
		x.run(`document.querySelector('.matrix a[href="#set-nx-px--client-pause"]').click()`)
		x.until(`document.querySelector("#row-set-nx-px + .panel .timeline svg") !== null`)
		x.shot(filepath.Join(dir, "report-evidence.png"), `document.querySelector("#row-set-nx-px")`)
	}
	for _, name := range []string{"report-answers.png", "report-evidence.png"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d", name, info.Size(), most)
		}
	}
}

// shot writes what the screen shows if it is scrolled to an element.
func (x *tab) shot(path, element string) {
	x.t.Helper()
	x.run(element + `.scrollIntoView({ block: "start" })`)
	picture, err := chromedp.Run(x.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		x.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(path, picture, 0o666); err != nil {
		x.t.Fatal(err)
	}
}
