// Package prose writes times, lists and sentences in one style for all reports, and lays
// texts out for a terminal and for Markdown.
package prose
