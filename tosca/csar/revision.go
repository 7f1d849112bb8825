package csar

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
)

// Revision returns a text that changes when the package at name changes. It does not read the package: the text depends on the names,
// sizes, times and, on Linux, inodes of the files. A change that keeps all of these is not noticed. So use Revision to decide whether to
// read a package again, and never to decide whether to trust it.
func Revision(ctx context.Context, name string, l Limits) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("csar: %w", err)
	}
	if !info.IsDir() {
		return revisionOf(info), nil
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return "", fmt.Errorf("csar: %w", err)
	}
	defer func() { _ = root.Close() }() // root is only read
	all, files, limit := sha256.New(), 0, l.withDefaults().Members
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if files++; files > limit+1 {
			return fs.SkipAll // Open refuses the package
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(all, "%q %s\n", name, revisionOf(info)) // writing to a hash never fails
		if info.Mode()&fs.ModeSymlink == 0 {
			return nil
		}
		if target, err := root.Stat(name); err == nil {
			_, _ = fmt.Fprintln(all, revisionOf(target))
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("csar: list package: %w", err)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

func revisionOf(info fs.FileInfo) string {
	return fmt.Sprintf("%s %d %d %s", info.Mode(), info.Size(), info.ModTime().UnixNano(), inodeOf(info))
}
