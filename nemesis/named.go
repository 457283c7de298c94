package nemesis

// Schedule is one plan that is enumerated, not drawn: it strikes at one place of
// a recipe's protocol, and its name says where.
type Schedule struct {
	// Name tells it from all others of its fault, recipe and workload, in lower
	// case letters, digits, dots and hyphens, so that it can name a folder:
	// "acquire.n0.1.before-1of2".
	Name    string
	Clients int // that take part
	Plan    Plan
}
