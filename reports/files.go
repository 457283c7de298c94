package reports

// Names of the files in a violated trial's folder.
const (
	TimelineFile       = "timeline.svg"
	PorcupineFile      = "porcupine.html"
	CounterexampleFile = "counterexample.md"
)

// Names of the files in the campaign's directory.
const (
	HTMLFile     = "report.html"
	MarkdownFile = "report.md"
	// FullMarkdownFile is the whole report in Markdown, which NewFull writes.
	FullMarkdownFile = "report-full.md"
	JUnitFile        = "junit.xml"
	CSVFile          = "results.csv"
	PlotsDir         = "plots"
)
