package node

import (
	"strconv"
	"strings"
)

// reply is a reply that is being written, in RESP.
type reply struct {
	out   []byte
	resp3 bool // write in RESP3
}

// written is the result of the functions that write a part of a reply. Handlers return it, so that no
// handler ends without a reply.
type written struct{}

// Write implements io.Writer, through which miniredis writes replies.
func (r *reply) Write(p []byte) (int, error) {
	r.out = append(r.out, p...)
	return len(p), nil
}

func (r *reply) line(kind byte, text string) written {
	r.out = append(r.out, kind)
	r.out = append(r.out, text...)
	r.out = append(r.out, '\r', '\n')
	return written{}
}

func (r *reply) number(kind byte, v int64) written {
	r.out = append(r.out, kind)
	r.out = strconv.AppendInt(r.out, v, 10)
	r.out = append(r.out, '\r', '\n')
	return written{}
}

func (r *reply) ok() written           { return r.line('+', "OK") }
func (r *reply) int(v int64) written   { return r.number(':', v) }
func (r *reply) array(len int) written { return r.number('*', int64(len)) }

func (r *reply) bool(v bool) written {
	if v {
		return r.int(1)
	}
	return r.int(0)
}

// fail replies with an error. It replaces the line breaks in text, which may come from a
// client.
func (r *reply) fail(text string) written {
	return r.line('-', oneLine(strings.TrimRight(text, "\r\n")))
}

func (r *reply) status(text string) written { return r.line('+', oneLine(text)) }

func oneLine(text string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
}

func (r *reply) bulk(s string) written {
	r.number('$', int64(len(s)))
	r.out = append(r.out, s...)
	r.out = append(r.out, '\r', '\n')
	return written{}
}

// bulks writes an array.
func (r *reply) bulks(all ...string) written {
	r.array(len(all))
	for _, s := range all {
		r.bulk(s)
	}
	return written{}
}

// bulkIf writes s if there is one, else null.
func (r *reply) bulkIf(exists bool, s string) written {
	if !exists {
		return r.null()
	}
	return r.bulk(s)
}

func (r *reply) null() written      { return r.absent("$-1") }
func (r *reply) nullArray() written { return r.absent("*-1") }

func (r *reply) absent(inResp2 string) written {
	if r.resp3 {
		return r.line('_', "")
	}
	return r.line(inResp2[0], inResp2[1:])
}

// maps begins a map with this number of pairs.
func (r *reply) maps(pairs int) written {
	if r.resp3 {
		return r.number('%', int64(pairs))
	}
	return r.array(2 * pairs)
}

// push begins an out-of-band message with this number of elements.
func (r *reply) push(len int) written { return r.elements('>', len) }

// elements begins an array that is of another kind in RESP3.
func (r *reply) elements(inResp3 byte, len int) written {
	if r.resp3 {
		return r.number(inResp3, int64(len))
	}
	return r.array(len)
}

// text writes a text that is of another kind than a bulk string in RESP3.
func (r *reply) text(inResp3 byte, s string) written {
	if r.resp3 {
		return r.line(inResp3, oneLine(s))
	}
	return r.bulk(s)
}
