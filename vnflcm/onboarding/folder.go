package onboarding

import (
	"context"
	"path/filepath"

	"github.com/google/uuid"
)

func isUUID(text string) bool {
	return uuid.Validate(text) == nil && len(text) == len(uuid.Nil.String())
}

// sweep removes files that no package has: of uploads whose process has ended, and of content whose removal was interrupted.
func (r *Repository) sweep(ctx context.Context) error {
	// The order matters: an upload is in its record before its file exists, and its content is written with the record.
	files, err := r.folder.List(uploadsFolder, contentFolder)
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
