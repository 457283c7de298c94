// Package timeline draws one trial. Its input is a story.Focus, made from the evidence and the
// verdicts. Its output is a self-contained SVG file (Draw), or the same picture as data for the
// script of an HTML page (Data, package page). The same trial gives the same bytes.
//
// The scene is the picture as data. Its lanes are, from top to bottom: the faults, the findings,
// one lane per client, and one lane per node and key. A bar is an interval, such as a believed
// hold or the life of a key. A mark is an instant, such as a write or a crash. Bars and marks
// stand for rows of the evidence: operations, commands, faults, findings and events; the title of
// a mark shows its rows. A shade shows that a fault was aimed at the lane. The harm, the interval
// of the finding, is drawn across all lanes.
package timeline
