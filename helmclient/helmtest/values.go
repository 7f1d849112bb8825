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
