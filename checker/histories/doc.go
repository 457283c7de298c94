// Package histories makes histories for the tests of checkers: from a text with one line
// for each operation (Timeline), from files of such texts (Cases), or at random (Random,
// Gamble).
package histories
