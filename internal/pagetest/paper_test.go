package pagetest

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// printed returns the number of printed pages on A4 and on Letter, which is shorter.
func (x *tab) printed() (a4, letter int) {
	x.t.Helper()
	count := func(paper chromedp.PaperSize) int {
		pdf, err := chromedp.Run(x.ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground(), chromedp.PDFPaper(paper)))
		if err != nil {
			x.t.Fatal(err)
		}
		return pages(pdf)
	}
	return count(chromedp.PaperA4), count(chromedp.PaperLetter)
}

// smallPrint lists the printed texts outside pictures that are smaller than 7 pt.
const smallPrint = `(() => {
	const small = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let text = walk.nextNode(); text; text = walk.nextNode()) {
		const at = text.parentElement, size = parseFloat(getComputedStyle(at).fontSize);
		if (text.data.trim() && !at.closest("script, style, svg") && at.checkVisibility() && size < 7 * 96 / 72) small.add(size + "px: " + text.data.slice(0, 40));
	}
	return [...small];
})()`

// The matrix of all recipes fits on two pages, even with counts as long as those of a long run.
func TestPaperOfAllRecipes(t *testing.T) {
	path := *reportFlag
	if path == "" {
		var err error
		if path, err = manyRecipes(); err != nil {
			t.Fatal(err)
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	x := visitPage(t, path, desk)
	x.run(`document.querySelectorAll(".matrix td small").forEach(count => { count.textContent = "24/56"; })`)
	if a4, letter := x.printed(); a4 > 2 || letter > 2 {
		t.Errorf("the summary has %d pages on A4 and %d on Letter, want at most 2", a4, letter)
	}
	call(x, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if small := eval[[]string](x, smallPrint); len(small) > 0 {
		t.Errorf("too small on paper: %q", small)
	}
	if lost := eval[[]string](x, `[...document.querySelectorAll(".answers tbody th")].map(th => th.textContent).filter(name => ![...document.querySelectorAll(".alike th")].some(th => th.checkVisibility() && th.textContent.split(", ").includes(name)))`); len(lost) > 0 {
		t.Errorf("the printed answers lack %v", lost)
	}
}

func TestPaper(t *testing.T) {
	x := visit(t, desk)
	summary, _ := x.printed()
	if summary < 1 || summary > 2 {
		t.Errorf("the summary has %d pages, want at most 2", summary)
	}
	x.click(`.matrix a[href="#set-nx-px--slow-work"]`)
	x.until(`document.querySelector("#row-set-nx-px + .panel .timeline svg") !== null`)
	if n, _ := x.printed(); n < summary || n > summary+2 {
		t.Errorf("with one cell open, %d pages; the summary has %d", n, summary)
	}
	if !eval[bool](x, `document.querySelector("#row-set-nx-px + .panel") !== null`) {
		t.Error("after printing, the cell is not where it was opened")
	}
	call(x, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	x.run(`dispatchEvent(new Event("beforeprint"))`)
	if got := eval[[]string](x, `[...document.querySelectorAll("details")].filter(d => d.checkVisibility()).map(d => d.id || d.textContent)`); !slices.Contains(got, "set-nx-px--slow-work") || len(got) > 1 {
		t.Errorf("printed are %v", got)
	}
}
