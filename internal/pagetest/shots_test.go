package pagetest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var shotsFlag = flag.String("shots", "", "write screenshots for the documentation into this directory")

const openedCell = `document.querySelector('.matrix a[href="#set-nx-px--client-pause"]').click()`

// shots are the pictures in docs/images: the screen, the emulated CSS medium, the script that opens
// something, and the element to scroll to.
var shots = []struct {
	name          string
	screen        screen
	scale         float64
	media         string // "" = "screen"
	open, element string
}{
	{"report-answers.png", screen{width: 1280, height: 2000}, 0.52, "", "", `document.querySelector("header")`},
	{"report-evidence.png", screen{width: 1280, height: 1500}, 0.7, "", openedCell, `document.querySelector("#row-set-nx-px")`},
	{"report-dark.png", screen{width: 1280, height: 1500, dark: true}, 0.7, "", openedCell, `document.querySelector("#row-set-nx-px")`},
	{"report-narrow.png", screen{width: 390, height: 1500}, 0.9, "", openedCell, `document.querySelector("#row-set-nx-px + .panel")`},
	{"report-print.png", screen{width: 1080, height: 1520}, 0.6, "print", "", `document.querySelector("header")`},
}

// TestScreenshots writes the documentation's pictures with -shots. Without -shots, it checks that
// each picture exists and is small enough to be committed.
func TestScreenshots(t *testing.T) {
	const most = 200_000
	dir := *shotsFlag
	if dir == "" {
		dir = filepath.Join("..", "..", "docs", "images")
	}
	for _, s := range shots {
		path := filepath.Join(dir, s.name)
		if *shotsFlag != "" {
			x := visit(t, s.screen)
			x.do(chromedp.EmulateViewport(s.screen.width, s.screen.height, chromedp.EmulateScale(s.scale)))
			if s.media != "" {
				call(x, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: s.media})
				x.run(`dispatchEvent(new Event("beforeprint"))`)
			}
			if s.open != "" {
				x.run(s.open)
				x.until(`document.querySelector("#row-set-nx-px + .panel .timeline svg") !== null`)
			}
			x.shot(path, s.element)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Error(err)
		} else if info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d", s.name, info.Size(), most)
		}
	}
}

// shot writes a picture of the screen after it has scrolled to an element.
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
