package helmcli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// TestArguments looks at the command line of each request: every field is on it, or in what helm reads.
func TestArguments(t *testing.T) {
	t.Parallel()
	chart := helmclient.Chart{Ref: "stable/web", Version: "-1 $(x)"}
	name := helmclient.Name{Namespace: "shop", Release: "web"}
	in := helmclient.Install{Name: name, Chart: chart, Values: helmclient.Values{Map: map[string]any{"secret": "canary", "n": 3}, SetString: []string{"x=y z"}},
		Wait: helmclient.Wait{Ready: true, Jobs: true, Timeout: 90 * time.Second}, CRDs: helmclient.CRDSkip, CreateNamespace: true, Atomic: true,
		Labels: map[string]string{"b": "2", "a": "1"}, Description: "-x 'y'\n$(z)"}
	shared := []string{"--timeout=1m30s", "--wait", "--wait-for-jobs", "--skip-crds", "--labels=a=1,b=2", "--create-namespace", "--atomic", "--description=-x 'y'\n$(z)"}
	upgrade := []string{"--reset-then-reuse-values", "--history-max=7", "--install", "--cleanup-on-fail"}
	ending := []string{"--output=json", "--version=-1 $(x)", "--set=n=3", "--values=-"}
	for verb, tc := range map[string]struct {
		run  func(c *helmcli.Client) error
		want []string
	}{
		"install": {func(c *helmcli.Client) error { return second(c.Install(t.Context(), in)) },
			join([]string{"helm", "install", "web", "stable/web", "--namespace=shop"}, shared, ending)},
		"upgrade": {func(c *helmcli.Client) error {
			return second(c.Upgrade(t.Context(), helmclient.Upgrade{Install: in, Reuse: helmclient.ReuseThen, OrInstall: true, MaxHistory: 7, CleanupOnFail: true}))
		}, join([]string{"helm", "upgrade", "web", "stable/web", "--namespace=shop"}, shared, upgrade, ending)},
		"rollback": {func(c *helmcli.Client) error {
			return second(c.Rollback(t.Context(), helmclient.Rollback{Name: name, Wait: in.Wait, Revision: 4}))
		}, []string{"helm", "rollback", "web", "4", "--namespace=shop", "--timeout=1m30s", "--wait", "--wait-for-jobs", "--history-max=0"}},
		"uninstall": {func(c *helmcli.Client) error {
			return c.Uninstall(t.Context(), helmclient.Uninstall{Name: name, Wait: in.Wait, KeepHistory: true, Description: "-d"})
		}, []string{"helm", "uninstall", "web", "--namespace=shop", "--timeout=1m30s", "--cascade=background", "--wait", "--keep-history", "--description=-d"}},
	} {
		client, list, _ := machines(t, 1)
		if err := tc.run(client); err != nil {
			t.Fatal(verb, err)
		}
		var got []string
		for _, argv := range list[0].argvs {
			if strings.Contains(fmt.Sprint(argv), "canary") {
				t.Error("a value is on a command line", argv)
			}
			if argv[1] == verb {
				got = argv
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", verb, diff)
		}
		if chart := verb == "install" || verb == "upgrade"; chart && (len(list[0].inputs) != 1 || list[0].inputs[0] != `{"n":3,"secret":"canary","x":"y z"}`) {
			t.Error(list[0].inputs)
		}
	}
}

func join(lists ...[]string) (out []string) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// TestInvalid has requests that are refused before a machine is asked.
func TestInvalid(t *testing.T) {
	t.Parallel()
	path := helmclient.Chart{Path: "web"}
	ok := helmclient.Install{Name: theWeb, Chart: path}
	with := func(change func(*helmclient.Install)) helmclient.Install {
		in := ok
		change(&in)
		return in
	}
	client, list, _ := machines(t, 1)
	ctx := t.Context()
	for name, in := range map[string]helmclient.Install{
		"name":       with(func(in *helmclient.Install) { in.Release = "-x" }),
		"namespace":  with(func(in *helmclient.Install) { in.Namespace = "$(x)" }),
		"no chart":   with(func(in *helmclient.Install) { in.Path = "" }),
		"two charts": with(func(in *helmclient.Install) { in.Ref = "a/b" }),
		"argument":   with(func(in *helmclient.Install) { in.Chart = helmclient.Chart{Ref: "--post-renderer=/x"} }),
		"file":       with(func(in *helmclient.Install) { in.Chart = helmclient.Chart{Ref: "/etc/x"} }),
		"file below": with(func(in *helmclient.Install) { in.Chart = helmclient.Chart{Ref: "../x"} }),
		"file://":    with(func(in *helmclient.Install) { in.Chart = helmclient.Chart{Ref: "file:///x"} }),
		"password":   with(func(in *helmclient.Install) { in.Chart = helmclient.Chart{Ref: "https://u:canary@h/x.tgz"} }),
		"timeout":    with(func(in *helmclient.Install) { in.Timeout = -1 }),
		"crds":       with(func(in *helmclient.Install) { in.CRDs = "x" }),
		"label":      with(func(in *helmclient.Install) { in.Labels = map[string]string{"a": "b,c=d"} }),
		"set":        with(func(in *helmclient.Install) { in.Set = []string{"canary"} }),
		"json":       with(func(in *helmclient.Install) { in.SetJSON = []string{"a={canary"} }),
		"map":        with(func(in *helmclient.Install) { in.Map = map[string]any{"a": func() {}} }),
		"file values": with(func(in *helmclient.Install) {
			in.Files = []func() (io.ReadCloser, error){func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("- canary")), nil }}
		}),
	} {
		if _, err := client.Install(ctx, in); !errors.Is(err, helmclient.ErrInvalid) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"reuse":        second(client.Upgrade(ctx, helmclient.Upgrade{Install: ok, Reuse: "x"})),
		"history":      second(client.Upgrade(ctx, helmclient.Upgrade{Install: ok, MaxHistory: -1})),
		"revision":     second(client.Rollback(ctx, helmclient.Rollback{Name: theWeb, Revision: -1})),
		"of values":    second(client.Values(ctx, theWeb, -1, false)),
		"of manifest":  second(client.Manifest(ctx, theWeb, -1)),
		"filter":       second(client.List(ctx, helmclient.Filter{Namespace: "X"})),
		"selector":     second(client.List(ctx, helmclient.Filter{Labels: map[string]string{"a": "b,c"}})),
		"repository":   client.AddRepository(ctx, helmclient.Repository{Name: "-x", URL: "http://h"}),
		"url":          client.AddRepository(ctx, helmclient.Repository{Name: "x", URL: "-x"}),
		"oci":          client.AddRepository(ctx, helmclient.Repository{Name: "x", URL: "oci://h/x"}),
		"user":         client.AddRepository(ctx, helmclient.Repository{Name: "x", URL: "ftp://u:canary@h"}),
		"update":       client.UpdateRepositories(ctx, "--x"),
		"remove":       client.RemoveRepository(ctx, "--x"),
		"no name":      second(client.Status(ctx, helmclient.Name{})),
		"uninstalling": client.Uninstall(ctx, helmclient.Uninstall{Name: theWeb, Wait: helmclient.Wait{Timeout: -1}}),
	} {
		if !errors.Is(err, helmclient.ErrInvalid) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(list[0].argvs) > 0 {
		t.Error("the machine was asked", list[0].argvs)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	one := []helmcli.Machine{{Name: "m", Runner: shell{}}}
	for name, config := range map[string]helmcli.Config{
		"no machines": {Dir: "/x"}, "no dir": {Machines: one}, "root": {Machines: one, Dir: "/x/.."}, "relative": {Machines: one, Dir: "x"},
		"kubeconfig": {Machines: one, Dir: "/x", Kubeconfig: "y"}, "namespace": {Machines: one, Dir: "/x", Namespace: "Y"},
		"twice": {Machines: append(one, one...), Dir: "/x"}, "no runner": {Machines: []helmcli.Machine{{Name: "m"}}, Dir: "/x"},
	} {
		if _, err := helmcli.New(config); !errors.Is(err, helmclient.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Which archives are hostile is tested with helmclient.CheckArchive: here, that none of them reaches a machine.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"text":      []byte("text"),
		"up":        packed(t, map[string]string{"web/Chart.yaml": "", "web/../../x": ""}),
		"backslash": packed(t, map[string]string{"web/Chart.yaml": "", `web\..\x`: ""}),
	} {
		client, list, _ := machines(t, 1)
		_, err := client.Install(t.Context(), helmclient.Install{Name: theWeb, Chart: helmclient.Chart{Archive: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(data)), nil
		}}})
		if !errors.Is(err, helmclient.ErrInvalidChart) || len(list[0].argvs) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSplitChart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{"web-1.2.3": {"web", "1.2.3"}, "a-1-b-0.1.0-rc.1+x-y": {"a-1-b", "0.1.0-rc.1+x-y"}, "web-v1.0.0": {"web", "v1.0.0"}, "web": {"web", ""},
		"web-1.2": {"web-1.2", ""}} {
		if name, version := helmcli.SplitChart(text); name != want[0] || version != want[1] {
			t.Error(text, name, version)
		}
	}
}
