package onboarding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// folderRecord identifies the folder of a Store. The file markFile in the folder has the same name.
type folderRecord struct {
	Name string `json:"name"`
}

const markFile = "store"

// checkFolder compares the mark of the folder with that in the Store, and sets both in a new folder.
func (r *Repository) checkFolder(ctx context.Context, m *vnflcm.Manager) error {
	documents := m.Documents(foldersIn)
	for {
		d, err := documents.Get(ctx, "folder")
		if errors.Is(err, vnflcm.ErrNotFound) {
			mark, err := r.markFolder()
			if err != nil {
				return err
			}
			if err := documents.Put(ctx, "folder", 0, folderRecord{Name: mark}); err != nil && !errors.Is(err, vnflcm.ErrConflict) {
				return err
			}
			continue
		}
		var record folderRecord
		if err == nil {
			err = d.Decode(&record)
		}
		if err != nil {
			return err
		}
		mark, err := os.ReadFile(filepath.Join(r.dir, markFile))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case string(mark) != record.Name:
			return fmt.Errorf("%s is not the folder that the Store has its packages in: its file %s must have the text %s. Is its file system mounted?", r.dir, markFile, record.Name)
		}
		return nil
	}
}

// markFolder returns the mark of a folder without packages, which it makes if it is missing. Of several processes one makes it.
func (r *Repository) markFolder() (string, error) {
	path := filepath.Join(r.dir, markFile)
	draft := filepath.Join(r.dir, "."+markFile+"-"+uuid.NewString())
	if err := os.WriteFile(draft, []byte(uuid.NewString()), 0o600); err != nil {
		return "", err
	}
	err := os.Link(draft, path)
	_ = os.Remove(draft) // a few bytes may stay
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, contentFolder))
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s has the packages of another Store", r.dir)
	}
	mark, err := os.ReadFile(path) //nolint:gosec // a file of the Repository
	return string(mark), errors.Join(err, syncFolder(r.dir))
}

func isUUID(text string) bool {
	return uuid.Validate(text) == nil && len(text) == len(uuid.Nil.String())
}

// sweep removes files that no package has: of uploads whose process has ended, and of content whose removal was interrupted.
func (r *Repository) sweep(ctx context.Context) error {
	// The order matters: an upload is in its record before its file exists, and its content is written with the record.
	files, err := r.files()
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	err = r.each(ctx, "", func(p *entry, err error) error {
		needed[p.Attempt] = true
		return err // of a record that cannot be read the files are not known
	})
	if err != nil {
		return err
	}
	m, err := r.attached()
	if err != nil {
		return err
	}
	list, err := m.Documents(contentsIn).List(ctx, "", 0)
	if err != nil {
		return err
	}
	for _, d := range list {
		var c contentRecord
		if err := d.Decode(&c); err != nil {
			return err
		}
		needed[c.File] = true
	}
	for _, name := range files {
		attempt, own := attemptOf(filepath.Base(name))
		if own && !needed[name] && !needed[attempt] {
			r.removeFile(ctx, name)
		}
	}
	return nil
}

// files returns the files of uploads and of contents, below the folder.
func (r *Repository) files() (list []string, err error) {
	for _, folder := range []string{uploadsFolder, contentFolder} {
		err = errors.Join(err, fs.WalkDir(os.DirFS(r.dir), folder, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
				return nil
			}
			if err == nil && d.Type().IsRegular() {
				list = append(list, filepath.FromSlash(name))
			}
			return err
		}))
	}
	return list, err
}
