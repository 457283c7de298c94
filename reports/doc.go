// Package reports turns stored results into what people and other programs read. In come
// a campaign's trials and its matrix, through the sink or from disk. Out come the matrix
// on a terminal, report.html, report.md, junit.xml, a few plots and the page of recipes;
// and for each violated trial that these show, a timeline, a counterexample in plain
// words and porcupine's interactive picture.
//
// A cell is a recipe under a fault. A detail is what a page tells of one trial: its story
// and its picture, which packages story and timeline make. The glossary is what the
// registries say about the names in a result. Rendering is a pure function from data to
// bytes: the same campaign gives the same bytes. Files are written only by the sinks, by
// Trial and by Minimal.
package reports
