// Package reports turns stored results into what people and other programs
// read: the matrix on a terminal, report.html, report.md, junit.xml, a few
// plots, and for each violated trial a timeline, a counterexample in plain
// words and porcupine's interactive picture.
//
// Rendering is a pure function from data to bytes: the same campaign gives the
// same bytes. Files are written only by the sinks and by Trial.
package reports
