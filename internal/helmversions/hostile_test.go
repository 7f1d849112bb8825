package helmversions_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helm4sdk"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/internal/chartcases"
	"github.com/vnfkit/vnfkit/internal/cnftest"
)

// answering replaces answers of an API server to requests for single objects.
type answering struct {
	http.RoundTripper
	answers map[string]string // by the end of the path
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(r)
	if err != nil || r.Method != http.MethodGet {
		return response, err
	}
	for end, text := range a.answers {
		if strings.HasSuffix(r.URL.Path, end) && response.StatusCode == http.StatusOK {
			_ = response.Body.Close()
			response.Header = http.Header{"Content-Type": {"application/json"}}
			response.Body, response.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		}
	}
	return response, nil
}

const pod = `template: {metadata: {labels: {a: a}}, spec: {restartPolicy: %, containers: [{name: a, image: a}]}}}` + "\n"

// TestHostile installs charts on a simulated cluster whose API leaves out fields that Kubernetes always sets. Helm must not end the
// process, however it judges such an object.
func TestHostile(t *testing.T) {
	t.Parallel()
	opens := map[string]func(cluster *rest.Config) (helmclient.Client, error){
		"Helm 3": func(cluster *rest.Config) (helmclient.Client, error) {
			return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: t.TempDir()})
		},
		"Helm 4": func(cluster *rest.Config) (helmclient.Client, error) {
			return helm4sdk.New(helm4sdk.Config{Cluster: cluster, Dir: t.TempDir()})
		},
	}
	const head = `{"kind":"%","metadata":{"name":"a","namespace":"default","uid":"1","generation":1,"labels":{}},"apiVersion":`
	for name, c := range map[string]struct{ object, path, answer string }{
		"DaemonSet without rollingUpdate": {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: a}}, " + strings.ReplaceAll(pod, "%", "Always"),
			"/daemonsets/a", strings.ReplaceAll(head, "%", "DaemonSet") + `"apps/v1","spec":{"updateStrategy":{"type":"RollingUpdate"}},"status":{"observedGeneration":1}}`},
		"Job without backoffLimit": {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {" + strings.ReplaceAll(pod, "%", "Never"),
			"/jobs/a", strings.ReplaceAll(head, "%", "Job") + `"batch/v1","spec":{},"status":{}}`},
		"Deployment without a spec": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: a}}, " + strings.ReplaceAll(pod, "%", "Always"),
			"/deployments/a", strings.ReplaceAll(head, "%", "Deployment") + `"apps/v1","status":{"observedGeneration":1,"conditions":[null,{}]}}`},
		"objects that are no objects": {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n",
			"/pods/a", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"containers":[null]},"status":{"conditions":[null]}}`},
	} {
		for version, open := range opens {
			t.Run(name+", "+version, func(t *testing.T) {
				t.Parallel()
				config := rest.CopyConfig(cnftest.Start(t).Config())
				config.Wrap(func(base http.RoundTripper) http.RoundTripper {
					return answering{base, map[string]string{c.path: c.answer}}
				})
				client, err := open(config)
				if err != nil {
					t.Fatal(err)
				}
				installHostile(t, client, c.object)
			})
		}
	}
}

func installHostile(t *testing.T, client helmclient.Client, object string) {
	t.Helper()
	archive := chartcases.Archive("small", map[string][]byte{
		"Chart.yaml": []byte("apiVersion: v2\nname: small\nversion: 1.0.0\n"), "templates/a.yaml": []byte(object),
	})
	n := helmclient.Name{Namespace: "default", Release: "a"}
	_, err := client.Install(t.Context(), helmclient.Install{
		Name: n, Wait: helmclient.Wait{Ready: true, Jobs: true, Timeout: 3 * time.Second},
		Chart: helmclient.Chart{Archive: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }},
	})
	if err == nil {
		t.Error("the object counts as ready")
	}
	if got, err := client.Status(t.Context(), n); err != nil || got.State.Pending() {
		t.Errorf("status: %v, %v", got, err)
	}
	if err := client.Uninstall(t.Context(), helmclient.Uninstall{Name: n}); err != nil {
		t.Error(err)
	}
}
