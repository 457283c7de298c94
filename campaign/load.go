package campaign

// Stored is a campaign read back from its directory. A campaign that was killed
// has the trials that it finished, and a matrix of these.
type Stored struct {
	Dir    string
	Info   Info
	Trials []Trial
	Matrix Matrix
	// Truncated reports a last line of trials.jsonl that was cut off; nil if
	// it was whole.
	Truncated error
}
