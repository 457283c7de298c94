// Package worker runs trials, in this process or in processes of their own.
//
// Tasks of package trial come in, and their outcomes go out. A worker process receives
// tasks and sends answers as lines of JSON over two pipes. When the code under test
// ends a worker process, the task is run once more in another one: if both end alike,
// that is a finding.
//
// The words: a Pool runs tasks, several at a time; a process is one worker, which runs
// Serve; afterCrash makes a trial of a dead worker's evidence; the admission limits how
// many trials start at a time.
package worker
