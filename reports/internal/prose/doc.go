// Package prose writes times, lists and sentences, so that all that is told of a trial and
// of a campaign reads alike, and lays texts out for a terminal and for Markdown.
package prose
