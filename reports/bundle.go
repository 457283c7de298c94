package reports

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/packed"
)

// Bundle writes the directory of a campaign to w, as a zip archive with one folder called name.
// The archive has each compressed file both compressed and unpacked, since pages link to either
// form. The same directory gives the same bytes; modified is the time of every file.
func Bundle(w io.Writer, dir, name string, modified time.Time) error {
	dir, err := filepath.EvalSymlinks(dir) // "latest" is a link
	if err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	archive := zip.NewWriter(w)
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		inside, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		entry := path.Join(name, filepath.ToSlash(inside))
		if err := bundleFile(archive, file, entry, modified, os.Open); err != nil {
			return err
		}
		plain, compressed := strings.CutSuffix(entry, packed.Suffix)
		if !compressed {
			return nil
		}
		return bundleFile(archive, file, plain, modified, packed.Open)
	})
	if err = cmp.Or(err, archive.Close()); err != nil {
		return fmt.Errorf("bundle %s: %w", dir, err)
	}
	return nil
}

// bundleFile adds file to the archive under name. open reads it.
func bundleFile[F io.ReadCloser](archive *zip.Writer, file, name string, modified time.Time, open func(string) (F, error)) error {
	f, err := open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	to, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified.UTC()})
	if err != nil {
		return err
	}
	if _, err = io.Copy(to, f); errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // the file of a killed run: its readable part is in the archive
	}
	return err
}
