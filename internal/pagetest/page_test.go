package pagetest

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

//go:embed contrast.js
var contrast string

// openAll returns a script that opens all sections, the sections inside them, and every third cell; with -short,
// every tenth, which are cells of all faults, too. Opening every cell would take too long.
func openAll() string {
	stride := 3
	if testing.Short() {
		stride = 10
	}
	return fmt.Sprintf(`(async () => {
	for (let i = 0; i < 3; i++) {
		const cells = [...document.querySelectorAll("details.cell")];
		document.querySelectorAll("details").forEach(d => { if (!d.closest(".cell") || cells.indexOf(d.closest(".cell")) %% %d === 0) d.open = true; });
		await new Promise(done => setTimeout(done, 100));
	}
	return true;
})()`, stride)
}

// openCells opens every cell and the sections inside it.
const openCells = `document.querySelectorAll("details.cell, .cell details").forEach(d => { d.open = true; }); return new Promise(done => setTimeout(() => done(true), 300))`

// visibleRows and visibleColumns list the rows and the columns of the matrix that are not hidden.
const (
	visibleRows    = `[...document.querySelectorAll(".matrix tbody tr[data-recipe]:not([hidden])")].map(row => row.dataset.recipe)`
	visibleColumns = `[...document.querySelectorAll(".matrix thead th.fault:not([hidden])")].map(head => head.textContent)`
)

// choose sets a field of the filter form.
func (x *tab) choose(field, value string) {
	x.t.Helper()
	x.run(fmt.Sprintf(`const form = document.querySelector("#filter"); form.elements[%q].value = %q; form.dispatchEvent(new Event("input"))`, field, value))
}

func TestPageIsSmallQuietAndWhole(t *testing.T) {
	info, err := os.Stat(report(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 2_000_000 {
		t.Errorf("the page has %d bytes", info.Size())
	}
	x := visit(t, desk)
	eval[bool](x, openAll())
	for _, complaint := range x.complaints() {
		t.Error(complaint)
	}
	if links := eval[[]string](x, `[...document.querySelectorAll("[href], [src]")].map(a => a.getAttribute("href") || a.getAttribute("src")).filter(to => !to.startsWith("#"))`); len(links) > 0 {
		t.Errorf("it links to %v", links)
	}
	if dead := eval[[]string](x, `[...document.querySelectorAll("a[href^='#']")].map(a => decodeURIComponent(a.hash.slice(1))).filter(id => !document.getElementById(id))`); len(dead) > 0 {
		t.Errorf("nothing has the id %v", dead)
	}
}

func TestAnswersComeFirst(t *testing.T) {
	x := visit(t, desk)
	if got := eval[string](x, `document.querySelector("main > *").id`); got != "answers" {
		t.Errorf("the page begins with %q", got)
	}
	answers := eval[[]string](x, `[...document.querySelectorAll(".answers tbody tr")].map(row => row.cells[0].textContent + ": " + row.cells[1].querySelector("p").textContent)`)
	rows := eval[[]string](x, visibleRows)
	if len(answers) != len(rows) {
		t.Fatalf("%d answers for %d recipes", len(answers), len(rows))
	}
	for i, text := range answers {
		if !strings.HasPrefix(text, rows[i]+": ") || !strings.Contains(text, "se it") {
			t.Errorf("%s is answered: %s", rows[i], text)
		}
	}
	if !slices.Equal(rows[:2], []string{"fenced", "set-nx-px"}) {
		t.Errorf("the first rows are %v", rows[:2])
	}
}

func TestFilters(t *testing.T) {
	x := visit(t, desk)
	all := eval[[]string](x, visibleRows)
	x.choose("recipe", "set-nx-px")
	if got := eval[[]string](x, visibleRows); !slices.Equal(got, []string{"set-nx-px"}) {
		t.Errorf("a recipe's whole name shows %v", got)
	}
	x.choose("recipe", "watchdog, fenced")
	if got := eval[[]string](x, visibleRows); !slices.Equal(got, []string{"fenced", "set-nx-px-watchdog-reused"}) {
		t.Errorf("parts of names show %v", got)
	}
	x.choose("fault", "partition, none")
	if got := eval[[]string](x, visibleColumns); !slices.Equal(got, []string{"none", "partition"}) {
		t.Errorf("faults' whole names show %v", got)
	}
	x.click(`#filter button[type=reset]`)
	x.until(`document.querySelectorAll(".matrix tbody tr[hidden]").length === 0`)
	x.choose("verdict", "blockbug")
	other := eval[int](x, `[...document.querySelectorAll(".matrix tbody td > *")].filter(a => a.checkVisibility({ visibilityProperty: true }) && !a.parentNode.classList.contains("blockbug")).length`)
	if got := eval[[]string](x, visibleRows); other != 0 || !slices.Contains(got, "setnx") || slices.Contains(got, "fenced") {
		t.Errorf("blocked for ever by a bug: %v, and %d other cells", got, other)
	}
	x.click(`#filter button[type=reset]`)
	x.until(`document.querySelectorAll(".matrix tbody tr[hidden]").length === 0`)
	if got := eval[[]string](x, visibleRows); !slices.Equal(got, all) {
		t.Errorf("after all, %v; want %v", got, all)
	}
}

func TestOrders(t *testing.T) {
	x := visit(t, desk)
	best := eval[[]string](x, visibleRows)
	x.choose("sort", "name")
	if got := eval[[]string](x, visibleRows); !slices.IsSorted(got) {
		t.Errorf("by name: %v", got)
	}
	x.choose("sort", "worst")
	if got := eval[[]string](x, visibleRows); slices.Index(got, "exists-set") > slices.Index(got, "fenced") {
		t.Errorf("the worst first: %v", got)
	}
	x.run(`[...document.querySelectorAll(".matrix th.fault")].find(head => head.textContent === "none").click()`)
	if got := eval[[]string](x, `[...document.querySelectorAll(".matrix tbody tr")].map(row => row.cells[1].className)`); got[0] != "bug" && got[0] != "block" {
		t.Errorf("by the verdict where nothing is disturbed: %v", got)
	}
	x.choose("sort", "answer")
	if got := eval[[]string](x, visibleRows); !slices.Equal(got, best) {
		t.Errorf("by answer: %v, want %v", got, best)
	}
}

func TestACellOpensItsEvidenceInPlace(t *testing.T) {
	x := visit(t, desk)
	x.click(`.matrix a[href="#set-nx-px--slow-work"]`)
	x.until(`document.querySelector("#row-set-nx-px + .panel .timeline svg") !== null`)
	for what, script := range map[string]string{
		"a story":                                         `document.querySelectorAll(".panel .steps li").length > 2`,
		"the assumption that broke":                       `document.querySelector(".panel").textContent.includes("Which assumption broke")`,
		"what prevents it":                                `document.querySelectorAll(".panel .prevented li").length > 0 && [...document.querySelectorAll(".panel .prevented li")].every(li => li.textContent)`,
		"a replay line with a hash":                       `/lockstorm replay .*--hash [0-9a-f]{16}/.test(document.querySelector(".panel pre").textContent)`,
		"the store's lines after it":                      `[...document.querySelectorAll(".panel pre")].at(-1).textContent.includes("lockstorm check")`,
		"commands, closed":                                `document.querySelectorAll(".panel .entries:not([open]) tr").length > 3`,
		"a control that says it's open":                   `document.querySelector('.matrix a[aria-expanded="true"]').hash === "#set-nx-px--slow-work"`,
		"the timeline's controls, on a line with borders": `(all => all.length > 2 && new Set(all.map(b => b.getBoundingClientRect().top)).size === 1 && all.every(b => getComputedStyle(b).borderTopWidth !== "0px"))([...document.querySelectorAll(".panel .timeline-tools button")])`,
		"no copy further down":                            `document.querySelectorAll('[id="set-nx-px--slow-work"]').length === 1`,
	} {
		if !eval[bool](x, script) {
			t.Errorf("the opened cell lacks %s", what)
		}
	}
	x.run(`document.querySelector('.matrix button[value="fenced--none"]').click()`)
	x.until(`document.querySelector("#row-fenced + .panel") !== null`)
	text := eval[string](x, `document.querySelector(".panel").textContent`)
	for _, want := range []string{"showed a violation", "That is no proof.", "lockstorm replay"} {
		if !strings.Contains(text, want) {
			t.Errorf("a cell without a violation says %q, which lacks %q", text, want)
		}
	}
	if n := eval[int](x, `document.querySelectorAll(".panel").length`); n != 1 {
		t.Errorf("%d cells are open", n)
	}
	if !eval[bool](x, `document.querySelector("#violations #set-nx-px--slow-work:not([open])") !== null`) {
		t.Error("the closed cell is not back in its place")
	}
}

func TestWhatIsOpenedScrollsWithThePage(t *testing.T) {
	for name, s := range map[string]screen{"desk": desk, "phone": phone} {
		t.Run(name, func(t *testing.T) {
			x := visit(t, s)
			const control = `document.querySelector('.matrix a[href="#set-nx-px--slow-work"]')`
			x.run(control + `.click()`)
			x.until(`document.querySelector("#row-set-nx-px + .panel .timeline svg") !== null`)
			x.run(`document.querySelectorAll(".panel details").forEach(d => { d.open = true; })`)
			if boxes := eval[[]string](x, `(boxes => {
				for (let e = document.querySelector(".panel .story"); e !== document.body; e = e.parentElement) {
					if (e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflowY !== "visible") boxes.push(e.className);
				}
				return boxes;
			})([])`); len(boxes) > 0 {
				t.Errorf("what was opened is in boxes that scroll: %q", boxes)
			}
			const seen = `(r => r.top >= 0 && r.bottom <= innerHeight)(` + control + `.getBoundingClientRect())`
			if !eval[bool](x, seen) {
				t.Error("the opened cell is not on the screen")
			}
			x.run(control + `.click()`)
			if !eval[bool](x, `document.querySelector(".panel") === null && `+seen) {
				t.Error("the closed cell is not on the screen")
			}
		})
	}
}

func TestKeyboardAlone(t *testing.T) {
	x := visit(t, desk)
	focused := func() string {
		return eval[string](x, `(a => a.value || a.hash || a.name || a.textContent)(document.activeElement)`)
	}
	x.press(kb.Tab)
	if got := focused(); got != "#matrix" {
		t.Errorf("the first stop is %q, not the link to the matrix", got)
	}
	x.press(kb.Enter)
	stops := 0
	for ; stops < 12; stops++ {
		x.press(kb.Tab)
		if eval[bool](x, `document.activeElement.closest(".matrix td") !== null`) {
			break
		}
	}
	if stops > 6 {
		t.Errorf("%d stops from the link to the matrix's cells", stops)
	}
	if got := focused(); got != "fenced--none" {
		t.Errorf("the first cell is %q", got)
	}
	if n := eval[int](x, `[...document.querySelectorAll(".matrix td a, .matrix td button")].filter(a => a.tabIndex === 0).length`); n != 1 {
		t.Errorf("the matrix is %d stops, not one", n)
	}
	x.press(kb.ArrowDown)
	x.press(kb.ArrowRight)
	if got := focused(); got != "#set-nx-px--client-crash" {
		t.Errorf("down and right leads to %q", got)
	}
	x.press(kb.Enter)
	x.until(`document.querySelector("#row-set-nx-px + .panel .timeline svg") !== null`)
	if got := focused(); got != "#set-nx-px--client-crash" {
		t.Errorf("opening moves the focus to %q", got)
	}
	x.press(kb.Tab)
	if !eval[bool](x, `document.activeElement.matches(".panel summary")`) {
		t.Errorf("Tab leads not into what was opened, but to %q", focused())
	}
	x.press(kb.Escape)
	if n := eval[int](x, `document.querySelectorAll(".panel").length`); n != 0 || focused() != "#set-nx-px--client-crash" {
		t.Errorf("Escape leaves %d cells open, and the focus on %q", n, focused())
	}
	x.press(kb.End)
	if got := focused(); got != "#set-nx-px--chaos" && got != "set-nx-px--chaos" {
		t.Errorf("End leads to %q", got)
	}
	x.press(kb.Tab)
	if eval[bool](x, `document.activeElement.closest(".matrix") !== null`) {
		t.Error("the matrix has more than one stop")
	}
}

func TestLandmarksAndNames(t *testing.T) {
	x := visit(t, desk)
	eval[bool](x, openAll())
	for what, script := range map[string]string{
		"one banner, main, footer, and a named navigation": `["body > header", "main", "body > footer", "nav[aria-label]"].every(what => document.querySelectorAll(what).length === 1)`,
		"a language and a title":                           `document.documentElement.lang === "en" && document.title !== ""`,
		"one first heading":                                `document.querySelectorAll("h1").length === 1`,
		"a name for each section":                          `[...document.querySelectorAll("section")].every(s => document.getElementById(s.getAttribute("aria-labelledby"))?.textContent)`,
		"a label for each field":                           `[...document.querySelectorAll("input, select")].every(f => f.labels.length === 1 && f.labels[0].textContent.trim())`,
		"a text for each control":                          `[...document.querySelectorAll("a, button, summary")].every(a => a.textContent.trim())`,
		"a scope for each heading of the matrix":           `[...document.querySelectorAll(".matrix th, .answers th")].every(th => th.scope)`,
		"a name for the matrix":                            `document.querySelector(".matrix caption").textContent !== ""`,
		"ids that are unique":                              `(ids => new Set(ids).size === ids.length)([...document.querySelectorAll("[id]")].map(x => x.id))`,
		"what a recipe does, without hovering":             `document.querySelectorAll(".answers .does").length === document.querySelectorAll(".answers tbody tr").length`,
	} {
		if !eval[bool](x, script) {
			t.Errorf("the page lacks %s", what)
		}
	}
}

func TestEveryTextHasContrast(t *testing.T) {
	for name, dark := range map[string]bool{"light": false, "dark": true} {
		t.Run(name, func(t *testing.T) {
			x := visit(t, screen{width: 1280, height: 900, dark: dark})
			paper := eval[string](x, `getComputedStyle(document.body).backgroundColor`)
			if (paper == "rgb(255, 255, 255)") == dark {
				t.Errorf("the page is %s", paper)
			}
			eval[bool](x, openAll())
			got := eval[struct {
				Count int
				Bad   []string
			}](x, contrast)
			if got.Count < 500 {
				t.Errorf("only %d texts were looked at", got.Count)
			}
			for _, bad := range got.Bad {
				t.Error(bad)
			}
		})
	}
}

func TestScreens(t *testing.T) {
	for name, s := range map[string]screen{"desk": desk, "phone": phone} {
		t.Run(name, func(t *testing.T) {
			x := visit(t, s)
			x.run(`document.querySelector('.matrix a[href="#setnx--failover"], .matrix a[href^="#setnx"]').click()`)
			x.until(`document.querySelector(".panel") !== null`)
			eval[bool](x, openAll())
			if !testing.Short() {
				eval[bool](x, "(() => {"+openCells+"})()")
			}
			if over := eval[float64](x, `document.scrollingElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				wide := eval[[]string](x, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest(".matrixbox, .timeline, .plots, svg")).map(e => e.outerHTML.slice(0, 100)).slice(0, 3)`)
				t.Errorf("the page is %v px wider than the screen: %q", over, wide)
			}
			if over := eval[float64](x, `document.querySelector(".panel .cell").getBoundingClientRect().right - innerWidth`); over > 0 {
				t.Errorf("what was opened is %v px wider than the screen", over)
			}
			cut := eval[float64](x, `(box => box.scrollWidth - box.clientWidth)(document.querySelector(".matrixbox"))`)
			if name == "desk" && cut > 0 {
				t.Errorf("the matrix is cut by %v px", cut)
			}
		})
	}
}

func TestTextsOfPlotsAreLegible(t *testing.T) {
	for name, s := range map[string]screen{"desk": desk, "phone": phone} {
		t.Run(name, func(t *testing.T) {
			x := visit(t, s)
			x.run(`document.querySelector("#plots").open = true`)
			x.until(`document.querySelectorAll(".plots svg").length > 3`)
			small := eval[[]string](x, `[...document.querySelectorAll(".plots svg text")].map(text => [text.getScreenCTM(), text]).map(([m, text]) => [parseFloat(getComputedStyle(text).fontSize) * Math.hypot(m.a, m.b), text.textContent]).filter(([size]) => size < 11).map(String)`)
			if len(small) > 0 {
				t.Errorf("%d texts are smaller than 11 px, such as %s", len(small), small[0])
			}
		})
	}
}

func TestHeadingsStayAndHideWhatIsBehind(t *testing.T) {
	x := visit(t, screen{width: 700, height: 420})
	x.run(`(box => { box.scrollIntoView(); box.scrollTop = 60; box.scrollLeft = 120; })(document.querySelector(".matrixbox"))`)
	if !eval[bool](x, `(box => box.scrollTop > 0 && box.scrollLeft > 0)(document.querySelector(".matrixbox"))`) {
		t.Fatal("the matrix does not scroll")
	}
	if wrong := eval[[]string](x, `(() => {
		const box = document.querySelector(".matrixbox"), edge = box.getBoundingClientRect(), wrong = [];
		const check = (th, what, moved) => {
			const place = th.getBoundingClientRect();
			if (Math.abs(moved(place)) > 2) wrong.push(th.textContent + " scrolls away");
			if (getComputedStyle(th).backgroundColor.startsWith("rgba")) wrong.push(th.textContent + " is transparent");
			const x = place.left + place.width / 2, y = place.top + place.height / 2;
			if (x < edge.left || x > edge.right || y < edge.top || y > edge.bottom) return;
			const front = document.elementFromPoint(x, y);
			if (front && front.closest("th") === null && front.closest(".matrix")) wrong.push(th.textContent + " is behind " + front.textContent);
		};
		for (const th of box.querySelectorAll("thead th")) check(th, "top", p => p.top - edge.top - 1);
		for (const th of box.querySelectorAll("tbody th")) check(th, "left", p => p.left - edge.left - 1);
		return wrong;
	})()`); len(wrong) > 0 {
		t.Error(strings.Join(wrong, "; "))
	}
}
