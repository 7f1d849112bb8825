package objects_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
	a := fmt.Sprintf(config, "a")
	for name, c := range map[string]struct {
		text string
		want []string
		err  []string
	}{
		"nothing":           {text: ""},
		"comments":          {text: "# one\n---\n# two\n---\n"},
		"two":               {text: a + "---\n" + fmt.Sprintf(config, "b"), want: []string{"ConfigMap a", "ConfigMap b"}},
		"end with comment":  {text: a + "--- # next\n" + fmt.Sprintf(config, "b"), want: []string{"ConfigMap a", "ConfigMap b"}},
		"Windows":           {text: strings.ReplaceAll(a+"---\n"+fmt.Sprintf(config, "b"), "\n", "\r\n"), want: []string{"ConfigMap a", "ConfigMap b"}},
		"dashes in a value": {text: a + "data:\n  x: |\n    ---\n    y\n", want: []string{"ConfigMap a"}},
		"JSON with tabs":    {text: "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Secret\",\n\t\"metadata\": {\"name\": \"s\"}\n}", want: []string{"Secret s"}},
		"list":              {text: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: x}}\n- {apiVersion: v1, kind: Secret, metadata: {name: t}}\n", want: []string{"Secret x/s", "Secret t"}},
		"list of a kind":    {text: "apiVersion: v1\nkind: SecretList\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n", want: []string{"Secret s"}},
		"empty list":        {text: "apiVersion: v1\nkind: List\nitems: []\n"},
		"items of its own":  {text: "apiVersion: example.com/v1\nkind: Basket\nmetadata: {name: b}\nitems: [1]\n", want: []string{"Basket b"}},
		"double key":        {text: a + "data: {x: y, x: z}\n", want: []string{"ConfigMap a"}},
		"byte order mark":   {text: "\ufeff" + a, want: []string{"ConfigMap a"}},
		"JSON in a row":     {text: `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}` + "\n" + `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t"}}`, want: []string{"Secret s", "Secret t"}},
		"JSON, then YAML":   {text: `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}` + "\n---\n" + a, want: []string{"Secret s", "ConfigMap a"}},
		"null maps":         {text: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n  annotations: # none\n", want: []string{"ConfigMap a"}},
		"alias":             {text: a + "data: {x: &x y, z: *x}\n", want: []string{"ConfigMap a"}},
		"kind of the list":  {text: "apiVersion: v1\nkind: SecretList\nitems:\n- {metadata: {name: s}}\n", want: []string{"Secret s"}},
		"all faults": {text: a + "---\nhello\n---\nkind: X\nmetadata: {name: x}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../../nodes/n1}\n---\n" +
			"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: []}, 5]\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x}\n",
			err: []string{"document 2", "document 3", "document 4", "document 5", "item 0", "item 1", "document 6", "metadata.name"}},
		"name is no text":   {text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 5}\n", err: []string{"document 1"}},
		"metadata is text":  {text: "apiVersion: v1\nkind: ConfigMap\nmetadata: x\n", err: []string{"document 1"}},
		"labels":            {text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: 1}}\n", err: []string{"metadata.labels"}},
		"version":           {text: "apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: a}\n", err: []string{"a/b/c"}},
		"bad separator":     {text: a + "---x\n" + a, err: []string{"separator"}},
		"no YAML":           {text: "a: b: c\n\t:", err: []string{"document 1"}},
		"large":             {text: a + "data: {x: " + strings.Repeat("x", 4<<20) + "}\n", err: []string{"ConfigMap a", "more than 3145728 bytes"}},
		"too large":         {text: strings.Repeat("#", 17<<20), err: []string{"more than 16777216 bytes"}},
		"many":              {text: strings.Repeat(a+"---\n", 2001), err: []string{"more than 2000 objects"}},
		"grows":             {text: "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", err: []string{"excessive aliasing"}},
		"deeper than sound": {text: strings.Repeat("[", 20000), err: []string{"document 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objs, err := objects.Parse("m.yaml", []byte(c.text))
			var got []string
			for _, o := range objs {
				if meta, _ := o.Object["metadata"].(map[string]any); len(meta) > 2 {
					t.Errorf("metadata %v", meta)
				}
				got = append(got, objects.RefOf(o).String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != (c.err != nil) || err != nil && (!errors.Is(err, objects.ErrManifest) || !strings.Contains(err.Error(), "m.yaml")) {
				t.Errorf("the error is %v", err)
			}
			for _, part := range c.err {
				if !strings.Contains(fmt.Sprint(err), part) {
					t.Errorf("%q is not in %v", part, err)
				}
			}
		})
	}
}

// What is read can be applied: it has a name, fits into one request, and is the same when it is read again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{everything, "{}", "---\n--- # x\n", "apiVersion: v1\nkind: List\nitems: [{}]", "a: &a [*a]", "? {a: b}\n: c", "kind: List\nitems: {}", "apiVersion: v1\nkind: X\nmetadata: {name: .inf, y: 1e999}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objs, err := objects.Parse("m", text)
		if err != nil {
			if !errors.Is(err, objects.ErrManifest) || objs != nil {
				t.Fatalf("%v with %d objects", err, len(objs))
			}
			return
		}
		for _, o := range objs {
			data, err := json.Marshal(o)
			if err != nil || o.GetName() == "" || strings.ContainsAny(o.GetName(), "/%") {
				t.Fatalf("%v: %s", err, data)
			}
			again, err := objects.Parse("m", data)
			if err != nil {
				t.Fatalf("%v: %q", err, data)
			}
			if len(again) != 1 && !strings.HasSuffix(o.GetKind(), "List") {
				t.Fatalf("%d objects of %q", len(again), data)
			}
			for _, same := range again {
				if twice, _ := json.Marshal(same); !bytes.Equal(data, twice) && !strings.HasSuffix(o.GetKind(), "List") {
					t.Fatalf("%q is not %q", twice, data)
				}
			}
		}
	})
}
