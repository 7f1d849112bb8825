package kubernetes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// ignoreRule is a line of .helmignore (helm.sh/helm, pkg/ignore). Patterns are those of path.Match.
type ignoreRule struct {
	pattern string
	negated bool // files that do not match are ignored
	folders bool // the rule is for directories only
	whole   bool // the pattern is compared with the path in the chart, otherwise with the last element
}

// ignoreRules decide which files of a chart directory are no part of the chart.
type ignoreRules []ignoreRule

// readIgnoreRules reads the .helmignore of a chart directory, if it exists, and adds Helm's own rule.
func readIgnoreRules(dir fs.FS) (ignoreRules, error) {
	text, err := fs.ReadFile(dir, ".helmignore")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out ignoreRules
	for line := range strings.Lines(string(bytes.TrimPrefix(text, []byte("\ufeff"))) + "\n" + "templates/.?*") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := path.Match(line, "abc"); err != nil || strings.Contains(line, "**") {
			return nil, fmt.Errorf(".helmignore: the pattern %q is not supported", line)
		}
		out = append(out, parseIgnoreRule(line))
	}
	return out, nil
}

func parseIgnoreRule(line string) (r ignoreRule) {
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.folders = strings.CutSuffix(line, "/")
	r.whole = strings.Contains(line, "/")
	r.pattern = strings.TrimPrefix(line, "/")
	return r
}

// ignores reports whether a file or directory is no part of the chart. The first rule that applies decides.
func (rules ignoreRules) ignores(name string, isDir bool) bool {
	for _, r := range rules {
		compared := name
		if !r.whole {
			compared = path.Base(name)
		}
		matches, _ := path.Match(r.pattern, compared) // the pattern was checked
		if r.folders && !isDir {
			matches = false
		}
		if matches != r.negated {
			return true
		}
	}
	return false
}
