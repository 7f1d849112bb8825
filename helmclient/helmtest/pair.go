package helmtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/helmclient"
)

// optional is the chart web, with an additional key in its ConfigMap, and with a ServiceAccount if a value requests it.
func optional() files {
	members := web()
	members["values.yaml"] += "more: \"\"\n"
	members["templates/config.yaml"] += "{{- if .Values.more }}\n  more: {{ .Values.more | quote }}\n{{- end }}\n"
	members["templates/account.yaml"] = "{{- if .Values.more }}\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: {{ .Release.Name }}-more}\n{{- end }}\n"
	return members
}

// testPair creates a release with s.Client, and changes it with next.
func testPair(t *testing.T, s *suite, next helmclient.Client) {
	n := s.name("moved")
	request := func(replicas int, more string) helmclient.Install {
		return helmclient.Install{
			Name: n, Chart: given(pack(t, "web", "1.0.0", optional())), Labels: map[string]string{"vnf": "a"},
			Values: helmclient.Values{Map: map[string]any{"replicas": replicas, "more": more}}, Wait: helmclient.Wait{Ready: true, Timeout: time.Minute},
		}
	}
	made := s.install(t, request(1, "x"))
	read, err := next.Status(s.ctx, n)
	if diff := cmp.Diff(made, read); err != nil || diff != "" {
		t.Fatalf("the release as the second client reads it: %v %s", err, diff)
	}
	s.changeByOthers(t, n.Release+"-config", "values", "theirs")
	for i, change := range []struct {
		do       func() (*helmclient.Release, error)
		replicas int64
		more     string
	}{
		{func() (*helmclient.Release, error) {
			return next.Upgrade(s.ctx, helmclient.Upgrade{Install: request(2, "")})
		}, 2, ""},
		{func() (*helmclient.Release, error) {
			return s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: request(3, "y")})
		}, 3, "y"},
		{func() (*helmclient.Release, error) {
			return next.Rollback(s.ctx, helmclient.Rollback{Name: n, Revision: 1, Wait: request(0, "").Wait})
		}, 1, "x"},
		{func() (*helmclient.Release, error) {
			return s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n, Revision: 2, Wait: request(0, "").Wait})
		}, 2, ""},
		{func() (*helmclient.Release, error) {
			return next.Upgrade(s.ctx, helmclient.Upgrade{Install: request(1, "z")})
		}, 1, "z"},
	} {
		out, err := change.do()
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		if out.Revision != i+2 || out.State != helmclient.Deployed || out.Labels["vnf"] != "a" {
			t.Errorf("change %d: %+v", i, out)
		}
		s.hasMore(t, n, i, change.replicas, change.more)
	}
	for _, c := range []helmclient.Client{s.Client, next} {
		s.Client = c
		s.hasHistory(t, n, helmclient.Superseded, helmclient.Superseded, helmclient.Superseded, helmclient.Superseded, helmclient.Superseded, helmclient.Deployed)
	}
	if err := next.Uninstall(s.ctx, helmclient.Uninstall{Name: n, Wait: helmclient.Wait{Ready: true}}); err != nil {
		t.Fatal(err)
	}
	if s.get(t, deployments, n.Release+"-web") != nil || s.get(t, configMaps, n.Release+"-config") != nil || s.get(t, serviceAccounts, n.Release+"-more") != nil {
		t.Error("objects are left")
	}
}

// hasMore checks the objects of a release of the chart optional.
func (s *suite) hasMore(t *testing.T, n helmclient.Name, change int, replicas int64, more string) {
	t.Helper()
	if got, _, _ := nested(s.get(t, deployments, n.Release+"-web"), "spec", "replicas"); got != replicas {
		t.Errorf("change %d: the Deployment has %d replicas, want %d", change, got, replicas)
	}
	if got := s.data(t, n.Release+"-config", "more"); got != more {
		t.Errorf("change %d: the ConfigMap has %q, want %q", change, got, more)
	}
	if got := s.data(t, n.Release+"-config", "values"); got != "{}" {
		t.Errorf("change %d: the ConfigMap has %q, which another has written", change, got)
	}
	if account := s.get(t, serviceAccounts, n.Release+"-more"); (account != nil) != (more != "") {
		t.Errorf("change %d: the ServiceAccount exists: %t", change, account != nil)
	}
}

// changeByOthers has another client take over an entry of a ConfigMap, as kubectl edit does.
func (s *suite) changeByOthers(t *testing.T, name, key, value string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{key: value},
	}}
	_, err := s.dynamic.Resource(configMaps).Namespace(s.namespace).Apply(s.ctx, name, o, metav1.ApplyOptions{FieldManager: "another-client", Force: true})
	if err != nil {
		t.Fatal(err)
	}
}

// testChangedByOthers changes an object of a release with another client: the next upgrade and the next rollback set
// the fields as the chart has them.
func testChangedByOthers(t *testing.T, s *suite) {
	n := s.name("drift")
	r := helmclient.Install{Name: n, Chart: given(pack(t, "small", "1.0.0", small())), Values: helmclient.Values{Set: []string{"text=a"}}}
	s.install(t, r)
	s.changeByOthers(t, "drift-config", "text", "theirs")
	r.Values = helmclient.Values{Set: []string{"text=b"}}
	if _, err := s.Client.Upgrade(s.ctx, helmclient.Upgrade{Install: r}); err != nil {
		t.Fatal(err)
	}
	if got := s.data(t, "drift-config", "text"); got != "b" {
		t.Errorf("text after an upgrade is %q, want b", got)
	}
	s.changeByOthers(t, "drift-config", "text", "theirs")
	if _, err := s.Client.Rollback(s.ctx, helmclient.Rollback{Name: n}); err != nil {
		t.Fatal(err)
	}
	if got := s.data(t, "drift-config", "text"); got != "a" {
		t.Errorf("text after a rollback is %q, want a", got)
	}
}
