package yamltree_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// hostile are documents made to be slow to read. make returns a document of about size bytes.
var hostile = []struct {
	name string
	make func(size int) string
}{
	{"plain", func(n int) string { return lines(n, "key#: {type: tosca.nodes.nfv.VduCp, order: #}\n") }},
	{"flow sequence", func(n int) string { return "x: [" + strings.Repeat("a,", n/2) + "]\n" }},
	{"one letter lines", func(n int) string { return "x:\n" + strings.Repeat("- a\n", n/4) }},
	{"empty items", func(n int) string { return "x:\n" + strings.Repeat("-\n", n/2) }},
	{"nested flow", func(n int) string { return "x: " + strings.Repeat("[", n/2) + strings.Repeat("]", n/2) + "\n" }},
	{"nested mappings", func(n int) string { return "x: " + strings.Repeat("{a: ", n/5) + strings.Repeat("}", n/5) + "\n" }},
	{"nested items", func(n int) string { return "x:\n  " + strings.Repeat("- ", n/2) + "\n" }},
	{"nested blocks", func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}},
	{"open flow", func(n int) string { return "x: " + strings.Repeat("[", n) }},
	{"open quote", func(n int) string { return "x: \"" + strings.Repeat("a\n ", n/3) }},
	{"huge key", func(n int) string { return strings.Repeat("k", n) + ": 1\n" }},
	{"huge quoted key", func(n int) string { return "\"" + strings.Repeat("k", n) + "\": 1\n" }},
	{"huge explicit key", func(n int) string { return "? " + strings.Repeat("k", n) + "\n: 1\n" }},
	{"possible keys", func(n int) string { return "x: [" + strings.Repeat("\"a\" ,", n/5) + "]\n" }},
	{"anchors", func(n int) string { return "x:\n" + lines(n, "- &a# a\n") }},
	{"aliases", func(n int) string { return "a: &a x\nx:\n" + strings.Repeat("- *a\n", n/5) }},
	{"aliases of many anchors", func(n int) string { return "x:\n" + lines(n/2, "- &a# a\n") + lines(n/2, "- *a#\n") }},
	{"merges", func(n int) string { return "a: &a {k: 1}\nx:\n" + strings.Repeat("- {<<: *a}\n", n/11) }},
	{"comments", func(n int) string { return "x:\n" + strings.Repeat("# c\n- a # d\n", n/12) }},
	{"comments only", func(n int) string { return "x: 1\n" + strings.Repeat("#\n", n/2) }},
	{"comments before an item", func(n int) string { return "x:\n" + strings.Repeat("  # c\n", n/6) + "  - a\n" }},
	{"comments of growing indent", func(n int) string { return "x:\n" + strings.Repeat("   # c\n\n # d\n", n/13) + "  - a\n" }},
	{"long scalar", func(n int) string { return "x: " + strings.Repeat("a", n) + "\n" }},
	{"folded scalar", func(n int) string { return "x: >\n" + strings.Repeat("  a\n", n/4) }},
	{"blank lines", func(n int) string { return "x: a\n" + strings.Repeat("\n", n) + "y: b\n" }},
	{"tags", func(n int) string { return "x:\n" + strings.Repeat("- !!str a\n", n/10) }},
	{"numbers", func(n int) string { return "x: [" + strings.Repeat("1e9,", n/4) + "]\n" }},
	{"digits", func(n int) string { return "x: " + strings.Repeat("9", n) + "\n" }},
	{"underscores", func(n int) string { return "x: 0x" + strings.Repeat("_1", n/2) + "\n" }},
	{"dates", func(n int) string { return "x: [" + strings.Repeat("2001-01-01,", n/11) + "]\n" }},
	{"escapes", func(n int) string { return "x: \"" + strings.Repeat("\\x41", n/4) + "\"\n" }},
	{"directives", func(n int) string { return lines(n, "%TAG !e#! tag:x,2000:\n") + "---\nx: 1\n" }},
	{"documents", func(n int) string { return "x: 1\n" + strings.Repeat("---\n- a\n", n/8) }},
	{"duplicate keys", func(n int) string { return strings.Repeat("k: 1\n", n/5) }},
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// TestCost checks that the memory for a document is at most a multiple of its size, and at most 100 MiB.
func TestCost(t *testing.T) {
	for _, h := range hostile {
		for _, size := range []int{32 << 10, 2 << 20} {
			text := []byte(h.make(size))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			yamltree.NewParser(&report.Report{}).Parse("f.yaml", text)
			runtime.ReadMemStats(&after)
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(min(300*len(text), 100<<20)); got > most {
				t.Errorf("%s of %d bytes: %d bytes allocated, want at most %d", h.name, len(text), got, most)
			}
		}
	}
}

// BenchmarkHostile reports the cost per KiB of each document.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		b.Run(strings.ReplaceAll(h.name, " ", "-"), func(b *testing.B) {
			text := []byte(h.make(256 << 10))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for range b.N {
				yamltree.NewParser(&report.Report{}).Parse("f.yaml", text)
			}
		})
	}
}
