// Package worker runs trials, in this process or in processes of their own.
//
// Tasks of package trial come in, and what became of each goes out. A worker process takes
// its tasks and gives its answers as lines of JSON over two pipes. When the code under test
// ends a worker process, the task is run once more in another one: an ending that is the
// same both times is a finding.
//
// The words: a Pool runs tasks, several at a time; a process is one worker, which Serve is
// the life of; afterCrash makes a trial of what a dead worker left behind; the admission
// lets as many trials start at a time as the machine bears.
package worker
