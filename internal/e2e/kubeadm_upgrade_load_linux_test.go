package e2e_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// apiClient sends requests to the API with the address and credentials in the VIM registry.
type apiClient struct {
	http       *http.Client
	url, token string
}

// newAPIClient returns a client whose requests end after a time.
func (y *yard) newAPIClient(id string, timeout time.Duration) (*apiClient, error) {
	vim, err := y.VIMs().Get(y.t.Context(), "", kubeadm.VIMID(id))
	if err != nil {
		return nil, err
	}
	var access struct {
		URL   string        `json:"auth_url"`
		Token vnflcm.Secret `json:"bearer_token"`
		CA    string        `json:"ssl_ca_cert"`
	}
	if _, err := vim.AccessInfo.Decode(&access); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(access.CA)) {
		return nil, fmt.Errorf("no CA in the VIM entry: %q", access.CA)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return &apiClient{&http.Client{Transport: transport, Timeout: timeout}, access.URL, access.Token.Reveal()}, nil
}

// do sends a request and reads the answer. A later request gets a new connection if this one fails.
func (c *apiClient) do(ctx context.Context, method, path string, body []byte) (code int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		c.http.CloseIdleConnections()
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}

// writer writes objects through the API, one after the other, until the test stops it.
type writer struct {
	yard   *yard
	id     string
	client *apiClient
	stop   context.CancelFunc
	ended  sync.WaitGroup

	acknowledged []string // names
	failed       int
	outages      []outage
}

// outage is a time without an acknowledged write.
type outage struct {
	from, to time.Time
	err      error // the first one
}

const (
	writePace     = 50 * time.Millisecond
	writePatience = 2 * time.Second
	configMaps    = "/api/v1/namespaces/writes/configmaps"
)

// write begins to write.
func (y *yard) write(id string) *writer {
	y.t.Helper()
	y.apply(id, "apiVersion: v1\nkind: Namespace\nmetadata: {name: writes}\n")
	client, err := y.newAPIClient(id, writePatience)
	must(y.t, err)
	ctx, cancel := context.WithCancel(y.t.Context())
	w := &writer{yard: y, id: id, client: client, stop: cancel}
	prefix := fmt.Sprintf("w%d-", time.Now().Unix())
	w.ended.Go(func() {
		last, first := time.Now(), error(nil)
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("%s%d", prefix, i)
			err := w.one(context.WithoutCancel(ctx), name)
			now := time.Now()
			if err != nil {
				w.failed++
				first = cmp.Or(first, err)
			} else {
				if first != nil {
					w.outages = append(w.outages, outage{last, now, first})
				}
				w.acknowledged, last, first = append(w.acknowledged, name), now, nil
			}
			select {
			case <-ctx.Done():
			case <-time.After(writePace):
			}
		}
	})
	return w
}

func (w *writer) one(ctx context.Context, name string) error {
	code, answer, err := w.client.do(ctx, http.MethodPost, configMaps, fmt.Appendf(nil, `{"metadata":{"name":%q},"data":{"name":%[1]q}}`, name))
	if err == nil && code != http.StatusCreated {
		err = fmt.Errorf("status %d: %.200s", code, answer)
	}
	return err
}

// end ends the writes, logs the outages, and checks that every acknowledged object is there.
func (w *writer) end(during string) {
	t := w.yard.t
	t.Helper()
	w.stop()
	w.ended.Wait()
	w.client.http.CloseIdleConnections()
	there, err := w.there()
	must(t, err)
	lost := slices.DeleteFunc(slices.Clone(w.acknowledged), func(name string) bool { return there[name] })
	if len(lost) > 0 {
		t.Errorf("%s: %d acknowledged writes are lost: %.200q", during, len(lost), lost)
	}
	var out strings.Builder
	var longest, sum time.Duration
	for _, o := range w.outages {
		took := o.to.Sub(o.from)
		longest, sum = max(longest, took), sum+took
		fmt.Fprintf(&out, "\n  %s %s %s: %v", o.from.Format(time.TimeOnly), took.Round(10*time.Millisecond), w.yard.stepsAt(o.from, o.to), o.err)
	}
	t.Logf("%s: %d writes acknowledged and read back, %d failed; %d outages, the longest took %s, all together %s%s", during, len(w.acknowledged), w.failed,
		len(w.outages), longest.Round(10*time.Millisecond), sum.Round(10*time.Millisecond), out.String())
}

func (w *writer) there() (map[string]bool, error) {
	client, err := w.yard.newAPIClient(w.id, time.Minute)
	if err != nil {
		return nil, err
	}
	defer client.http.CloseIdleConnections()
	code, answer, err := client.do(w.yard.t.Context(), http.MethodGet, configMaps, nil)
	if err != nil || code != http.StatusOK {
		return nil, fmt.Errorf("list of the objects: %d, %w", code, err)
	}
	var list struct {
		Items []struct{ Data struct{ Name string } }
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, item := range list.Items {
		out[item.Data.Name] = true
	}
	return out, nil
}

// stepsAt names the steps that ran on machines at some time between two times.
func (s *scene) stepsAt(from, to time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := map[string]bool{}
	for _, e := range s.events {
		name := e.Name + " " + e.Host
		switch {
		case e.Name == "" || e.Time.After(to):
		case e.Kind == vnflcm.StepStarted:
			running[name] = true
		case (e.Kind == vnflcm.StepDone || e.Kind == vnflcm.StepFailed) && e.Time.Before(from):
			delete(running, name)
		}
	}
	var out []string
	for name := range running {
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// claimed is a pod with a claim. Its volume can be used on each node.
const claimed = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: claimed}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: ""
  claimRef: {namespace: shop, name: data-claimed-0}
  hostPath: {path: /var/lib/claimed, type: DirectoryOrCreate}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: claimed, namespace: shop}
spec:
  serviceName: claimed
  replicas: 1
  selector: {matchLabels: {app: claimed}}
  template:
    metadata: {labels: {app: claimed}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: pause, image: "registry.k8s.io/pause:tests", volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
`

// loaded lets a cluster run the shop and a pod with a claim.
func (y *yard) loaded(id string) {
	y.t.Helper()
	y.apply(id, shop)
	y.apply(id, claimed)
	for _, what := range []string{"deployment/web", "daemonset/local", "statefulset/claimed"} {
		y.kubectl(id, "rollout", "status", "-n", "shop", what, "--timeout=50s")
	}
}

// asked begins to ask the shop through a node.
func (y *yard) asked(id string) *traffic {
	y.t.Helper()
	worker := y.vnfcs(id, workerVDU)[0]
	return request(y.t, pace, "the service", fmt.Sprintf("http://%s:%d/health", y.machines.Host(worker.ComputeResource.ResourceID).Address, webPort), nil)
}

// wantClaimed checks that the pod with the claim runs.
func (y *yard) wantClaimed(id string) {
	y.t.Helper()
	y.kubectl(id, "wait", "-n", "shop", "pod/claimed-0", "--for=condition=Ready", "--timeout=50s")
	if phase := y.kubectl(id, "get", "pvc", "-n", "shop", "data-claimed-0", "-o", "jsonpath={.status.phase}"); phase != "Bound" {
		y.t.Errorf("the claim is %s", phase)
	}
}

// withTwoWorkers has the request make two workers.
func withTwoWorkers(r *vnflcm.InstantiateVnfRequest) {
	r.InstantiationLevelID = ""
	r.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "master_instance", ScaleLevel: 1}, {AspectID: "worker_instance", ScaleLevel: 1}}
}

// TestKubeadmUpgradeTo136 has everything that the upgrade from 1.35 changes, but for what the next one changes.
func TestKubeadmUpgradeTo136(t *testing.T) { upgradeUnderLoad(t, kube135, kube136) }

// TestKubeadmUpgradeTo137 also has etcd 3.7.
func TestKubeadmUpgradeTo137(t *testing.T) { upgradeUnderLoad(t, kube136, kube137) }

// upgradeUnderLoad upgrades a cluster of three control-plane nodes behind a virtual address, and two workers. The Service answers every
// request of a client that asks every 10 ms, and no acknowledged write is lost.
func upgradeUnderLoad(t *testing.T, from, to string) {
	t.Parallel()
	u := newUpgradeYard(t, from, nil)
	ctx := t.Context()
	id, r := u.cluster("complex", highlyAvailable, u.source(from))
	withTwoWorkers(&r)
	u.must(u.Instantiate(ctx, id, r))
	u.loaded(id)
	during := "the upgrade to " + to
	func() {
		service, writes := u.asked(id), u.write(id)
		defer writes.end(during)
		defer service.none(during)
		u.upgraded(id, to)
	}()
	u.wantNodes(id, 3, 2)
	u.wantMembers(id)
	u.wantClaimed(id)
	u.must(u.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	u.gone(id)
}
