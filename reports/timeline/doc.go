// Package timeline draws one trial. In comes a trial in focus, as package story makes it
// of the evidence and the verdicts; out comes an SVG file that needs nothing else.
//
// The scene is the picture as data. It has lanes from top to bottom: the faults, what the
// oracles found, a lane for each client, a lane for each key on each node. A bar is
// something that lasted, as a believed hold or the life of a key. A mark is an instant,
// as a write or a crash. A shade tells that a fault was aimed at a lane. Over all lanes
// lies the harm, which is the interval of the finding. The same trial gives the same
// bytes.
package timeline
