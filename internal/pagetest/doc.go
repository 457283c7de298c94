// Package pagetest tests report.html in Chromium. It filters, sorts, opens, narrows, darkens and
// prints the page of a small campaign, and reads it by keyboard alone. It is a module of its own,
// so that importers of lockstorm need not download a browser driver. Both scripts/test and go test
// in this folder run it.
package pagetest
