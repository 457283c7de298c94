// Package svg draws pictures as SVG files (Draw). It has the inks, fonts and shapes of all
// plots. Inline and Compact prepare pictures for an HTML page that holds hundreds of
// them.
package svg
