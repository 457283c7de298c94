// Package page has the script and the style with which an HTML page draws timelines from
// their data (timeline.Data), to be zoomed into, panned and linked to.
//
// The script defines drawTimeline(place, data, shared): place is an empty element within
// the details element that a link to a mark names; shared.key is a timeline.Key, and
// shared.faults are the faults' colours by name. It needs the page's colours as custom
// properties: --paper, --ink, --muted, --rule, --wash, --alarm, --doubt and --link.
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

	// Script is the script.
	Script = looks + view + controls
)
