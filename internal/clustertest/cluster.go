package clustertest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// count says how many nodes are control-plane nodes, workers, and not Ready.
type count struct{ Masters, Workers, NotReady int }

// WantNodes makes sure that the cluster has that many nodes.
func (l *Lab) WantNodes(masters, workers, notReady int) {
	l.t.Helper()
	var got count
	for _, n := range l.World.Nodes() {
		if n.ControlPlane {
			got.Masters++
		} else {
			got.Workers++
		}
		if !n.Ready || n.Unschedulable {
			got.NotReady++
		}
	}
	if diff := cmp.Diff(count{masters, workers, notReady}, got); diff != "" {
		l.t.Fatalf("cluster:\n%s\n%+v", diff, l.World.Nodes())
	}
}

// Entry is the content of a cluster's entry in the VIM registry.
type Entry struct {
	AuthURL string        `json:"auth_url"`
	Token   vnflcm.Secret `json:"bearer_token"`
	CA      string        `json:"ssl_ca_cert"`
}

// Entry reads an entry of the VIM registry, and its additional fields.
func (l *Lab) Entry(vimID string) (entry Entry, extra map[string]any) {
	l.t.Helper()
	vim, err := l.VIMs().Get(l.t.Context(), "", vimID)
	check(l.t, err)
	extra = map[string]any{}
	unknown, err1 := vim.AccessInfo.Decode(&entry)
	_, err2 := vim.Extra.Decode(&extra)
	if err := errors.Join(err1, err2); err != nil || len(unknown) > 0 {
		l.t.Fatalf("%v; also %q", err, unknown)
	}
	return entry, extra
}

// RunStatefulSet has a cluster run a StatefulSet with a pod on each worker. Should two copies of a pod ever run at the same
// time, the test fails at its end.
func (l *Lab) RunStatefulSet(vimID string, workers int) {
	l.t.Helper()
	entry, _ := l.Entry(vimID)
	code, body, err := l.Ask(entry, http.MethodPost, "/apis/apps/v1/namespaces/default/statefulsets", fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": {"name": "db"}, "spec": {"replicas": %d, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
		"template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "db"}]}}}}`, workers))
	check(l.t, err)
	if code != http.StatusCreated {
		l.t.Fatalf("%d %s", code, body)
	}
	l.WantStatefulSet(vimID, workers)
}

// WantStatefulSet makes sure that every pod of the StatefulSet is ready.
func (l *Lab) WantStatefulSet(vimID string, pods int) {
	l.t.Helper()
	entry, _ := l.Entry(vimID)
	_, body, err := l.Ask(entry, http.MethodGet, "/apis/apps/v1/namespaces/default/statefulsets/db", "")
	check(l.t, err)
	var set struct{ Status struct{ ReadyReplicas int } }
	check(l.t, json.Unmarshal(body, &set))
	if set.Status.ReadyReplicas != pods {
		l.t.Errorf("%d of %d pods of the StatefulSet are ready", set.Status.ReadyReplicas, pods)
	}
}

// Ask asks the API of a cluster as the entry says, from outside: TLS is verified.
func (l *Lab) Ask(e Entry, method, path, body string) (code int, answer []byte, err error) {
	l.t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(e.CA)) {
		l.t.Fatalf("no CA: %q", e.CA)
	}
	transport := &http.Transport{DialContext: l.World.Dial, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(l.t.Context(), method, e.AuthURL+path, strings.NewReader(body))
	check(l.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+e.Token.Reveal())
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}
