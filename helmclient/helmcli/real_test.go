package helmcli_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
)

func TestRealLife(t *testing.T) {
	c := real(t)
	ctx := t.Context()
	n := helmclient.Name{Namespace: "life", Release: "life"}
	uninstalled(t, c, n)
	t.Cleanup(func() { uninstalled(t, c, n) })
	if _, err := c.Status(ctx, n); !errors.Is(err, helmclient.ErrNotFound) {
		t.Fatal(err)
	}
	var seen []helmclient.Progress
	hard := "a b'c\"d\n$(touch /tmp/helmcli-injected)`x`,{z}\\ -n"
	in := helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, nil)}, CreateNamespace: true,
		Values: helmclient.Values{Map: map[string]any{"hard": hard, "count": 1000000, "half": 0.5}, Set: []string{"replicas=2,list={a,b}", "kept.b=null"},
			SetString: []string{"n=007"}, SetJSON: []string{`deep.x=[1,{"y":true}]`}},
		Wait:   helmclient.Wait{Ready: true, Timeout: time.Minute, Progress: func(p helmclient.Progress) { seen = append(seen, p) }},
		Labels: map[string]string{"team": "a"}, Description: "-the 'first' $(one)\nof all"}
	r, err := c.Install(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	want := &helmclient.Release{Name: n, Revision: 1, State: helmclient.Deployed, Updated: r.Updated, Labels: in.Labels, Description: in.Description,
		Chart: helmclient.ChartInfo{Name: "web", Version: "1.2.3", AppVersion: "4", Description: "A web server."}, Notes: "Thank you for life.\n", Manifest: r.Manifest}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Fatal(diff)
	}
	if !strings.Contains(r.Manifest, "replicas: 2") || time.Since(r.Updated) > time.Minute {
		t.Error(r.Updated, r.Manifest)
	}
	values, err := c.Values(ctx, n, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	_ = json.Unmarshal([]byte(`{"count":1000000,"deep":{"x":[1,{"y":true}]},"half":0.5,"image":"pause","kept":{"a":1},"list":["a","b"],"n":"007","replicas":2}`), &all)
	all["hard"] = hard
	if diff := cmp.Diff(all, values); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Install(ctx, in); !errors.Is(err, helmclient.ErrExists) {
		t.Error(err)
	}
	up := helmclient.Upgrade{Install: in, Reuse: helmclient.ReuseValues}
	up.Values = helmclient.Values{Set: []string{"replicas=3"}}
	if r, err = c.Upgrade(ctx, up); err != nil || r.Revision != 2 || !strings.Contains(r.Manifest, "replicas: 3") || !strings.Contains(r.Manifest, "007") {
		t.Fatal(r, err)
	}
	if r, err = c.Rollback(ctx, helmclient.Rollback{Name: n}); err != nil || r.Revision != 3 || !strings.Contains(r.Manifest, "replicas: 2") {
		t.Fatal(r, err)
	}
	list, err := c.History(ctx, n)
	if err != nil || len(list) != 3 || list[0].State != helmclient.Superseded || list[2].State != helmclient.Deployed || list[1].Name != n || list[0].Chart.Version != "1.2.3" {
		t.Error(list, err)
	}
	list, err = c.List(ctx, helmclient.Filter{Labels: map[string]string{"team": "a"}, States: []helmclient.State{helmclient.Deployed}})
	if err != nil || len(list) != 1 || list[0].Name != n || list[0].Revision != 3 || list[0].Updated.IsZero() {
		t.Error(list, err)
	}
	if m, err := c.Manifest(ctx, n, 2); err != nil || !strings.Contains(m, "replicas: 3") {
		t.Error(m, err)
	}
	if err := c.Uninstall(ctx, helmclient.Uninstall{Name: n, Wait: helmclient.Wait{Ready: true}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Uninstall(ctx, helmclient.Uninstall{Name: n}); !errors.Is(err, helmclient.ErrNotFound) {
		t.Error(err)
	}
	t.Log(len(seen), "times told of progress")
}

func TestRealNotReady(t *testing.T) {
	c := real(t)
	n := helmclient.Name{Release: "stuck"}
	uninstalled(t, c, n)
	t.Cleanup(func() { uninstalled(t, c, n) })
	for _, atomic := range []bool{false, true} {
		var seen int
		_, err := c.Install(t.Context(), helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, nil)}, Atomic: atomic,
			Values: helmclient.Values{Map: map[string]any{"node": map[string]string{"no": "where"}}},
			Wait:   helmclient.Wait{Ready: true, Timeout: 5 * time.Second, Progress: func(helmclient.Progress) { seen++ }}})
		notReady, ok := errors.AsType[*helmclient.NotReadyError](err)
		if !ok || !errors.Is(err, helmclient.ErrNotReady) || len(notReady.Objects) != 1 || seen == 0 || !strings.Contains(notReady.Error(), "FailedScheduling") {
			t.Fatal(seen, err)
		}
		t.Log(err)
		if r, err := c.Status(t.Context(), n); atomic != errors.Is(err, helmclient.ErrNotFound) || !atomic && r.State != helmclient.Failed {
			t.Error(r, err)
		}
		uninstalled(t, c, n)
	}
}

func TestRealCancel(t *testing.T) {
	c := real(t)
	n := helmclient.Name{Release: "cancelled"}
	uninstalled(t, c, n)
	t.Cleanup(func() { uninstalled(t, c, n) })
	in := helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, nil)},
		Values: helmclient.Values{Map: map[string]any{"node": map[string]string{"no": "where"}}}, Wait: helmclient.Wait{Ready: true, Timeout: time.Minute}}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("enough"))
	defer cancel()
	_, err := c.Install(ctx, in)
	if err == nil || !strings.Contains(err.Error(), "enough") || !strings.Contains(err.Error(), "revision 1 is failed") {
		t.Fatal(err)
	}
	if r, err := c.Status(t.Context(), n); err != nil || r.State != helmclient.Failed {
		t.Fatal(r, err)
	}
}
