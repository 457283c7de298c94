package reports

// Names of the files that this package writes: in a violated trial's folder …
const (
	TimelineFile       = "timeline.svg"
	PorcupineFile      = "porcupine.html"
	CounterexampleFile = "counterexample.md"
)

// … and in the campaign's directory.
const (
	HTMLFile     = "report.html"
	MarkdownFile = "report.md"
	JUnitFile    = "junit.xml"
	PlotsDir     = "plots"
)
