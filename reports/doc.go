// Package reports turns stored results into reports for people and programs. Its input is a
// campaign's trials and matrix, through the sink or from disk. It writes the matrix on a terminal,
// report.html, report.md, junit.xml, results.csv, the plots (package plots) and the recipes page.
// For violated trials it writes a counterexample in plain words, a timeline and porcupine's
// interactive picture.
//
// A cell is a recipe under a fault. A detail is a page's content about one trial: a story and a
// timeline, made by the packages of these names. A view is the content of report.html and
// report.md. The page's data are its stories and pictures, stored compressed. An undeclared flaw is
// one that the recipe does not declare. The glossary explains, from the registries, the names in a
// result. Rendering is a pure function from data to bytes: the same campaign gives the same bytes.
// Only the sinks, Trial and Minimal write files.
package reports
