// Package pagetest tests report.html in Chromium: the page of a small campaign is filtered,
// sorted, opened, read by keyboard alone, narrowed, darkened and printed. It is a module of
// its own, so that nobody who imports lockstorm downloads a driver of browsers. scripts/test
// runs it; go test in this folder does too.
package pagetest
