package applog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agext/levenshtein"

	"github.com/lockstorm/lockstorm/history"
)

// field is the meaning of a column of a CSV file, or of a member of a JSON object.
type field string

const (
	fClient   field = "client"
	fProcess  field = "process"
	fLock     field = "lock"
	fType     field = "type"
	fF        field = "f"
	fTime     field = "time"
	fFrom     field = "from"
	fTo       field = "to"
	fMode     field = "mode"
	fToken    field = "token"
	fFence    field = "fence"
	fDeadline field = "deadline"
	fSeq      field = "seq"
	fValue    field = "value"
	fIndex    field = "index"
	fError    field = "error"
	fLease    field = "lease" // a JSON object with token, fence and deadline
)

// fieldNames maps the names that logs use, in lower case and without separators, to
// fields.
var fieldNames = map[string]field{
	"client": fClient, "owner": fClient, "holder": fClient, "worker": fClient, "instance": fClient,
	"process": fProcess, "thread": fProcess,
	"lock": fLock, "lockname": fLock, "name": fLock, "key": fLock, "resource": fLock,
	"type": fType, "outcome": fType, "result": fType,
	"f": fF, "op": fF, "operation": fF, "event": fF, "action": fF,
	"time": fTime, "timestamp": fTime, "ts": fTime, "at": fTime,
	"from": fFrom, "start": fFrom, "acquired": fFrom, "acquiredat": fFrom,
	"to": fTo, "end": fTo, "released": fTo, "releasedat": fTo,
	"mode": fMode, "token": fToken, "fence": fFence, "fencingtoken": fFence,
	"deadline": fDeadline, "expires": fDeadline, "expiresat": fDeadline,
	"seq": fSeq, "value": fValue, "index": fIndex, "error": fError, "lease": fLease,
}

// endWords are names, in lower case and without separators, that logs use for the end of a hold or
// for the end of its lease. A reader cannot tell which of the two is meant.
var endWords = []string{"until", "till", "untill", "ended", "endedat", "endtime", "endsat", "finish", "finished", "finishedat", "freed", "freedat", "stop", "stopped", "stoppedat", "unlocked", "unlockedat", "heldtill", "helduntil"}

// units maps the suffixes of names to the units of their numbers, as in from_ms.
var units = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
}

// column is the meaning of one name: "from_ms" means fFrom in milliseconds.
type column struct {
	field field
	unit  time.Duration // the unit of a number; 0 if the name has none
}

// timed lists the fields that are instants. Only their names may end with a unit.
var timed = []field{fTime, fFrom, fTo, fDeadline}

// columnOf returns the meaning of a CSV column's or JSON member's name; false if it is unknown.
func columnOf(name string) (column, bool) {
	name = strings.ToLower(name)
	if f, ok := fieldNames[bare(name)]; ok {
		return column{field: f}, true
	}
	word := unitless(name)
	if f := fieldNames[bare(word)]; word != name && slices.Contains(timed, f) {
		return column{f, units[name[len(word)+1:]]}, true
	}
	return column{}, false
}

// unitless returns a name without the suffix for a unit: "from" for "from_ms".
func unitless(name string) string {
	if i := strings.LastIndexAny(name, "_- ."); i > 0 && units[name[i+1:]] != 0 {
		return name[:i]
	}
	return name
}

// bare returns a name without separators: "acquiredat" for "acquired_at".
func bare(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name)
}

// nearly returns the fields that an unknown name may mean if it is a misspelling.
func nearly(name string) (all []field) {
	name = strings.ToLower(name)
	for _, known := range slices.Sorted(maps.Keys(fieldNames)) {
		if len(known) >= 4 && levenshtein.Distance(name, known, nil) == 1 {
			all = append(all, fieldNames[known])
		}
	}
	return all
}

// fWords maps the words that logs use for operations to values of Op.F.
var fWords = map[string]string{
	"acquire": history.FAcquire, "acquired": history.FAcquire, "lock": history.FAcquire, "locked": history.FAcquire, "obtained": history.FAcquire,
	"release": history.FRelease, "released": history.FRelease, "unlock": history.FRelease, "unlocked": history.FRelease,
	"extend": history.FExtend, "extended": history.FExtend, "renew": history.FExtend, "renewed": history.FExtend, "refresh": history.FExtend, "refreshed": history.FExtend,
	"lost": history.FLost, "read": history.FRead, "write": history.FWrite,
}

// typeWords maps the words that logs use for outcomes to types of entries.
var typeWords = map[string]history.Type{
	"invoke": history.Invoke, "call": history.Invoke,
	"ok": history.OK, "success": history.OK, "true": history.OK,
	"fail": history.Fail, "failed": history.Fail, "busy": history.Fail, "false": history.Fail,
	"info": history.Info, "unknown": history.Info, "timeout": history.Info,
}

var modeWords = map[string]history.Mode{
	"": "", "read": history.Read, "shared": history.Read, "write": history.Write, "exclusive": history.Write,
}

// oneOf returns the meaning of a word, or an error that lists the expected words.
func oneOf[V any](f field, word string, known map[string]V) (v V, err error) {
	v, ok := known[strings.ToLower(word)]
	if !ok {
		var words []string
		for _, w := range slices.Sorted(maps.Keys(known)) {
			if w != "" {
				words = append(words, w)
			}
		}
		return v, fmt.Errorf("%s is %q, expected one of %s", f, word, strings.Join(words, ", "))
	}
	return v, nil
}
