package csar_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// facts are what the index of the corpus says of a manifest, found out by other
// means than ours.
type facts struct {
	sources, ok, bad, noFile, none, absent int
	cms                                    string // "", "verifies" or "does NOT verify"
}

// differs explains packages of which we find something else than the index says.
var differs = map[string]string{}

// TestCorpus compares the digests and signatures of real packages with what the
// index of the corpus says of them. Set VNFKIT_CORPUS to the folder that holds
// tosca/INDEX.md and tosca/pkg.
func TestCorpus(t *testing.T) {
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS is not set: no corpus of packages to read")
	}
	entries, err := os.ReadDir(filepath.Join(corpus, "tosca", "pkg"))
	if err != nil {
		t.Fatal(err)
	}
	index := readIndex(t, filepath.Join(corpus, "tosca", "INDEX.md"))
	for _, e := range entries {
		name := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".csar"), ".zip")
		path := filepath.Join(corpus, "tosca", "pkg", e.Name())
		a, err := csar.Open(t.Context(), path, csar.Options{Integrity: csar.Integrity{Policy: csar.Warn}})
		if err != nil {
			t.Logf("%s: %v", e.Name(), err)
			continue
		}
		if err := a.Verify(t.Context()); err != nil {
			t.Errorf("%s: Verify with warnings only: %v", name, err)
		}
		_, indexed := index[name]
		got := factsOf(a)
		if got != index[name] && indexed || !indexed && got != (facts{}) {
			t.Errorf("%s:\n got %+v\nwant %+v\n%v", name, got, index[name], a.Warnings())
		}
		a.Close()
	}
}

func factsOf(a *csar.Archive) facts {
	var f facts
	m := a.Manifest()
	if m == nil {
		return f
	}
	count := map[problem.Code]int{}
	for _, w := range a.Warnings() {
		if w.File == m.File {
			count[w.Code]++
		}
	}
	lists := [][]csar.Source{m.Sources}
	for _, set := range m.NonMANO {
		lists = append(lists, set.Sources)
	}
	for _, sources := range lists {
		for _, s := range sources {
			f.sources++
			if s.Hash == "" {
				f.none++
			} else {
				f.ok++
			}
		}
	}
	f.bad = count[problem.HashMismatch] + count[problem.HashAlgorithm]
	f.ok -= f.bad
	f.absent = count[problem.MissingFile]
	if m.Signed() {
		f.cms = "does NOT verify"
		for _, s := range a.Signers() {
			if s.Valid {
				f.cms = "verifies"
			}
		}
	}
	return f
}

var factsText = regexp.MustCompile(`\.mf: (\d+) sources, hash ok (\d+) bad (\d+) no-file (\d+) none (\d+), absent (\d+)(?:, CMS (.*))?$`)

func readIndex(t *testing.T, path string) map[string]facts {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	index := map[string]facts{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "|")
		if len(cells) < 13 {
			continue
		}
		m := factsText.FindStringSubmatch(strings.TrimSpace(cells[11]))
		if m == nil {
			continue
		}
		n := make([]int, 7)
		for i := 1; i < 7; i++ {
			n[i], _ = strconv.Atoi(m[i])
		}
		index[strings.TrimSpace(cells[1])] = facts{n[1], n[2], n[3], n[4], n[5], n[6], m[7]}
	}
	if err := errors.Join(lines.Err()); err != nil {
		t.Fatal(err)
	}
	fmt.Println(len(index), "packages with manifests in the index")
	return index
}
