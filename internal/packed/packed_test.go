package packed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func content(t *testing.T, path string) (string, error) {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

func TestBothFormsAreRead(t *testing.T) {
	dir := t.TempDir()
	plain, small := filepath.Join(dir, "plain"), filepath.Join(dir, "small")
	if err := errors.Join(os.WriteFile(plain, []byte("as it is"), 0o600), WriteFile(small, []byte("compressed"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{plain: "as it is", small: "compressed", small + Suffix: "compressed"} {
		if got, err := content(t, path); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: got %v", err)
	}
}

// TestWhateverWasAppendedIsReadAfterAKill cuts a stream after each of its bytes.
func TestWhateverWasAppendedIsReadAfterAKill(t *testing.T) {
	var stream bytes.Buffer
	a := NewAppender(&stream)
	var ends []int // length of the stream after each line
	var whole string
	for i := range 20 {
		line := fmt.Sprintf("line %d of a stream\n", i)
		whole += line
		if err := a.Append([]byte(line)); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, stream.Len())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "stream"+Suffix)
	for n := range stream.Len() + 1 {
		if err := os.WriteFile(path, stream.Bytes()[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, end := range ends {
			if end <= n {
				want++
			}
		}
		got, err := content(t, path)
		if lines := bytes.Count([]byte(got), []byte("\n")); lines != want || got != whole[:len(got)] {
			t.Errorf("cut after %d bytes: got %d lines, want %d: %q", n, lines, want, got)
		}
		// An empty file is a stream to which nothing was ever written.
		if ended := n == 0 || n == stream.Len(); ended && err != nil || !ended && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d of %d bytes: got error %v", n, stream.Len(), err)
		}
	}
}

func TestBufferedDataWaitsForABatch(t *testing.T) {
	var buffered, flushed bytes.Buffer
	a, b := NewAppender(&buffered), NewAppender(&flushed)
	line := []byte(strings.Repeat("a line of some length ", 40) + "\n")
	for range 1000 {
		if err := errors.Join(a.Buffer(line), b.Append(line)); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (lines int, err error) {
		path := filepath.Join(t.TempDir(), "stream"+Suffix)
		if err := os.WriteFile(path, buffered.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := content(t, path)
		return strings.Count(got, "\n"), err
	}
	lost := batch/len(line) + 1
	if lines, err := read(); lines < 1000-lost || lines >= 1000 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("before Close, got %d lines of 1000, want at least %d and not all; error %v", lines, 1000-lost, err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	if lines, err := read(); lines != 1000 || err != nil {
		t.Errorf("after Close, got %d lines of 1000, error %v", lines, err)
	}
	if 2*buffered.Len() > flushed.Len() {
		t.Errorf("%d bytes buffered, %d flushed line by line: want at most half", buffered.Len(), flushed.Len())
	}
}

func TestAFileThatIsNotCompressedIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines"+Suffix)
	if err := os.WriteFile(path, []byte("as it is, in spite of its name"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := content(t, path); err == nil || errors.Is(err, io.ErrUnexpectedEOF) || got != "" {
		t.Errorf("got %q, %v, want an error", got, err)
	}
}

func TestAFileIsReadAgainFromItsStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small")
	if err := WriteFile(path, []byte("compressed")); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		data, err := io.ReadAll(f)
		if err != nil || string(data) != "compressed" {
			t.Fatalf("%q, %v", data, err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Seek(1, io.SeekStart); err == nil {
		t.Error("a seek past the start is no error")
	}
}
