// Package jsonfile reads and writes JSON files.
package jsonfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/internal/input"
)

// Read decodes a file; the error names it.
func Read(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return input.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	if err := json.Unmarshal(data, v); err != nil {
		if !json.Valid(data) {
			return input.Errorf("%s: expected a whole JSON document: %w", path, err)
		}
		return input.Errorf("%s: %w", path, err)
	}
	return nil
}

// Write writes v, indented, whole or not at all. Its error names the file.
func Write(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	temporary := path + ".part"
	err = os.WriteFile(temporary, append(data, '\n'), 0o666)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // frees space if the disk is full
	}
	return err
}
