package helmcli_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/strvals"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

func FuzzRelease(f *testing.F) {
	f.Add([]byte("name \"web\"\nnamespace \"default\"\nrevision 3\nlabel \"a\" \"b\\n\"\nstate \"failed\"\nupdated \"2026-01-02T03:04:05.6Z\"\nmanifest \"a: b\\n\"\n"))
	f.Add([]byte("revision 99999999999999999999\n"))
	f.Add([]byte("name \"\\x\"\nlabel \"a\"\nupdated \"\"\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		if r, err := helmcli.ParseRelease(out); err == nil && (r.Release == "" || r.Revision < 1) {
			t.Error("no release", r)
		}
	})
}

func FuzzReleases(f *testing.F) {
	f.Add([]byte(`[{"name":"w1","namespace":"default","revision":"1","updated":"2026-11-21 14:30:52.133966222 +0000 UTC","status":"deployed","chart":"web-0.1.0","app_version":"1.16.0"}]`))
	f.Add([]byte(`[{"revision":1,"updated":"2026-11-21T14:30:52.133966222Z","status":"deployed","chart":"a-1-web-0.1.0-rc.1+x","app_version":"1","description":"x"}]`))
	f.Add([]byte(`[{}]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(_ *testing.T, out []byte) {
		_, _ = helmcli.ParseReleases(out)
		_, _ = helmcli.ParseDryRun(out)
		_, _ = helmcli.ParseValues(out)
		_, _ = helmcli.ParseChart(out)
		_ = helmclient.CheckProgram(string(out))
	})
}

func FuzzResources(f *testing.F) {
	f.Add([]byte(`{"info":{"resources":{"v1/Pod(related)":[{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"x"}}]}],"v1/Deployment":[{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"x","generation":1}}]}}}`))
	f.Add([]byte(`{"info":{"resources":{"x":[{"kind":"L","items":[1]}]}}}`))
	f.Add([]byte(`{"info":{"resources":{"x":[null]}}}`))
	f.Add([]byte(`{"hooks":[{"name":"x","kind":"Job","events":["pre-install"],"last_run":{"phase":"Failed"}}]}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		objects, related, _, err := helmcli.ParseResources(out)
		_ = helmcli.ParseHooks(out)
		for _, o := range append(objects, related.Pods...) {
			if err == nil && o.Object == nil {
				t.Error("an object of nothing")
			}
		}
	})
}

func FuzzRecord(f *testing.F) {
	text, err := helmcli.Pack(map[string]any{"name": "web", "info": map[string]any{"status": "pending-install", "x": 1}, "version": 12345678901234567})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"type":"helm.sh/release.v1","metadata":{"labels":{"status":"pending-install"}},"data":{"release":"` + text + `"}}`))
	f.Add([]byte(`{"type":"helm.sh/release.v1","metadata":{"labels":{}},"data":{"release":"ZQ=="}}`))
	f.Fuzz(func(t *testing.T, secret []byte) {
		changed, err := helmcli.FailedRecord(secret, "why")
		if err != nil {
			return
		}
		var s struct {
			Metadata struct{ Labels map[string]any }
			Data     map[string]any
		}
		if err := json.Unmarshal(changed, &s); err != nil || s.Metadata.Labels["status"] != "failed" {
			t.Fatalf("%s: %v", changed, err)
		}
		release, err := helmcli.Unpack(s.Data["release"].(string))
		if err != nil || release["info"].(map[string]any)["status"] != "failed" {
			t.Error(release, err)
		}
	})
}

// FuzzValues compares what Helm will read, a document and --set, with what Helm's own grammar makes of the text.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{"a=1", "a.b=x,c={1,y},d[2]=7", `a\.b=5,x\,y=6`, "a=null", "list[0].x=1,list[0].y=two", "a=1e6,b=01,c=-5,d=true", `a\\=3`, `a\[0=4`, "a==5", "a={}", "a[65536]=x,b[65536]=y",
		"a[0].b[1][2]=c,d={x}e[3]=y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, set string) {
		document, args, err := helmcli.Input(helmclient.Values{Set: []string{set}})
		if _, refused := errors.AsType[*helmclient.SetError](err); refused {
			return // Helm itself would fill the memory with it
		}
		want := map[string]any{}
		if parseErr := strvals.ParseInto(set, want); (parseErr == nil) != (err == nil) {
			t.Fatal(err, parseErr)
		}
		if err != nil {
			return
		}
		if n := entries(want) - len(set); n > 1<<20 { // {a,b} is as long as its text
			t.Errorf("lists of %d entries", n)
		}
		got := map[string]any{}
		if err := json.Unmarshal(document, &got); err != nil {
			t.Fatal(err)
		}
		if len(args) == 0 {
			return
		}
		if err := strvals.ParseInto(strings.TrimPrefix(args[0], "--set="), got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v: %v", set, got, want, err)
		}
	})
}

// FuzzTexts compares what Helm will read of --set-string, beside a whole number, with what Helm's own grammar makes of the text.
func FuzzTexts(f *testing.F) {
	for _, seed := range []string{"a=20261128", "a.b=true,c={1,null}", `a\.b=5`, "n=x", "n.m=1", "list[1]=007"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		document, args, err := helmcli.Input(helmclient.Values{Set: []string{"n=3"}, SetString: []string{text}})
		if _, refused := errors.AsType[*helmclient.SetError](err); refused {
			return
		}
		want := map[string]any{"n": int64(3)}
		if parseErr := strvals.ParseIntoString(text, want); (parseErr == nil) != (err == nil) {
			t.Fatal(err, parseErr)
		}
		got := map[string]any{}
		if err != nil || json.Unmarshal(document, &got) != nil {
			return
		}
		for _, arg := range args {
			if err := strvals.ParseInto(strings.TrimPrefix(arg, "--set="), got); err != nil {
				t.Error(err)
			}
		}
		if !reflect.DeepEqual(got, want) && len(args) > 0 {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}

// entries are those of lists.
func entries(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			n += entries(below)
		}
	case []any:
		n = len(v)
		for _, below := range v {
			n += entries(below)
		}
	}
	return n
}
