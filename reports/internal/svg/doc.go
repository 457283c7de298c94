// Package svg draws pictures as SVG files (Draw). All timelines and plots share its inks,
// fonts and shapes. Inline and Compact prepare pictures for an HTML page that holds
// hundreds of them.
package svg
