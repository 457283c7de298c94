package campaign

import (
	"context"
	"errors"
	"io"

	"github.com/lockstorm/lockstorm/testbed"
)

// ServeWorker is the life of a worker process: it runs the trials that it reads
// from in on tb, one after another, and answers each with a line on out, until
// in ends. Nothing else may write to out.
func ServeWorker(ctx context.Context, tb testbed.Testbed, in io.Reader, out io.Writer) error {
	return errors.New("not there yet")
}
