package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

// manifest reads a manifest whose objects have their namespaces.
func manifest(t *testing.T, text string) objects.Manifest {
	t.Helper()
	all, err := objects.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects.Manifest{Objects: all, Refs: objects.Refs(all)}
}

// config is a ConfigMap with these data.
func config(name, data string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: " + data + "\n"
}

func TestChange(t *testing.T) {
	t.Parallel()
	type texts struct{ had, before, after, again, want string }
	for name, c := range map[string]texts{
		"nothing":                       {"{a: x}", "{a: x}", "{a: x}", "{a: x}", "{a: x}"},
		"a value":                       {"{a: x, b: y}", "{a: x, b: y}", "{a: z, b: y}", "{a: z, b: y}", "{a: z, b: y}"},
		"what the release has":          {"{a: mine, b: y}", "{a: x, b: y}", "{a: x, b: z}", "{a: x, b: z}", "{a: mine, b: z}"},
		"chance":                        {"{a: r0, b: y}", "{a: r1, b: y}", "{a: r2, b: z}", "{a: r3, b: z}", "{a: r0, b: z}"},
		"time that stands still":        {"{a: t0}", "{a: t1}", "{a: t1}", "{a: t1}", "{a: t0}"},
		"a new field":                   {"{a: x}", "{a: x}", "{a: x, b: y}", "{a: x, b: y}", "{a: x, b: y}"},
		"a new field of chance":         {"{a: x}", "{a: x}", "{a: x, b: r1}", "{a: x, b: r2}", "{a: x, b: r1}"},
		"a removed field":               {"{a: x, b: y}", "{a: x, b: y}", "{a: x}", "{a: x}", "{a: x}"},
		"a field of the release only":   {"{a: x, b: y}", "{a: x}", "{a: x}", "{a: x}", "{a: x, b: y}"},
		"a field the release lacks":     {"{a: x}", "{a: x, b: y}", "{a: x, b: y}", "{a: x, b: y}", "{a: x}"},
		"a number":                      {"{n: 1, m: {n: 2}}", "{n: 1, m: {n: 2}}", "{n: 1, m: {n: 3}}", "{n: 1, m: {n: 3}}", "{n: 1, m: {n: 3}}"},
		"null":                          {"{a: null, b: x}", "{a: null, b: x}", "{a: null, b: y}", "{a: null, b: y}", "{a: null, b: y}"},
		"list of one length":            {"{l: [mine, y]}", "{l: [x, y]}", "{l: [x, z]}", "{l: [x, z]}", "{l: [mine, z]}"},
		"longer list":                   {"{l: [x]}", "{l: [x]}", "{l: [x, y]}", "{l: [x, y]}", "{l: [x, y]}"},
		"longer list of chance":         {"{l: [r0]}", "{l: [r1]}", "{l: [r2, r3]}", "{l: [r4, r5]}", "{l: [r0]}"},
		"named elements":                {"{l: [{name: a, v: mine}, {name: b, v: 1}]}", "{l: [{name: a, v: x}, {name: b, v: 1}]}", "{l: [{name: b, v: 2}, {name: c, v: 3}, {name: a, v: x}]}", "{l: [{name: b, v: 2}, {name: c, v: 3}, {name: a, v: x}]}", "{l: [{name: b, v: 2}, {name: c, v: 3}, {name: a, v: mine}]}"},
		"a named element of others":     {"{l: [{name: a}, {name: sidecar}]}", "{l: [{name: a, v: 1}]}", "{l: [{name: a, v: 2}]}", "{l: [{name: a, v: 2}]}", "{l: [{name: a, v: 2}, {name: sidecar}]}"},
		"a removed named element":       {"{l: [{name: a}, {name: b}]}", "{l: [{name: a}, {name: b}]}", "{l: [{name: a}]}", "{l: [{name: a}]}", "{l: [{name: a}]}"},
		"all named elements removed":    {"{l: [{name: a}]}", "{l: [{name: a}]}", "{l: []}", "{l: []}", "{l: []}"},
		"another type":                  {"{a: x}", "{a: x}", "{a: {b: c}}", "{a: {b: c}}", "{a: {b: c}}"},
		"another type, of chance":       {"{a: x}", "{a: x}", "{a: {b: r1}}", "{a: {b: r2}}", "{a: x}"},
		"names that are not for one":    {"{l: [{name: a, v: 1}, {name: a, v: 2}]}", "{l: [{name: a, v: 1}, {name: a, v: 2}]}", "{l: [{name: a, v: 1}, {name: a, v: 3}]}", "{l: [{name: a, v: 1}, {name: a, v: 3}]}", "{l: [{name: a, v: 1}, {name: a, v: 3}]}"},
		"a map that becomes empty":      {"{a: {b: c}}", "{a: {b: c}}", "{a: {}}", "{a: {}}", "{a: {}}"},
		"what is changed and of others": {"{a: mine}", "{a: x}", "{a: y}", "{a: y}", "{a: y}"},
	} {
		of := func(data string) objects.Manifest { return manifest(t, config("c", data)) }
		got := objects.Change{Before: of(c.before), After: of(c.after), Again: of(c.again)}.Apply(of(c.had))
		if diff := cmp.Diff(of(c.want), got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestChangeOfObjects adds and removes objects, some of which have random names.
func TestChangeOfObjects(t *testing.T) {
	t.Parallel()
	of := func(names ...string) objects.Manifest {
		text := ""
		for _, n := range names {
			text += config(n, "{a: b}")
		}
		return manifest(t, text)
	}
	got := objects.Change{Before: of("stays", "goes", "job-1", "never"), After: of("stays", "comes", "job-2", "never"), Again: of("stays", "comes", "job-3", "never")}.
		Apply(of("stays", "goes", "job-0", "first"))
	if diff := cmp.Diff(of("stays", "comes", "job-0", "first"), got); diff != "" {
		t.Error(diff)
	}
}
