package helmcli_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// TestArgumentsOfHelm4 looks at the command lines whose flags are not those of helm 3.
func TestArgumentsOfHelm4(t *testing.T) {
	t.Parallel()
	in := helmclient.Install{Name: theWeb, Chart: helmclient.Chart{Ref: "stable/web"}, Atomic: true, Description: "--atomic"}
	shared := []string{"--timeout=5m0s", "--rollback-on-failure", "--description=--atomic"}
	for name, tc := range map[string]struct {
		run     func(c *helmcli.Client) error
		exists  bool
		applied string
		want    []string
	}{
		"install": {func(c *helmcli.Client) error { return second(c.Install(t.Context(), in)) }, false, "",
			join([]string{"install", "web", "stable/web", "--namespace=default"}, shared, []string{"--force-conflicts", "--output=json", "--skip-crds"})},
		"upgrade of what the server has applied": {func(c *helmcli.Client) error {
			return second(c.Upgrade(t.Context(), helmclient.Upgrade{Install: in}))
		}, true, "ssa", join([]string{"upgrade", "web", "stable/web", "--namespace=default"}, shared, []string{"--history-max=0", "--force-conflicts", "--output=json", "--skip-crds"})},
		"upgrade of what helm 3 has applied": {func(c *helmcli.Client) error {
			return second(c.Upgrade(t.Context(), helmclient.Upgrade{Install: in}))
		}, true, "", join([]string{"upgrade", "web", "stable/web", "--namespace=default"}, shared, []string{"--history-max=0", "--output=json", "--skip-crds"})},
		"upgrade that installs": {func(c *helmcli.Client) error {
			return second(c.Upgrade(t.Context(), helmclient.Upgrade{Install: in, OrInstall: true}))
		}, false, "", join([]string{"upgrade", "web", "stable/web", "--namespace=default"}, shared, []string{"--history-max=0", "--install", "--force-conflicts", "--output=json", "--skip-crds"})},
		"rollback": {func(c *helmcli.Client) error {
			return second(c.Rollback(t.Context(), helmclient.Rollback{Name: theWeb}))
		}, true, "ssa", []string{"rollback", "web", "--namespace=default", "--timeout=5m0s", "--history-max=0", "--force-conflicts"}},
		"uninstall": {func(c *helmcli.Client) error { return c.Uninstall(t.Context(), helmclient.Uninstall{Name: theWeb}) }, true, "ssa",
			[]string{"uninstall", "web", "--namespace=default", "--timeout=5m0s", "--cascade=background"}},
		"list": {func(c *helmcli.Client) error {
			return second(c.List(t.Context(), helmclient.Filter{Namespace: "shop"}))
		}, false, "",
			[]string{"list", "--output=json", "--max=100000", "--namespace=shop"}},
		"all values": {func(c *helmcli.Client) error { return second(c.Values(t.Context(), theWeb, 0, true)) }, true, "",
			[]string{"get", "values", "web", "--output=json", "--revision=0", "--all", "--namespace=default"}},
		"repository": {func(c *helmcli.Client) error { return c.UpdateRepositories(t.Context(), "stable") }, false, "", []string{"repo", "update", "stable"}},
	} {
		client, list, cluster := machines(t, 1)
		list[0].version, list[0].applied = "v4.3.1", tc.applied
		if tc.exists {
			cluster.becomes(theWeb, 3, helmclient.Deployed)
		}
		_ = tc.run(client) // what the simulated helm prints is not that of every command
		var got []string
		for _, argv := range list[0].argvs {
			if argv[0] == "helm" && argv[1] == tc.want[0] && (argv[1] != "get" || argv[2] == tc.want[1]) {
				got = argv[1:]
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestCRDsOfHelm4: they are created by kubectl, those that exist stay what they are, and any other error counts.
func TestCRDsOfHelm4(t *testing.T) {
	t.Parallel()
	const exists = "Error from server (AlreadyExists): error when creating \"STDIN\": customresourcedefinitions.apiextensions.k8s.io \"a\" already exists\n"
	for name, tc := range map[string]struct {
		version, says string
		policy        helmclient.CRDPolicy
		created, ok   bool
	}{
		"new":                 {"v4.3.1", "", helmclient.CRDCreate, true, true},
		"exist":               {"v4.3.1", exists + exists, helmclient.CRDCreate, true, true},
		"one is refused":      {"v4.3.1", exists + "Error from server (Invalid): error when creating \"STDIN\": x is invalid: y\n", helmclient.CRDCreate, true, false},
		"skipped":             {"v4.3.1", "", helmclient.CRDSkip, false, true},
		"helm 3 creates them": {"v3.22.0", "", helmclient.CRDCreate, false, true},
	} {
		client, list, _ := machines(t, 1)
		list[0].version, list[0].crds, list[0].exists = tc.version, "kind: CustomResourceDefinition\n", tc.says
		_, err := client.Install(t.Context(), helmclient.Install{Name: theWeb, Chart: helmclient.Chart{Ref: "stable/web"}, CRDs: tc.policy})
		created := slices.ContainsFunc(list[0].argvs, func(argv []string) bool { return strings.Join(argv, " ") == "kubectl create --filename=-" })
		if created != tc.created || (err == nil) != tc.ok || err != nil && !errors.Is(err, helmclient.ErrInvalidChart) {
			t.Errorf("%s: created: %t, %v", name, created, err)
		}
	}
}

// TestPlainYAML: helm 4 rewrites the output of a post-renderer.
func TestPlainYAML(t *testing.T) {
	t.Parallel()
	got, err := helmcli.PlainYAML([]byte("---\n# Source: a\n---\nkind: A\nmetadata: {labels: &l {a: '1', m: }, annotations: *l}\n---\n{big: 1073741824, text: 'yes'}\n"))
	want := "---\nkind: A\nmetadata:\n  annotations:\n    a: \"1\"\n    m: null\n  labels:\n    a: \"1\"\n    m: null\n---\nbig: 1073741824\ntext: \"yes\"\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := helmcli.PlainYAML([]byte("a: [")); err == nil {
		t.Error("a document that is no YAML is accepted")
	}
}

// TestOnlyDefinitions: the directory crds of a chart may have objects of other kinds, for which kubectl would wait in vain.
func TestOnlyDefinitions(t *testing.T) {
	t.Parallel()
	const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a.b"}}`
	for text, want := range map[string]string{
		"---\n{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n" + definition + "\n---\n# nothing\n":               "---\n" + definition + "\n",
		"apiVersion: v1\nkind: List\nitems:\n- " + definition + "\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n": "---\n" + definition + "\n",
		"{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n":                                                             "",
	} {
		got, err := helmcli.OnlyDefinitions([]byte(text))
		if err != nil || strings.ReplaceAll(string(got), "\n\n", "\n") != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
