package history

// Evidence is all that a verdict may rest on.
type Evidence struct {
	Ops      []Op      // in order of Index
	Commands []Command // in order of Sent
	Claims   Claims
}
