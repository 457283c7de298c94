// Package jsonfile reads and writes JSON files.
package jsonfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
)

// Read decodes a file, which may be stored compressed (packed.Find). Its error names the file.
func Read(path string, v any) error {
	data, err := packed.ReadFile(path)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return input.Errorf("%s: expected a whole JSON document: %w", packed.Find(path), io.ErrUnexpectedEOF)
	case err != nil:
		return input.Errorf("%s: %w", path, cmp.Or(errors.Unwrap(err), err))
	}
	if err := json.Unmarshal(data, v); err != nil {
		if !json.Valid(data) {
			return input.Errorf("%s: expected a whole JSON document: %w", path, err)
		}
		return input.Errorf("%s: %w", path, err)
	}
	return nil
}

// Write writes v, indented, in one step: after a failure the old file is unchanged. The error
// names the file.
func Write(path string, v any) error {
	data, err := encode(path, v)
	if err != nil {
		return err
	}
	return replace(path, data)
}

// WriteLine writes v as Write does, but in one line, which takes half the space.
func WriteLine(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return replace(path, append(data, '\n'))
}

// WritePacked writes v as Write does, but compressed, into the file path + packed.Suffix. Then it
// removes the file path, if there is one, because Read prefers that file.
func WritePacked(path string, v any) error {
	data, err := encode(path, v)
	if err != nil {
		return err
	}
	if err := replace(path+packed.Suffix, packed.Pack(data)); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func encode(path string, v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return append(data, '\n'), nil
}

// replace writes a file in one step, so that a killed program leaves the old or the new file.
func replace(path string, data []byte) error {
	temporary := path + ".part"
	err := os.WriteFile(temporary, data, 0o666)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // frees space if the disk is full
	}
	return err
}
