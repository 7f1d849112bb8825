package helmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
)

// install makes a release, which must succeed.
func (s *suite) install(t *testing.T, r helmclient.Install) *helmclient.Release {
	t.Helper()
	out, err := s.Client.Install(s.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// is checks the class of an error.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want an error that is %q", what, err, want)
	}
}

// stands checks the newest revision of a release.
func (s *suite) stands(t *testing.T, n helmclient.Name, revision int, state helmclient.State) *helmclient.Release {
	t.Helper()
	r, err := s.Client.Status(s.ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	if r.Revision != revision || r.State != state {
		t.Fatalf("%s: revision %d is %s (%s), want revision %d to be %s", n, r.Revision, r.State, r.Description, revision, state)
	}
	return r
}

func testInstall(t *testing.T, s *suite) {
	n := s.name("shop-v1")
	r := helmclient.Install{
		Name: n, Chart: given(pack(t, "web", "1.2.3", web())),
		Values:      helmclient.Values{Map: map[string]any{"replicas": 2}},
		Wait:        helmclient.Wait{Ready: true, Timeout: time.Minute},
		Description: "by a test", Labels: map[string]string{"vnf": "a"},
	}
	made := s.install(t, r)
	want := helmclient.ChartInfo{Name: "web", Version: "1.2.3", AppVersion: "1.0", Description: "made by a test"}
	if diff := cmp.Diff(want, made.Chart); diff != "" {
		t.Errorf("chart: %s", diff)
	}
	got := s.stands(t, n, 1, helmclient.Deployed)
	if got.Name != n || got.Description != "by a test" || got.Labels["vnf"] != "a" || len(got.Labels) != 1 {
		t.Errorf("status: %+v", got)
	}
	if !strings.Contains(got.Notes, "shop-v1 is there.") || !strings.Contains(got.Manifest, "kind: Deployment") {
		t.Errorf("notes %q, manifest %q", got.Notes, got.Manifest)
	}
	if age := time.Since(got.Updated); age < 0 || age > patience {
		t.Errorf("updated %v", got.Updated)
	}
	if ready, _, _ := nested(s.get(t, deployments, n.Release+"-web"), "status", "readyReplicas"); ready != 2 {
		t.Errorf("%d pods are ready, want 2: the call did not wait", ready)
	}
	_, err := s.Client.Install(s.ctx, r)
	is(t, "second install", err, helmclient.ErrExists)

	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n, Wait: r.Wait}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Client.Status(s.ctx, n)
	is(t, "status", err, helmclient.ErrNotFound)
	if s.get(t, deployments, n.Release+"-web") != nil || s.get(t, configMaps, n.Release+"-config") != nil {
		t.Error("objects are left")
	}
	is(t, "second uninstall", s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n}), helmclient.ErrNotFound)
}

func testUpgrade(t *testing.T, s *suite) {
	n := s.name("web")
	chart := given(pack(t, "small", "1.0.0", small()))
	request := func(text string) helmclient.Install {
		return helmclient.Install{Name: n, Chart: chart, Values: helmclient.Values{Map: map[string]any{"text": text}}}
	}
	_, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: request("a")})
	is(t, "upgrade of a missing release", err, helmclient.ErrNotFound)

	for i, text := range []string{"a", "b", "c"} {
		out, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: request(text), OrInstall: true})
		if err != nil {
			t.Fatal(err)
		}
		if out.Revision != i+1 || out.State != helmclient.Deployed || s.data(t, "web-config", "text") != text {
			t.Errorf("upgrade to %s: %+v", text, out)
		}
	}
	out, err := s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n, Revision: 1, Description: "back"})
	if err != nil {
		t.Fatal(err)
	}
	if out.Revision != 4 || s.data(t, "web-config", "text") != "a" || s.stands(t, n, 4, helmclient.Deployed).Description != "back" {
		t.Errorf("rollback: %+v", out)
	}
	if _, err := s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n}); err != nil {
		t.Fatal(err)
	}
	if got := s.data(t, "web-config", "text"); got != "c" {
		t.Errorf("rollback to the revision before: %s, want c", got)
	}
	s.hasHistory(t, n, helmclient.Superseded, helmclient.Superseded, helmclient.Superseded, helmclient.Superseded, helmclient.Deployed)
	_, err = s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n, Revision: 77})
	is(t, "rollback to a revision that does not exist", err, helmclient.ErrNotFound)

	manifest, err := s.Client.Manifest(s.ctx, n, 2)
	if err != nil || !strings.Contains(manifest, `text: "b"`) {
		t.Errorf("manifest of revision 2: %v %s", err, manifest)
	}
	old, err := s.Client.Values(s.ctx, n, 2, false)
	if diff := cmp.Diff(map[string]any{"text": "b"}, old); err != nil || diff != "" {
		t.Errorf("values of revision 2: %v %s", err, diff)
	}

	if _, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: request("d"), MaxHistory: 2}); err != nil {
		t.Fatal(err)
	}
	list := s.hasHistory(t, n, helmclient.Superseded, helmclient.Deployed)
	for i, from := range []string{"c", "d"} {
		changed := func(_ context.Context, manifest []byte) ([]byte, error) {
			return bytes.ReplaceAll(manifest, []byte(fmt.Sprintf("text: %q", from)), []byte(fmt.Sprintf("text: %q", "not "+from))), nil
		}
		if _, err := s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n, Revision: list[i].Revision, PostRender: changed}); err != nil {
			t.Fatal(err)
		}
		if got := s.data(t, "web-config", "text"); got != "not "+from {
			t.Errorf("changed rollback: %s, want not %s", got, from)
		}
	}
	refuse := errors.New("refused")
	_, err = s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n, PostRender: func(context.Context, []byte) ([]byte, error) { return nil, refuse }})
	is(t, "refused rollback", err, refuse)
}

// hasHistory checks the states of all revisions that are kept.
func (s *suite) hasHistory(t *testing.T, n helmclient.Name, want ...helmclient.State) []helmclient.Release {
	t.Helper()
	list, err := s.Client.History(s.ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	var got []helmclient.State
	for i, r := range list {
		got = append(got, r.State)
		if i > 0 && r.Revision <= list[i-1].Revision {
			t.Errorf("history: revision %d comes after %d", r.Revision, list[i-1].Revision)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("history of %s: %s", n, diff)
	}
	return list
}

func testReuse(t *testing.T, s *suite) {
	chart := func(version, fallback string) helmclient.Chart {
		members := small()
		members["values.yaml"] = "text: " + fallback + "\nmore: " + fallback + "\n"
		members["templates/config.yaml"] += "  more: {{ .Values.more | quote }}\n"
		return given(pack(t, "small", version, members))
	}
	for _, c := range []struct {
		reuse  helmclient.Reuse
		values map[string]any
		want   string
	}{
		{helmclient.ReuseNone, nil, "given new"}, // without any values Helm keeps those given before
		{helmclient.ReuseNone, map[string]any{"more": "x"}, "new x"},
		{helmclient.ReuseValues, map[string]any{"more": "x"}, "given x"},
		{helmclient.ReuseValues, nil, "given old"},
		{helmclient.ReuseReset, nil, "new new"},
		{helmclient.ReuseThen, nil, "given new"},
	} {
		n := s.name("reuse")
		s.install(t, helmclient.Install{Name: n, Chart: chart("1.0.0", "old"), Values: helmclient.Values{Set: []string{"text=given"}}})
		up := helmclient.Upgrade{Install: helmclient.Install{Name: n, Chart: chart("2.0.0", "new"), Values: helmclient.Values{Map: c.values}}, Reuse: c.reuse}
		if _, err := s.Client.Upgrade(s.ctx, up); err != nil {
			t.Fatal(err)
		}
		if got := s.data(t, "reuse-config", "text") + " " + s.data(t, "reuse-config", "more"); got != c.want {
			t.Errorf("reuse %q, values %v: %s, want %s", c.reuse, c.values, got, c.want)
		}
		if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n, Wait: helmclient.Wait{Ready: true}}); err != nil {
			t.Fatal(err)
		}
	}
}

func testKeptHistory(t *testing.T, s *suite) {
	n := s.name("kept")
	r := helmclient.Install{Name: n, Chart: given(pack(t, "small", "1.0.0", small()))}
	s.install(t, r)
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n, KeepHistory: true, Description: "gone"}); err != nil {
		t.Fatal(err)
	}
	if got := s.stands(t, n, 1, helmclient.Uninstalled); got.Description != "gone" {
		t.Errorf("description %q", got.Description)
	}
	_, err := s.Client.Install(s.ctx, r)
	is(t, "install over a kept history", err, helmclient.ErrExists)
	if _, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: r, OrInstall: true}); err != nil {
		t.Fatal(err)
	}
	s.stands(t, n, 2, helmclient.Deployed)
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Client.History(s.ctx, n)
	is(t, "history", err, helmclient.ErrNotFound)
}

func testList(t *testing.T, s *suite) {
	chart := given(pack(t, "small", "1.0.0", small()))
	for _, name := range []string{"a", "b"} {
		s.install(t, helmclient.Install{Name: s.name(name), Chart: chart, Labels: map[string]string{"vnf": name}})
	}
	if _, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: helmclient.Install{Name: s.name("b"), Chart: chart}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter helmclient.Filter
		want   []string
	}{
		{helmclient.Filter{Namespace: s.namespace}, []string{"a", "b"}},
		{helmclient.Filter{Namespace: s.namespace, Labels: map[string]string{"vnf": "b"}}, []string{"b"}},
		{helmclient.Filter{Namespace: s.namespace, Labels: map[string]string{"vnf": "c"}}, nil},
		{helmclient.Filter{Labels: map[string]string{"vnf": "b"}, States: []helmclient.State{helmclient.Deployed}}, []string{"b"}},
		{helmclient.Filter{Namespace: s.namespace, States: []helmclient.State{helmclient.Failed}}, nil},
	} {
		list, err := s.Client.List(s.ctx, c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			if r.Namespace == s.namespace {
				got = append(got, r.Release)
			}
			if r.Namespace == s.namespace && r.Release == "b" && r.Revision != 2 {
				t.Errorf("list has revision %d of b, want the newest", r.Revision)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: %s", c.filter, diff)
		}
	}
}

func testNamespace(t *testing.T, s *suite) {
	n := helmclient.Name{Namespace: s.namespace + "-new", Release: "web"}
	r := helmclient.Install{Name: n, Chart: given(pack(t, "small", "1.0.0", small()))}
	_, err := s.Client.Install(s.ctx, r)
	is(t, "namespace that does not exist", err, helmclient.ErrInvalid)
	r.CreateNamespace = true
	s.deleteAfter(t, n.Namespace)
	s.install(t, r)
	s.stands(t, n, 1, helmclient.Deployed)
}

func testDryRun(t *testing.T, s *suite) {
	n := s.name("dry")
	r := helmclient.Install{
		Name: n, Chart: given(pack(t, "small", "1.0.0", small())), DryRun: true,
		Values: helmclient.Values{Set: []string{"text=x"}},
	}
	out := s.install(t, r)
	if !strings.Contains(out.Manifest, `text: "x"`) {
		t.Errorf("manifest: %s", out.Manifest)
	}
	manifest, err := s.Client.Template(s.ctx, r)
	if err != nil || !strings.Contains(manifest, `text: "x"`) || !strings.Contains(manifest, "name: dry-config") {
		t.Errorf("template: %v %s", err, manifest)
	}
	_, err = s.Client.Status(s.ctx, n)
	is(t, "status", err, helmclient.ErrNotFound)
	if s.get(t, configMaps, "dry-config") != nil {
		t.Error("a dry run has made something")
	}
}

// testKubeVersion renders a chart for the version of the cluster, as a dry run does,
// and for a version that the caller gives.
func testKubeVersion(t *testing.T, s *suite) {
	r := helmclient.Install{Name: s.name("version"), DryRun: true, Chart: given(pack(t, "version", "1.0.0", files{
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: version}\ndata: {version: {{ .Capabilities.KubeVersion.Version | quote }}}\n",
	}))}
	manifest, err := s.Client.Template(s.ctx, r)
	if err != nil || !strings.Contains(s.install(t, r).Manifest, strings.TrimSpace(manifest[max(strings.Index(manifest, "data:"), 0):])) {
		t.Errorf("for the cluster: %v %s", err, manifest)
	}
	r.KubeVersion = "1.29.3"
	if manifest, err = s.Client.Template(s.ctx, r); err != nil || !strings.Contains(manifest, `"v1.29.3"`) {
		t.Errorf("for 1.29.3: %v %s", err, manifest)
	}
	r.KubeVersion = "new"
	_, err = s.Client.Template(s.ctx, r)
	is(t, "no version", err, helmclient.ErrInvalid)
}

func testPostRender(t *testing.T, s *suite) {
	n := s.name("post")
	r := helmclient.Install{Name: n, Chart: given(pack(t, "small", "1.0.0", small()))}
	r.PostRender = func(_ context.Context, manifest []byte) ([]byte, error) {
		return []byte(strings.ReplaceAll(string(manifest), `"none"`, `"changed"`)), nil
	}
	s.install(t, r)
	if got := s.data(t, "post-config", "text"); got != "changed" {
		t.Errorf("text is %q", got)
	}
	mine := errors.New("mine")
	r.Name = s.name("fails")
	r.PostRender = func(context.Context, []byte) ([]byte, error) { return nil, mine }
	_, err := s.Client.Install(s.ctx, r)
	is(t, "post-renderer", err, mine)
	_, err = s.Client.Status(s.ctx, r.Name)
	is(t, "status", err, helmclient.ErrNotFound)
}

func testParallel(t *testing.T, s *suite) {
	const many = 20
	chart := pack(t, "small", "1.0.0", small())
	faults := make(chan error, many)
	for i := range many {
		go func() {
			_, err := s.Client.Install(s.ctx, helmclient.Install{
				Name: s.name(fmt.Sprintf("many-%d", i)), Chart: given(chart), Values: helmclient.Values{Set: []string{fmt.Sprint("text=", i)}},
			})
			faults <- err
		}()
	}
	for range many {
		if err := <-faults; err != nil {
			t.Error(err)
		}
	}
	for i := range many {
		if got := s.data(t, fmt.Sprintf("many-%d-config", i), "text"); got != fmt.Sprint(i) {
			t.Errorf("release %d has %q", i, got)
		}
	}
}
