// Package page holds the script and the style with which an HTML page draws timelines from their data
// (timeline.Data). Readers can zoom, pan and link to these timelines.
//
// The script defines drawTimeline(place, data, shared). place is the empty element to draw into. It stands
// within a details element, whose id is part of the links to the timeline's marks. data is the result of
// timeline.Data. shared.key is a timeline.Key. shared.faults has the faults' colours by name. The script
// needs the page's colours as custom properties: --paper, --ink, --muted, --rule, --wash, --alarm, --doubt
// and --link.
package page

import _ "embed"

var (
	//go:embed looks.js
	looks string
	//go:embed view.js
	view string
	//go:embed controls.js
	controls string

	// Style is the style sheet.
	//
	//go:embed timeline.css
	Style string

	// Script is the script that defines drawTimeline.
	Script = looks + view + controls
)
