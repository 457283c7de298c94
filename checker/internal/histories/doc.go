// Package histories makes histories for the tests of checkers: from a text with a line
// per operation (Timeline), or by chance (Random, Gamble).
package histories
