package packed

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
)

// ReadJSON decodes a file, which may be stored compressed (Find). Its error names the file.
func ReadJSON(path string, v any) error {
	data, err := ReadFile(path)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return input.Errorf("%s: expected a whole JSON document: %w", Find(path), io.ErrUnexpectedEOF)
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

// WriteJSON writes v, indented, in one step: after a failure the old file is unchanged. The error
// names the file.
func WriteJSON(path string, v any) error {
	data, err := encode(path, v)
	if err != nil {
		return err
	}
	return Replace(path, data)
}

// WriteJSONLine writes v as WriteJSON does, but in one line, which takes half the space.
func WriteJSONLine(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return Replace(path, append(data, '\n'))
}

// WriteJSONPacked writes v as WriteJSON does, but compressed, into the file path + Suffix. Then it
// removes the file path, if there is one, because ReadJSON prefers that file.
func WriteJSONPacked(path string, v any) error {
	data, err := encode(path, v)
	if err != nil {
		return err
	}
	if err := Replace(path+Suffix, Pack(data)); err != nil {
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

// Replace writes a file in one step, so that a killed program leaves the old or the new file. The error is of the
// operating system.
func Replace(path string, data []byte) error {
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
