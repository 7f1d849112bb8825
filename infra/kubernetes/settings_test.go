package kubernetes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/strvals"
	strvals4 "helm.sh/helm/v4/pkg/strvals" //nolint:depguard // the test compares both versions
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// recording is a Helm that shows which values it is given, and installs nothing.
type recording struct {
	helmclient.Client
	given *map[string]any
}

var errRecorded = errors.New("recorded")

func (r recording) Install(_ context.Context, request helmclient.Install) (*helmclient.Release, error) {
	var err error
	*r.given, err = helmcli.MergeValues(request.Values)
	return nil, errors.Join(errRecorded, err)
}

// given instantiates with a Helm that installs nothing, and returns the values that Helm is given and the warnings of the operation.
func given(t *testing.T, kind, params string) (values map[string]any, warnings []string) {
	t.Helper()
	l := newLab(t, kind)
	l.files["Files/values.tgz"] = &fstest.MapFile{Data: valuesChart().pack(t)}
	l.Manager = l.start(func(c *kubernetes.Config) {
		inner := c.Helm
		c.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
			client, err := inner(cluster, dir)
			return recording{client, &values}, err
		}
	})
	op, err := l.Instantiate(t.Context(), l.id, l.request("simple", params))
	if err := l.fails(op, err); !errors.Is(err, errRecorded) {
		t.Fatal(err)
	}
	occ, err := l.Operation(t.Context(), op)
	if err != nil {
		t.Fatal(err)
	}
	delete(values, "web") // the number of pods
	return values, occ.Warnings
}

// parsers are Helm's own parsers of --set and --set-string.
var parsers = map[string]struct {
	set, setString func(string, map[string]any) error
}{
	"Helm 3": {strvals.ParseInto, strvals.ParseIntoString},
	"Helm 4": {strvals4.ParseInto, strvals4.ParseIntoString},
}

// forms are settings in each form that a request can have. Names are unique.
var forms = []string{
	"number=20261128", "zero=0", "leading=007", "negative=-5", "big=9007199254740993", "huge=99999999999999999999", "half=0.5", "million=1e6", "hex=0x10",
	"yes=true", "capital=True", "no=False", "on=on", "nothing=null", "blank=", `node\.kubernetes\.io/role.kubernetes\.io/name=a.b/c`, `equals\=sign=1`, `deep.a\,b.c=1`,
	`comma=a\,b`, "two=1,three=x", "list={a,1,true,null}", "empty={}", `spaced={a b,c\,d}`, "at[1].x=1", "at[0]=y", `brace=\{a}`, `back=a\\b`, `lost=a\b`, "map.a.b=1", "map.a.c=2",
	"space=hello world", `quotes="x"`, "shell=$(x) 'y' ;z", "later=1", "later=2", "url=https://a.example/b?c=d", "open=a{b", "close=a}b", "end=a\\",
}

// TestSettingsV1 holds the values of version 1 against Helm's parsers: Tacker gives each entry of helmparameter to --set.
func TestSettingsV1(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(forms)
	if err != nil {
		t.Fatal(err)
	}
	for attribute, asText := range map[string]bool{"helmparameter": false, "helmstringparameter": true} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			got, _ := given(t, kubernetes.VimTypeV1, valuesV1(fmt.Sprintf("%q: %s", attribute, text)))
			for version, parser := range parsers {
				parse := parser.set
				if asText {
					parse = parser.setString
				}
				want := map[string]any{}
				for _, form := range forms {
					if err := parse(form, want); err != nil {
						t.Fatal(form, err)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s:\n%s", version, diff)
				}
			}
		})
	}
}

// TestSettingsV2 holds the values of version 2 against Helm's parsers: Tacker gives all of helm_parameters, joined by commas, to one --set,
// and of lists, mappings and null Python's text.
func TestSettingsV2(t *testing.T) {
	t.Parallel()
	params, asTacker := map[string]any{}, []string{}
	for _, form := range forms {
		name, value, _ := strings.Cut(strings.ReplaceAll(form, `equals\=sign`, "equals"), "=")
		if slices.Contains([]string{"two", "later", "end"}, name) || strings.Contains(name, ",") { // several values, or a value that ends the list
			continue
		}
		params[name], asTacker = value, append(asTacker, name+"="+value)
	}
	for name, value := range map[string]any{"count": 8081, "negative2": -3, "fraction": 1.5, "flag": true} {
		text := fmt.Sprint(value)
		if value == true {
			text = "True"
		}
		params[name], asTacker = value, append(asTacker, name+"="+text)
	}
	ours := map[string]any{"bare": "a,b", "other": "x,y=z", "notList": "{a}b", "json": "[1,2]", "jsonList": []any{1.0, "2", nil}, "jsonMap": map[string]any{"tag": "20261128", "n": 1.0}, "jsonNull": nil}
	for name, value := range ours {
		params[name] = value
	}
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := given(t, kubernetes.VimTypeHelm, `{"helm_chart_path": "Files/values.tgz", "helm_value_names": {"WEB": {"replica": "web.replicas"}}, "helm_parameters": `+string(text)+`}`)
	for version, parser := range parsers {
		want := map[string]any{}
		if err := parser.set(strings.Join(asTacker, ","), want); err != nil {
			t.Fatal(err)
		}
		for name, value := range ours {
			want[name] = value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", version, diff)
		}
	}
}

// FuzzSetting holds that a text of version 2 sets one value, and that value is Helm's where Tacker would set one value with it.
func FuzzSetting(f *testing.F) {
	for _, form := range forms {
		_, value, _ := strings.Cut(form, "=")
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		text, isJSON := kubernetes.Setting("n", value)
		got, err := helmcli.MergeValues(helmclient.Values{Set: []string{text}})
		if _, sets := got["n"]; err != nil || isJSON || !sets || len(got) != 1 {
			t.Fatalf("%q is %q: %v %v", value, text, got, err)
		}
		plain, list := strings.NewReplacer(`\\`, "", `\,`, "").Replace(value), strings.HasPrefix(text, "n={")
		want := map[string]any{}
		if err := strvals.ParseInto("n="+value, want); err != nil || len(want) != 1 || !list && (strings.Contains(plain, ",") || strings.HasPrefix(value, "{")) {
			return // with Tacker a comma or the end of a list ends the value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", value, diff)
		}
	})
}

// TestIdle holds that attributes without an effect are named in the operation's document.
func TestIdle(t *testing.T) {
	t.Parallel()
	const prefix = "additionalParams."
	v1 := prefix + "using_helm_install_param[0]."
	for name, c := range map[string]struct {
		kind, params string
		want         []string
	}{
		"nothing": {kubernetes.VimTypeV1, valuesV1(`"helmparameter": ["shown.tag=1", "list[0]=a", "list[1]=b", "a.b=1", "a.c=2"]`), []string{}},
		"replaced": {kubernetes.VimTypeV1, valuesV1(`"helmparameter": ["shown.tag=1", "a.b=1,a.c=2", "shown.tag=2", "a=3", "web.replicas=5", "code=1"], "helmstringparameter": ["code=2"]`), []string{
			v1 + "helmparameter[0] has no effect: " + "using_helm_install_param[0].helmparameter[2] replaces the value",
			v1 + "helmparameter[1] has no effect: " + "using_helm_install_param[0].helmparameter[3] replaces the value",
			v1 + "helmparameter[4] has no effect: the number of pods replaces the value",
			v1 + "helmparameter[5] has no effect: " + "using_helm_install_param[0].helmstringparameter[0] replaces the value"}},
		"quotes": {kubernetes.VimTypeV1, valuesV1(`"helmparameter": ["a='x y'", "b=it's", "c=\"1\""]`), []string{
			v1 + "helmparameter[0]: the quotation marks are part of the value, because no shell removes them",
			v1 + "helmparameter[2]: the quotation marks are part of the value, because no shell removes them"}},
		"of a repository": {kubernetes.VimTypeV1, valuesV1(`"exthelmrepo_url": "https://charts.example", "helmchartversion": "1.0.0"`), []string{
			v1 + "exthelmrepo_url has no effect: exthelmchart is false", v1 + "helmchartversion has no effect: exthelmchart is false"}},
		"of version 2": {kubernetes.VimTypeV1, strings.Replace(valuesV1(`"helmparameter": []`), "{", `{"helm_parameters": {"a": 1}, "helm_value_names": {"WEB": {"replica": "x"}}, `, 1), []string{
			prefix + "helm_parameters has no effect: it belongs to helm_chart_path", prefix + "helm_value_names has no effect: it belongs to helm_chart_path"}},
		"of version 1, and replaced": {kubernetes.VimTypeHelm, `{"helm_chart_path": "Files/values.tgz", "helm_replica_values": {"webs": "x"}, "helm_value_names": {"WEB": {"replica": "web.replicas"}},
			"helm_parameters": {"web": {"replicas": 7}, "a.b": 1, "a": {"c": 2}}}`, []string{
			prefix + "helm_parameters.a.b has no effect: helm_parameters.a replaces the value", prefix + "helm_replica_values has no effect: with helm_chart_path it is helm_value_names"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, warnings := given(t, c.kind, c.params)
			warnings = slices.DeleteFunc(warnings, func(w string) bool { return !strings.HasPrefix(w, prefix) }) // of VDUs without workloads
			slices.Sort(warnings)
			if diff := cmp.Diff(c.want, warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCountsComeLast: neither a text nor a mapping of the request replaces the number of pods of the level.
func TestCountsComeLast(t *testing.T) {
	t.Parallel()
	for kind, params := range map[string]string{
		kubernetes.VimTypeV1:   valuesV1(`"helmparameter": ["web.replicas=5"], "helmstringparameter": ["web.replicas=6"]`),
		kubernetes.VimTypeHelm: `{"helm_chart_path": "Files/values.tgz", "helm_value_names": {"WEB": {"replica": "web.replicas"}}, "helm_parameters": {"web": {"replicas": 7}}}`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kind)
			l.files["Files/values.tgz"] = &fstest.MapFile{Data: valuesChart().pack(t)}
			l.instantiate("simple", params, vnflcm.ScaleInfo{AspectID: "webs", ScaleLevel: 1})
			if n := len(l.vnfcs("WEB")); n != 2 {
				t.Errorf("%d VNFCs", n)
			}
			l.scale(vnflcm.ScaleIn, "webs", 1)
			if n := len(l.vnfcs("WEB")); n != 1 {
				t.Errorf("%d VNFCs", n)
			}
		})
	}
}
