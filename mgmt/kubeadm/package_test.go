package kubeadm_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// packageWithFiles copies the sample package with files of the test's own, and states their digests.
func packageWithFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(packageDir)); err != nil {
		t.Fatal(err)
	}
	const metaFile = "TOSCA-Metadata/TOSCA.meta"
	meta, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		block := regexp.MustCompile(`(Name: ` + regexp.QuoteMeta(name) + `\n(?:.+\n)*?Hash: )\w+`)
		meta = block.ReplaceAll(meta, fmt.Appendf(nil, "${1}%x", sha256.Sum256([]byte(content))))
		write(t, filepath.Join(dir, name), content)
	}
	write(t, filepath.Join(dir, metaFile), string(meta))
	return dir
}

func write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
