// Package worker runs trials, in this process or in processes of their own.
//
// Tasks of package trial come in, and their outcomes go out. A worker process receives tasks and
// sends answers as lines of JSON over two pipes. When the code under test ends a worker process,
// the task is run once more in another one: if both processes die alike, that is a finding. A task
// whose evidence was streamed is not run again.
//
// The words: a Pool runs tasks, several at a time; a process is one worker, which runs
// Serve; afterCrash turns a dead worker's evidence into an outcome; the admission limits
// how many trials run, and how many start, at a time.
package worker
