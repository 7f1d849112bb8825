package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinksInCode checks that the sections of guides which errors and comments name exist. A link has the form docs/page.md#section.
func TestLinksInCode(t *testing.T) {
	links, found := regexp.MustCompile(`docs/[\w-]+\.md#[\w-]+`), 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name) //nolint:gosec // a file of this module
		if err != nil {
			return err
		}
		for _, link := range links.FindAllString(string(text), -1) {
			page, section, _ := strings.Cut(link, "#")
			found++
			if guide, err := os.ReadFile(filepath.Join(root, page)); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if !sections(string(guide))[section] {
				t.Errorf("%s: %s has no section %s", name, page, section)
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d links, %v", found, err)
	}
}

// sections returns the anchors that GitHub gives the headings of a page.
func sections(text string) map[string]bool {
	out, dropped := map[string]bool{}, regexp.MustCompile(`[^\w\- ]`)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		out[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")] = true
	}
	return out
}
