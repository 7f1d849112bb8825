// Package guides_test sends the request bodies of Tacker's user guides to the HTTP API, with the drivers of this module on a sandbox.
// testdata has the bodies with the names, attributes and values of the guides. docs/tacker.md lists what had to be changed.
package guides_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// samples is the folder of the sample packages.
const samples = "../../examples/packages/"

// lab is a VNFM with every driver, whose VIMs of OpenStack are a sandbox.
type lab struct {
	t        *testing.T
	world    *sandbox.World
	manager  *vnflcm.Manager
	api      string // http://.../vnflcm
	client   *http.Client
	packages string // folder of the VNF packages

	mu  sync.Mutex
	log bytes.Buffer
}

// Write implements io.Writer for the log.
func (l *lab) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(text)
}

func (l *lab) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

func newLab(t *testing.T, c sandbox.Config) *lab {
	t.Helper()
	l := &lab{t: t, packages: t.TempDir()}
	c.Unexpected = func(host string, argv []string) { t.Errorf("%s: unexpected command %q", host, argv) }
	var err error
	l.world, err = sandbox.Open(c)
	must(t, err)
	t.Cleanup(func() { must(t, l.world.Close()) })
	pool := sshexec.NewPool(sshexec.Options{Dial: l.world.Dial})
	t.Cleanup(func() { must(t, pool.Close()) })
	clusters := kubernetes.New(kubernetes.Config{Allow: outbound.AllowAny, SSH: pool, Dial: l.world.Dial, Dir: t.TempDir(), HelmBy: kubernetes.SDK,
		Helm: func(cluster *rest.Config, dir string) (helmclient.Client, error) {
			return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir})
		}})
	l.manager, err = vnflcm.New(t.Context(), vnflcm.Config{
		Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32), Packages: vnflcm.DirPackages(l.packages), Logger: slog.New(slog.NewTextHandler(l, nil)),
		Infra: map[string]vnflcm.InfraDriver{openstack.VimTypeV1: l.world, openstack.VimTypeV2: l.world,
			kubernetes.VimTypeV1: clusters, kubernetes.VimTypeHelm: clusters},
		Mgmt: map[string]vnflcm.MgmtDriver{
			"mgmt-drivers-kubernetes":       kubeadm.New(kubeadm.Config{Pool: pool}),
			"mgmt-drivers-kubespray":        kubespray.New(kubespray.Config{Pool: pool}),
			"mgmt-drivers-private-registry": registry.New(registry.Config{Pool: pool}),
			"mgmt-drivers-cnf-nodeport":     expose.New(expose.Config{Pool: pool, Dial: l.world.Dial}),
		},
	})
	must(t, err)
	t.Cleanup(func() {
		must(t, l.manager.Close(context.WithoutCancel(t.Context())))
		for line := range strings.Lines(l.said()) {
			if strings.Contains(line, "is not known") {
				t.Errorf("an attribute of a guide has no effect: %s", line)
			}
		}
	})
	handler, err := sol003.NewHandler(l.manager, sol003.Options{InsecureAllowAnyone: true})
	must(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	l.api, l.client = server.URL+"/vnflcm", server.Client()
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replaceIn reads the definitions and base HOTs of a sample package with replacements of names (strings.NewReplacer).
func replaceIn(t *testing.T, sample string, replacements ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"Definitions/*.yaml", "BaseHOT/*/*.yaml", "BaseHOT/*/nested/*.yaml"} {
		names, err := filepath.Glob(filepath.Join(samples, sample, pattern))
		must(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			must(t, err)
			relative, err := filepath.Rel(filepath.Join(samples, sample), name)
			must(t, err)
			files[relative] = strings.NewReplacer(replacements...).Replace(string(text))
		}
	}
	return files
}

// addPackage adds a sample package with files of the test's own, and returns the id of its VNFD.
func (l *lab) addPackage(sample string, files map[string]string) (vnfdID string) {
	l.t.Helper()
	to := filepath.Join(l.packages, sample)
	must(l.t, os.Rename(mgmttest.Package(l.t, filepath.Join(samples, sample), files), to))
	vnfdID, err := tosca.NewCache(1).VNFDID(l.t.Context(), tosca.File(to))
	must(l.t, err)
	return vnfdID
}

// body is a request of a guide with values for its placeholders: a JSON merge patch, "" for none.
func (l *lab) body(file, placeholders string) []byte {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file+".json"))
	must(l.t, err)
	if placeholders == "" {
		return text
	}
	given, err := vnflcm.ParseParams(text)
	must(l.t, err)
	patch, err := vnflcm.ParseParams([]byte(placeholders))
	must(l.t, err)
	given, err = given.Merge(patch)
	must(l.t, err)
	text, err = vnflcm.RevealJSON(given)
	must(l.t, err)
	return text
}

// post sends a body. It returns the Location and the document of the answer.
func (l *lab) post(uri string, body []byte, want int) (location string, document map[string]any) {
	l.t.Helper()
	return l.exchange(http.MethodPost, uri, body, want)
}

func (l *lab) get(uri string) (location string, document map[string]any) {
	l.t.Helper()
	return l.exchange(http.MethodGet, uri, nil, http.StatusOK)
}

func (l *lab) exchange(method, uri string, body []byte, want int) (location string, document map[string]any) {
	l.t.Helper()
	request, err := http.NewRequestWithContext(l.t.Context(), method, uri, bytes.NewReader(body))
	must(l.t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(request)
	must(l.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(l.t, err)
	if response.StatusCode != want {
		l.t.Fatalf("%s: %s\n%s", uri, response.Status, answer)
	}
	if len(answer) > 0 {
		must(l.t, json.Unmarshal(answer, &document))
	}
	return response.Header.Get("Location"), document
}

// run posts a body and waits until the operation is COMPLETED.
func (l *lab) run(uri string, body []byte) {
	l.t.Helper()
	operation, _ := l.post(uri, body, http.StatusAccepted)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, document := l.get(operation)
		switch state := document["operationState"]; {
		case state == "COMPLETED":
			return
		case state == "FAILED_TEMP" || time.Now().After(deadline):
			log := l.said()
			l.t.Fatalf("%s: %v %v\nThe log ends with %s", uri, state, document["error"], log[max(0, len(log)-4096):])
		}
	}
}

// instantiated makes an instance with a request of a guide. It returns the URI and the id of the instance.
func (l *lab) instantiated(version, vnfdID, file, placeholders string) (uri, id string) {
	l.t.Helper()
	uri, document := l.post(l.api+"/"+version+"/vnf_instances", fmt.Appendf(nil, `{"vnfdId":%q}`, vnfdID), http.StatusCreated)
	l.run(uri+"/instantiate", l.body(file, placeholders))
	return uri, document["id"].(string)
}

// vnfcs are the ids of the VNFCs of a VDU.
func (l *lab) vnfcs(uri, vdu string) (ids []string) {
	l.t.Helper()
	_, document := l.get(uri)
	for _, v := range document["instantiatedVnfInfo"].(map[string]any)["vnfcResourceInfo"].([]any) {
		if v := v.(map[string]any); v["vduId"] == vdu {
			ids = append(ids, v["id"].(string))
		}
	}
	if len(ids) == 0 {
		l.t.Fatalf("no VNFC of VDU %s", vdu)
	}
	return ids
}

// wantNodes makes sure that the clusters have these numbers of nodes, all of them Ready.
func (l *lab) wantNodes(masters, workers int) {
	l.t.Helper()
	var m, w int
	for _, n := range l.world.Nodes() {
		if !n.Ready {
			l.t.Errorf("node %s is not Ready", n.Name)
		}
		if n.ControlPlane {
			m++
		} else {
			w++
		}
	}
	if m != masters || w != workers {
		l.t.Errorf("%d control-plane nodes and %d workers, want %d and %d", m, w, masters, workers)
	}
}

// stop makes the machines of a VDU dead. The heal of a whole cluster of which a machine has the data is refused: the guides' requests do not say that
// the data are given up.
func (l *lab) stop(vdu string) {
	l.t.Helper()
	for _, h := range l.world.Hosts() {
		if strings.HasPrefix(h.Name(), vdu+"-") {
			must(l.t, l.world.Stop(h.Name()))
		}
	}
}

// addVIM registers a VIM under the id in a request of a guide.
func (l *lab) addVIM(id, kind string) {
	l.t.Helper()
	must(l.t, l.manager.VIMs().Put(l.t.Context(), vnflcm.VimConnectionInfo{VimID: id, VimType: kind}))
}
