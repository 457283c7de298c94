// Package timeline draws one trial. Its input is a story.Focus, made from the evidence and the
// verdicts, and the steps of the story. Its output is an SVG picture (Draw): a file of its own, or a part of an
// HTML page. The same trial gives the same bytes.
//
// The scene is the picture as data, in the trial's time. Its lanes are, from top to bottom: the faults, the
// findings, one lane per client, and one lane per node and key. A bar is an interval, such as a believed
// hold or the life of a key. A mark is an instant, such as a write or a crash. A shade shows that a fault was
// aimed at the lane. The harm, the interval of the finding, is drawn across all lanes. The axis changes its
// scale where something happens. The picture gives the scene places, and the template writes it.
package timeline
