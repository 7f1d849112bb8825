package archtest_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// crutches are words and phrases that make a sentence hard to understand, and what to write instead. A word is listed only if
// correct technical English does not need it: "such" and "what" are hard to read as well, but "no such file" is not.
var crutches = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	"nobody", "somebody", "whoever", // name the actor: the client, another process, a user of the machine
	"anew",                  // again
	"goes",                  // is deleted, is sent to, continues
	"at work",               // running
	"of its own",            // a separate
	"of their own",          // separate
	"what it is",            // name the noun
	"is none", "is that of", // repeat the noun
	"the others",    // the remaining nodes, the other processes
	"the way forth", // forward
}, "|") + `)\b`)

// allowed are phrases with one of these words that are good English or names.
var allowed = regexp.MustCompile(`(?i)there is none|if none is none|the (Unix )?user nobody|the others'`)

// TestWords finds crutches in the comments of Go files and in the guides.
func TestWords(t *testing.T) {
	checked := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		texts, err := prose(filepath.Join(root, path))
		for _, text := range texts {
			if word := crutch(text.text); word != "" {
				t.Errorf("%s:%d: %q: say who acts, and repeat the noun (CONTRIBUTING.md, Style)", path, text.line, word)
			}
		}
		checked += min(1, len(texts))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Errorf("only %d files looked at: is %s the root of the repository?", checked, root)
	}
}

// excerpt is a comment, or a line of a guide.
type excerpt struct {
	line int
	text string
}

// prose returns the comments of a Go file, or the lines of a guide outside of its code blocks.
func prose(name string) ([]excerpt, error) {
	switch filepath.Ext(name) {
	case ".go":
		return comments(name)
	case ".md":
		return lines(name)
	}
	return nil, nil
}

func comments(name string) (out []excerpt, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range f.Comments {
		out = append(out, excerpt{set.Position(group.Pos()).Line, group.Text()})
	}
	return out, nil
}

func lines(name string) (out []excerpt, err error) {
	data, err := os.ReadFile(name)
	code := false
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if !code {
			out = append(out, excerpt{i + 1, line})
		}
	}
	return out, err
}

// crutch returns the first crutch in a text, "" if there is none.
func crutch(text string) string {
	text = allowed.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
	return crutches.FindString(text)
}
