package csar

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
)

// Revision returns a text that changes when the package at name does, without
// reading the package. It is made of the names, sizes, times and, on Linux, inodes
// of its files: a change that keeps all of these is not noticed, so it decides
// whether to read a package again, and never whether to trust one.
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
	defer func() { _ = root.Close() }() // it was only read
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
		_, _ = fmt.Fprintf(all, "%q %s\n", name, revisionOf(info)) // never fails
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
