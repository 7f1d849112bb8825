package yamltree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// parseWith parses a document with a cache, and adds it if isAdded is set.
func parseWith(t *testing.T, cache *yamltree.Cache, file, content string, isAdded bool) *yamltree.Node {
	t.Helper()
	r := &report.Report{}
	parser := yamltree.NewParser(r)
	parser.Cache, parser.Misfits = cache, r
	root := parser.Parse(file, []byte(content))
	if root == nil || r.Err() != nil {
		t.Fatal(r.Err())
	}
	if isAdded {
		cache.Add([]byte(content), root)
	}
	return root
}

func TestCache(t *testing.T) {
	const content = "a: {b: [c, d]}\n"
	cache := &yamltree.Cache{}
	first := parseWith(t, cache, "f.yaml", content, true)
	for _, tt := range []struct {
		name, file, content string
		cached              bool
	}{
		{"same file", "f.yaml", content, true},
		{"other name", "g.yaml", content, false},
		{"other content", "f.yaml", content + "e: f\n", false},
	} {
		if got := parseWith(t, cache, tt.file, tt.content, false); (got == first) != tt.cached {
			t.Errorf("%s: the tree is shared: %v", tt.name, got == first)
		}
	}
	if first.Get("a").List() != nil { // reported nowhere, because another goroutine may read it too
		t.Error("a mapping is read as a list")
	}
}

// TestCacheBudget checks that documents of a cache count as much as others, so that a descriptor has the same verdict.
func TestCacheBudget(t *testing.T) {
	content := "[" + strings.Repeat("a,", 45_000) + "a]\n"
	for _, cache := range []*yamltree.Cache{nil, {}} {
		if cache != nil {
			parseWith(t, cache, "f.yaml", content, true)
		}
		r := &report.Report{}
		parser := yamltree.NewParser(r)
		parser.Cache = cache
		for range 2 {
			if parser.Parse("f.yaml", []byte(content)) == nil {
				t.Fatal(r.Err())
			}
		}
		if parser.Parse("f.yaml", []byte(content)) != nil || r.Err() == nil {
			t.Error("three of these documents are within the limit of nodes")
		}
	}
}

// TestCacheLimit checks that the document that was not used for the longest time is removed first.
func TestCacheLimit(t *testing.T) {
	cache := &yamltree.Cache{}
	document := func(i int) string { return fmt.Sprint("[", strings.Repeat("a,", 40_000), i, "]\n") } // 8 MiB by the estimate of a Cache
	root := func(i int, isAdded bool) *yamltree.Node { return parseWith(t, cache, "f.yaml", document(i), isAdded) }
	first, second := root(1, true), root(2, true)
	root(3, true)
	root(1, false)
	root(4, true)
	root(5, true)
	if root(1, false) != first {
		t.Error("the document that was used last is removed")
	}
	if root(2, false) == second {
		t.Error("all documents are kept")
	}
}
