package helmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
)

func file(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// testValues passes values in all ways, with all characters that are special in one of them, and reads them back.
func testValues(t *testing.T, s *suite) {
	n := s.name("values")
	odd := "a,b={c}\\d \"e\" 'f'\n$(g) `h` %s; # ü 漢 {{ .Values }}\t"
	members := web()
	given := helmclient.Install{Name: n, Chart: given(pack(t, "web", "1.0.0", members)), Values: helmclient.Values{
		Files: []func() (io.ReadCloser, error){
			file("config: {first: one, second: one, deep: {a: 1, b: 1}}\n"),
			file("config: {second: two, deep: {b: 2}, third: two}\n"),
		},
		Map:       map[string]any{"config": map[string]any{"third": "map", "odd": odd, "list": []any{"x", "y,z"}, "fourth": "map"}},
		Set:       []string{`config.fourth=set,config.comma=a\,b`, "config.made={p,q}", "config.number=7"},
		SetString: []string{"config.text=7"},
		SetJSON:   []string{`config.json={"k":[1,{"l":"m,n"}]}`},
	}}
	want := map[string]any{
		"first": "one", "second": "two", "deep": map[string]any{"a": 1.0, "b": 2.0}, "third": "map", "odd": odd,
		"list": []any{"x", "y,z"}, "fourth": "set", "comma": "a,b", "made": []any{"p", "q"}, "number": 7.0, "text": "7",
		"json": map[string]any{"k": []any{1.0, map[string]any{"l": "m,n"}}},
	}
	s.install(t, given)
	back, err := s.Client.Values(s.ctx, n, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"config": want}, back); diff != "" {
		t.Errorf("values read back: %s", diff)
	}
	seen := map[string]any{}
	if err := json.Unmarshal([]byte(s.data(t, "values-config", "values")), &seen); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("values as templates see them: %s", diff)
	}
	all, err := s.Client.Values(s.ctx, n, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	if all["replicas"] != 1.0 || all["port"] != 80.0 {
		t.Errorf("all values: %v", all)
	}
}

// testSameValues upgrades a release with the values that it has: the manifest and the recorded values stay the same.
// Templates see whole numbers of Set and integers of Map as integers, and numbers of files as floating point, which they
// print with an exponent. A value that is null removes one of the chart.
func testSameValues(t *testing.T, s *suite) {
	members := small()
	members["values.yaml"] += "gone: default\ndeep: {gone: default, stays: default}\n"
	members["templates/config.yaml"] += `  seen: {{ range $name := list "set" "file" "int" "float" "gone" "new" }}{{ printf "%s=%v " $name (index $.Values $name) }}{{ end }}
  deep: {{ toJson .Values.deep | quote }}
`
	r := helmclient.Install{Name: s.name("same"), Chart: given(pack(t, "small", "1.0.0", members)), Values: helmclient.Values{
		Files: []func() (io.ReadCloser, error){file("file: 20261128\ngone: null\n")},
		Map:   map[string]any{"int": 20261128, "float": 20261128.0, "deep": map[string]any{"gone": nil}},
		Set:   []string{"set=20261128,new=null"},
	}}
	s.install(t, r)
	const want = "set=20261128 file=2.0261128e+07 int=20261128 float=2.0261128e+07 gone=<nil> new=<nil> "
	if got := s.data(t, "same-config", "seen"); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("values as templates see them: %q, want %q", got, want)
	}
	if got := s.data(t, "same-config", "deep"); got != `{"stays":"default"}` {
		t.Errorf("a map without one of its values: %s", got)
	}
	for _, reuse := range []helmclient.Reuse{helmclient.ReuseNone, helmclient.ReuseReset} {
		if _, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: r, Reuse: reuse}); err != nil {
			t.Fatal(err)
		}
	}
	for _, revision := range []int{2, 3} {
		before, err := s.Client.Manifest(s.ctx, r.Name, 1)
		after, err2 := s.Client.Manifest(s.ctx, r.Name, revision)
		if diff := cmp.Diff(before, after); err != nil || err2 != nil || diff != "" {
			t.Errorf("the manifest of revision %d: %v %v\n%s", revision, err, err2, diff)
		}
		was, err := s.Client.Values(s.ctx, r.Name, 1, false)
		now, err2 := s.Client.Values(s.ctx, r.Name, revision, false)
		if diff := cmp.Diff(was, now); err != nil || err2 != nil || diff != "" {
			t.Errorf("the values of revision %d: %v %v\n%s", revision, err, err2, diff)
		}
	}
}

func testBadValues(t *testing.T, s *suite) {
	const secret = "hunter2"
	var large []string // of which each is as long as Helm makes lists
	for i := range 16 {
		large = append(large, fmt.Sprintf("l%d[65536]=%s", i, secret))
	}
	for _, v := range []helmclient.Values{
		{Set: []string{"password[x]=" + secret}},
		{SetJSON: []string{`a={"password":"` + secret + `"`}},
		{Set: large},
		{SetString: []string{strings.Join(large, ",")}},
		{Files: []func() (io.ReadCloser, error){file("- " + secret)}},
		{Files: []func() (io.ReadCloser, error){file("a: {" + secret)}},
	} {
		_, err := s.Client.Install(s.ctx, helmclient.Install{Name: s.name("bad"), Chart: given(pack(t, "small", "1.0.0", small())), Values: v})
		is(t, "bad values", err, helmclient.ErrInvalid)
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows a value: %v", err)
		}
	}
}
