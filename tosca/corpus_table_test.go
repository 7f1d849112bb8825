package tosca_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// guide is the document with the table. The other constants are the lines before and after the table.
const (
	guide      = "../docs/packages.md"
	tableBegin = "<!-- corpus: go test ./tosca -run TestCorpusTable -update -->\n"
	tableEnd   = "<!-- corpus end -->\n"
)

// origins are the rows of the table, by prefixes of the names in the corpus.
var origins = []struct {
	name     string
	prefixes []string
}{
	{"Tacker: samples and tests", []string{"tacker-"}},
	{"O-RAN SMO, python-tackerclient", []string{"oran-", "tackerclient-"}},
	{"ONAP etsicatalog", []string{"etsicat-"}},
	{"ONAP vnfsdk", []string{"vnfsdk-"}},
	{"ONAP demo, SDC, SO", []string{"onap-", "sdc-", "so-"}},
	{"openmsa", []string{"openmsa-"}},
	{"tosca-parser, xopera", []string{"tp-", "xopera-"}},
}

// accepted counts packages, and those that are accepted by this module, by this module without checking digests and signatures (which
// no peer checks), and by the peers in the order of the index.
type accepted struct {
	packages int
	by       [6]int
}

// TestCorpusTable compares the table of the guide with the results for the packages of the corpus. The columns of the
// peers come from the index of the corpus.
func TestCorpusTable(t *testing.T) {
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS is not set: no corpus of packages to read")
	}
	rows := map[string]*accepted{} // by origin and intent
	for _, cells := range indexRows(t, filepath.Join(corpus, "tosca", "INDEX.md")) {
		id, form, intent := cells[1], cells[2], cells[3]
		path := filepath.Join(corpus, "tosca", "pkg", id)
		if form != "dir" {
			path += "." + form
		}
		key := originOf(t, id) + "|" + intent
		if rows[key] == nil {
			rows[key] = &accepted{}
		}
		r := rows[key]
		r.packages++
		left := faultsOf(t, path, strings.Contains(cells[13], "placeholder"))
		if len(left) == 0 {
			r.by[0]++
		}
		if len(faultsOf(t, path, false, tosca.WithIntegrity(csar.Integrity{Policy: csar.Off}))) == 0 {
			r.by[1]++
		}
		for i, verdict := range cells[8:12] {
			if verdict == "ok" {
				r.by[i+2]++
			}
		}
		if (len(left) == 0) != (intent != "negative") {
			t.Logf("%s is %s:\n%v", id, intent, left)
		}
	}
	want := tableBegin + table(rows) + tableEnd
	content, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(content, []byte(tableBegin))
	_, after, ended := bytes.Cut(rest, []byte(tableEnd))
	if !found || !ended {
		t.Fatalf("%s has no place for the table", guide)
	}
	if *update {
		if err := os.WriteFile(guide, slices.Concat(before, []byte(want), after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(content[len(before):len(content)-len(after)])); diff != "" {
		t.Errorf("%s (-want +got):\n%s", guide, diff)
	}
}

// faultsOf checks a package. It leaves out faults that the corpus causes: members that it omits, and images that it
// replaced by a text.
func faultsOf(t *testing.T, path string, placeholder bool, opts ...tosca.Option) problem.List {
	t.Helper()
	found, err := tosca.Check(context.Background(), path, append(opts, tosca.AnyDescriptor())...)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	omitted := []string{"OMITTED.txt"}
	list, _ := os.ReadFile(filepath.Join(path, "OMITTED.txt")) // most packages do not have this file
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] != "#" {
			omitted = append(omitted, f[2])
		}
	}
	if placeholder {
		omitted = append(omitted, filesOfSize(t, path, 33)...)
	}
	return slices.DeleteFunc(found, func(p problem.Problem) bool {
		return p.Severity == problem.Warning || slices.ContainsFunc(omitted, func(name string) bool {
			return p.File == name || strings.Contains(p.Message, name)
		})
	})
}

func filesOfSize(t *testing.T, root string, size int64) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() == size {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func originOf(t *testing.T, id string) string {
	t.Helper()
	for _, o := range origins {
		if slices.ContainsFunc(o.prefixes, func(p string) bool { return strings.HasPrefix(id, p) }) {
			return o.name
		}
	}
	t.Fatalf("%s has no row in the table", id)
	return ""
}

func table(rows map[string]*accepted) string {
	var b strings.Builder
	b.WriteString("| origin | its own word | packages | vnfkit | vnfkit, integrity off | tosca-parser 2.6 | tosca-parser 2025 | puccini 0.22.7 | puccini, quirks on |\n|---|---|---|---|---|---|---|---|---|\n")
	sums := map[string]*accepted{}
	line := func(origin, intent string, r *accepted) {
		fmt.Fprintf(&b, "| %s | %s | %d |", origin, intent, r.packages)
		for _, n := range r.by {
			fmt.Fprintf(&b, " %d |", n)
		}
		b.WriteByte('\n')
	}
	intents := []string{"valid", "runtime-negative", "negative"}
	for _, o := range origins {
		for _, intent := range intents {
			r := rows[o.name+"|"+intent]
			if r == nil {
				continue
			}
			line(o.name, intent, r)
			if sums[intent] == nil {
				sums[intent] = &accepted{}
			}
			sums[intent].packages += r.packages
			for i, n := range r.by {
				sums[intent].by[i] += n
			}
		}
	}
	for _, intent := range intents {
		if sums[intent] != nil {
			line("**all**", intent, sums[intent])
		}
	}
	return b.String()
}

// indexRows returns the rows about packages in the index of the corpus, with trimmed cells.
func indexRows(t *testing.T, path string) [][]string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) == 15 && !slices.Contains([]string{"id", "---"}, cells[1]) {
			rows = append(rows, cells)
		}
	}
	return rows
}
