package kubernetes_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
)

// TestHelmIgnore compares the files that are packed from a chart directory with those that Helm's loader reads from it.
func TestHelmIgnore(t *testing.T) {
	t.Parallel()
	names := []string{"Chart.yaml", "values.yaml", "README.md", "templates/a.yaml", "templates/a.yaml.bak", "templates/.hidden.yaml", "templates/sub/.hidden.yaml",
		"files/a.txt", "files/keep/a.txt", "ci/values.yaml", "docs/ci/x", "crds/c.yaml", "charts/sub/Chart.yaml", "charts/sub/templates/a.yaml.bak", "charts/sub/.helmignore"}
	for name, rules := range map[string]string{
		"none": "", "comments": "# *.md\n\n  \n", "a suffix": "*.bak\n", "a name": "README.md", "a path": "templates/a.yaml", "from the top": "/values.yaml",
		"a directory": "ci/", "a directory of the top": "/ci/", "a file like a directory": "README.md/", "a negated rule": "!*.yaml\n",
		"after a rule": "*.md\n!files/*\n", "Windows": "*.md\r\nci/\r\n", "byte order mark": "\ufeff*.md\n", "spaces": "  *.md  \n", "a folder's content": "files/*\n",
		"a class": "templates/[a-b].yaml", "everything": "*\n", "all but directories": "!*/\n", "faulty": "[a", "double star": "**/*.md",
	} {
		dir, files := t.TempDir(), fstest.MapFS{}
		write := func(name, text string) {
			files["c/"+name] = &fstest.MapFile{Data: []byte(text)}
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range names {
			write(n, "name: c\nversion: 1.0.0\n")
		}
		if rules != "" {
			write(".helmignore", rules)
		}
		want, wantErr := loaded(dir)
		got, err := packedFiles(files)
		if diff := cmp.Diff(want, got); (err != nil) != (wantErr != nil) || diff != "" {
			t.Errorf("%s: %v, Helm: %v (-Helm +ours)\n%s", name, err, wantErr, diff)
		}
	}
}

// loaded lists the files that Helm reads from a directory. A chart without Chart.yaml has no files.
func loaded(dir string) (out []string, err error) {
	c, err := loader.LoadDir(dir)
	if err != nil && err.Error() != "Chart.yaml file is missing" {
		return nil, err
	}
	for _, f := range c.Raw {
		out = append(out, f.Name)
	}
	slices.Sort(out)
	return out, nil
}

func packedFiles(files fstest.MapFS) (out []string, err error) {
	r, err := kubernetes.Packaged(files, "c")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		return nil, err
	}
	for members := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := members.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, h.Name[len("chart/"):])
	}
}
