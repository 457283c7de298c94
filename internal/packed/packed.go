// Package packed reads and writes files that are stored either as they are or compressed with
// Zstandard (RFC 8878). `zstdcat` reads the compressed ones.
package packed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Suffix ends the name of a compressed file.
const Suffix = ".zst"

// Find returns the name under which a file is stored: path, or path with Suffix. If neither file
// exists, it returns path.
func Find(path string) string {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path + Suffix); err == nil {
			return path + Suffix
		}
	}
	return path
}

// File is an open file. Reading it returns its uncompressed content.
type File struct {
	io.Reader
	// Name is the name of the stored file, which ends with Suffix if it is compressed.
	Name string

	file    *os.File
	decoder *zstd.Decoder // nil if the file is not compressed
}

// Open opens the file that Find finds. If a compressed file is cut short, reading it returns
// everything up to the last complete Flush, then io.ErrUnexpectedEOF. Open's own errors are those
// of os.Open.
func Open(path string) (*File, error) {
	path = Find(path)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{Reader: file, Name: path, file: file}
	if strings.HasSuffix(path, Suffix) {
		// With concurrency 1 there are no further goroutines. They would outlive a file that
		// nobody closes, and read ahead in a file that is still written.
		if f.decoder, err = zstd.NewReader(file, zstd.WithDecoderConcurrency(1)); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		f.Reader = f.decoder
	}
	return f, nil
}

// Seek implements io.Seeker, but only for Seek(0, io.SeekStart).
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, fmt.Errorf("%s: seek to %d from %d: expected the start", f.Name, offset, whence)
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil || f.decoder == nil {
		return 0, err
	}
	return 0, f.decoder.Reset(f.file)
}

// ReadFile returns the uncompressed content of the file that Find finds. If a compressed file is
// cut short, the error wraps io.ErrUnexpectedEOF. The error for a file that cannot be opened is that
// of os.Open.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// Close implements io.Closer.
func (f *File) Close() error {
	if f.decoder != nil {
		f.decoder.Close()
	}
	return f.file.Close()
}

// encoder compresses whole files, one at a time. Many goroutines can use it.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	// The best level makes evidence a seventh smaller, but takes six times as long, and its tables take
	// 36 MB of memory.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return e
})

// Pack returns the compressed data.
func Pack(data []byte) []byte { return encoder().EncodeAll(data, make([]byte, 0, len(data)/4)) }

// WriteFile writes data, compressed, into the file path + Suffix.
func WriteFile(path string, data []byte) error {
	return os.WriteFile(path+Suffix, Pack(data), 0o666)
}

// Remove removes a file in both forms, if they exist.
func Remove(path string) error {
	for _, form := range []string{path, path + Suffix} {
		if err := os.Remove(form); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Appender compresses the data that is appended to a stream, piece by piece.
type Appender struct {
	encoder *zstd.Encoder
	pending int // bytes that are not flushed yet
}

// NewAppender returns an Appender that writes to w.
func NewAppender(w io.Writer) *Appender {
	e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constant
	}
	return &Appender{encoder: e}
}

// Append writes data and flushes: data and all earlier data can then be read even if nothing more is
// ever written. After an error, the Appender must not be used any more.
func (a *Appender) Append(data []byte) error {
	if _, err := a.encoder.Write(data); err != nil {
		return err
	}
	return a.Flush()
}

// Flush writes what Buffer has collected, so that it can be read even if nothing more is ever written.
func (a *Appender) Flush() error {
	a.pending = 0
	return a.encoder.Flush()
}

// Buffer is Append for data that may be lost if nothing more is written. Buffer flushes only once for
// each batch of data, so that the stream becomes smaller. Flush writes the rest.
func (a *Appender) Buffer(data []byte) error {
	if a.pending += len(data); a.pending >= batch {
		return a.Append(data)
	}
	_, err := a.encoder.Write(data)
	return err
}

// batch is the number of uncompressed bytes that Buffer collects.
const batch = 64 << 10

// Close marks the end of the stream. A reader knows by the mark that nothing is missing. Close
// does not close the underlying writer.
func (a *Appender) Close() error { return a.encoder.Close() }
