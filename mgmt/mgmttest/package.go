package mgmttest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Package copies a package with files of the test's own, and states their digests.
func Package(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	to := t.TempDir()
	check(t, os.CopyFS(to, os.DirFS(dir)))
	const metaFile = "TOSCA-Metadata/TOSCA.meta"
	meta, err := os.ReadFile(filepath.Join(to, metaFile))
	check(t, err)
	for name, content := range files {
		block := regexp.MustCompile(`(Name: ` + regexp.QuoteMeta(name) + `\n(?:.+\n)*?Hash: )\w+`)
		meta = block.ReplaceAll(meta, fmt.Appendf(nil, "${1}%x", sha256.Sum256([]byte(content))))
		write(t, filepath.Join(to, name), content)
	}
	write(t, filepath.Join(to, metaFile), string(meta))
	return to
}

func write(t testing.TB, name, content string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(name), 0o700))
	check(t, os.WriteFile(name, []byte(content), 0o600))
}
