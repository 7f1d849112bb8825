package kubeapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
)

// server is a cluster with a node, and its API without TLS.
type server struct {
	t     *testing.T
	api   http.Handler
	token string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s, err := kubeapi.NewStandalone(kubeapi.StandaloneOptions{Nodes: []string{"node"}})
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Token("admin", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return &server{t, s, token}
}

// do sends an object (YAML) and returns the answer, which must be a success.
func (s *server) do(method, path, body string) (answer map[string]any) {
	s.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(s.t.Context(), method, path, bytes.NewReader(raw))
	request.Header.Set("Authorization", "Bearer "+s.token)
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	recorder := httptest.NewRecorder()
	s.api.ServeHTTP(recorder, request)
	if recorder.Code >= http.StatusBadRequest {
		s.t.Fatalf("%s %s: %s", method, path, recorder.Body)
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// mapper finds resources as clients do.
func (s *server) mapper() meta.RESTMapper {
	s.t.Helper()
	listening := httptest.NewServer(s.api)
	s.t.Cleanup(listening.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: listening.URL, BearerToken: s.token, QPS: -1})
	if err != nil {
		s.t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		s.t.Fatal(err)
	}
	return restmapper.NewDiscoveryRESTMapper(groups)
}

// notServed are kinds that are no resources, or that a later version of Kubernetes has.
var notServed = []string{"APIGroup", "ComponentStatus", "ClusterTrustBundle", "DeviceTaintRule", "MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding", "PodCertificateRequest", "StorageVersionMigration"}

// TestKinds looks for all stable kinds of client-go, except for the second version of Event.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	mapper := s.mapper()
	stable := regexp.MustCompile(`^v\d+$`)
	for kind := range scheme.Scheme.AllKnownTypes() {
		list := kind
		list.Kind += "List"
		if !stable.MatchString(kind.Version) || !scheme.Scheme.Recognizes(list) || slices.Contains(notServed, kind.Kind) || kind.Group == "events.k8s.io" {
			continue
		}
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Error(err)
			continue
		}
		s.do(http.MethodGet, "/"+map[bool]string{true: "api/", false: "apis/"}[kind.Group == ""]+kind.GroupVersion().String()+"/"+mapping.Resource.Resource, "")
	}
}

// metricsAPI registers an aggregated API.
const metricsAPI = `{metadata: {name: v1.metrics.example.com},
	spec: {group: metrics.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {name: metrics, namespace: default}}}`

// TestUnknownKind asks for kinds that no CustomResourceDefinition defines, beside an aggregated API that does not answer.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.do(http.MethodPost, "/apis/apiregistration.k8s.io/v1/apiservices", metricsAPI)
	mapper := s.mapper()
	for _, kind := range []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Thing"}, {Group: "apps", Version: "v1", Kind: "Thing"}, {Group: "apps", Version: "v2", Kind: "Deployment"},
		{Version: "v1", Kind: "Thing"}, {Group: "metrics.example.com", Version: "v1", Kind: "Thing"},
	} {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if !meta.IsNoMatchError(err) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestAggregatedAPI registers an API whose Service has an endpoint: it is available, so that namespaces can be deleted.
func TestAggregatedAPI(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.do(http.MethodPost, "/api/v1/namespaces/default/services", "{metadata: {name: metrics}, spec: {ports: [{port: 443}]}}")
	s.do(http.MethodPost, "/api/v1/namespaces/default/endpoints", "{metadata: {name: metrics}, subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 443}]}]}")
	s.do(http.MethodPost, "/apis/apiregistration.k8s.io/v1/apiservices", metricsAPI)
	s.mapper()
	s.do(http.MethodPost, "/api/v1/namespaces", "{metadata: {name: other}}")
	s.do(http.MethodDelete, "/api/v1/namespaces/other", "")
	names := map[string]bool{}
	items, _ := s.do(http.MethodGet, "/api/v1/namespaces", "")["items"].([]any)
	for _, item := range items {
		names[kubeapi.Text(item, "metadata", "name")] = true
	}
	if names["other"] || !names["default"] {
		t.Error(names)
	}
}

// TestRest rolls out Deployments with so many pods that the controllers have much to do, and to say.
func TestRest(t *testing.T) {
	t.Parallel()
	const deployment = `{metadata: {name: web}, spec: {replicas: 90, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}}`
	for image, done := range map[string]string{"web:2": "availableReplicas", "missing.example.net/web:2": "unavailableReplicas"} {
		t.Run(done, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			const all = "/apis/apps/v1/namespaces/default/deployments"
			s.do(http.MethodPost, all, deployment)
			changed := strings.ReplaceAll(deployment, "web:1", image)
			if done == "unavailableReplicas" {
				changed = strings.Replace(changed, "maxUnavailable: 0", "maxUnavailable: 90", 1)
			}
			s.do(http.MethodPut, all+"/web", changed)
			for until := time.Now().Add(time.Minute); ; {
				status, _ := s.do(http.MethodGet, all+"/web", "")["status"].(map[string]any)
				if status["updatedReplicas"] == 90.0 && status[done] == 90.0 {
					break
				}
				if time.Now().After(until) {
					t.Fatal(status)
				}
			}
			revision := func() any { return s.do(http.MethodGet, "/api/v1/events", "")["metadata"] }
			if diff := cmp.Diff(revision(), revision()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
