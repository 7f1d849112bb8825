package packagefolder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// mark identifies the folder of a Store. The file markFile in the folder has the same name.
type mark struct {
	Name string `json:"name"`
}

const markFile = "store"

// Claim compares the mark of the folder with that in the Store, and sets both in a new folder, in which the folder contents is empty. It
// refuses the folder of another Store, and one without the mark of this Store, which may be a mount point without its file system.
func (f Folder) Claim(ctx context.Context, documents *vnflcm.Documents, contents string) error {
	for {
		d, err := documents.Get(ctx, "folder")
		if errors.Is(err, vnflcm.ErrNotFound) {
			name, err := f.mark(contents)
			if err != nil {
				return err
			}
			if err := documents.Put(ctx, "folder", 0, mark{Name: name}); err != nil && !errors.Is(err, vnflcm.ErrConflict) {
				return err
			}
			continue
		}
		var stored mark
		if err == nil {
			err = d.Decode(&stored)
		}
		if err != nil {
			return err
		}
		present, err := os.ReadFile(f.Path(markFile))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case string(present) != stored.Name:
			return fmt.Errorf("%s is not the folder that the Store has its packages in: its file %s must have the text %s. Is its file system mounted?", f.Dir, markFile, stored.Name)
		}
		return nil
	}
}

// mark returns the mark of a folder without packages, which it makes if it is missing. Of several processes one makes it.
func (f Folder) mark(contents string) (string, error) {
	path := f.Path(markFile)
	draft := f.Path("." + markFile + "-" + uuid.NewString())
	if err := os.WriteFile(draft, []byte(uuid.NewString()), 0o600); err != nil {
		return "", err
	}
	err := os.Link(draft, path)
	_ = os.Remove(draft) // a few bytes may stay
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	entries, err := os.ReadDir(f.Path(contents))
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s has the packages of another Store", f.Dir)
	}
	name, err := os.ReadFile(path) //nolint:gosec // a file of the packages
	return string(name), errors.Join(err, syncFolder(f.Dir))
}
