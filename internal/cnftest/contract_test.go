package cnftest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/internal/cnftest"
)

// TestContract holds the simulated API server and a real one, which VNFKIT_KUBECONFIG names, to the same answers.
func TestContract(t *testing.T) {
	for name, calls := range contract {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "contract-"+strings.ReplaceAll(name, " ", "-"))
			for _, c := range calls {
				if got, answer := s.do(c); got != c.want {
					t.Errorf("%s\ngot  %s\nwant %s\n%s", c.request, got, c.want, answer)
				}
			}
		})
	}
}

// TestWebhookContract asks for objects that a webhook without a Service has to allow. An API server takes a moment until it
// calls a new webhook, so the first request is repeated.
func TestWebhookContract(t *testing.T) {
	t.Parallel()
	s := newServer(t, "contract-webhooks")
	configuration := "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	remove := call{"DELETE " + configuration + "/contract-webhooks", "", "200"}
	t.Cleanup(func() { s.do(remove) })
	create := call{"POST " + configuration, `{metadata: {name: contract-webhooks}, webhooks: [{name: hook.contract.example.com, sideEffects: Some, admissionReviewVersions: [v1], timeoutSeconds: 1,
		namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}, clientConfig: {service: {name: none, namespace: NAMESPACE}},
		rules: [{operations: [CREATE, DELETE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]}]}`,
		"201"}
	if got, answer := s.do(create); got != create.want {
		t.Fatal(got, answer)
	}
	for i, until := 0, time.Now().Add(time.Minute); ; i++ {
		got, _ := s.do(call{"POST configmaps", fmt.Sprintf("{metadata: {name: early-%d}}", i), ""})
		if got == "500 InternalError" {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the webhook is not called: ", got)
		}
	}
	for _, c := range []call{
		{"POST secrets", "{metadata: {name: a}}", "201"},
		{"APPLY configmaps/a?fieldManager=a", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "500 InternalError"},
		{"POST configmaps", "{metadata: {name: A}}", "422 Invalid metadata.name"},
		{"DELETE configmaps/kube-root-ca.crt", "", "500 InternalError"},
	} {
		got, answer := s.do(c)
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s\n%s", c.request, got, c.want, answer)
		}
		if want := `failed calling webhook \"hook.contract.example.com\": failed to call webhook: Post \"https://none.` + s.namespace + `.svc:443/?timeout=1s\": service \"none\" not found`; strings.HasPrefix(got, "500") && !strings.Contains(answer, want) {
			t.Errorf("%s: %s", c.request, answer)
		}
	}
}

// call is a request and its answer.
type call struct {
	// A method, or the kind of a PATCH, and a path. A path that does not begin with "/" is in the namespace of the test.
	request string
	body    string // YAML
	// The code; of a failure the reason and the fields that are wrong; of an object some fields of it.
	want string
}

// server is an API server and a namespace for a test.
type server struct {
	t         *testing.T
	client    *http.Client
	url       string
	namespace string
}

func newServer(t *testing.T, namespace string) *server {
	t.Helper()
	var config *rest.Config
	if name := os.Getenv("VNFKIT_KUBECONFIG"); name == "" {
		config = cnftest.Start(t, cnftest.Nodes(2)).Config()
	} else {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", name); err != nil {
			t.Fatal(err)
		}
	}
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, client: client, url: config.Host, namespace: namespace}
	if !strings.HasPrefix(s.url, "https://") {
		s.url = "https://" + s.url
	}
	if got, answer := s.do(call{request: "POST /api/v1/namespaces", body: "{metadata: {name: " + namespace + "}}"}); !strings.HasPrefix(got, "201") {
		t.Fatalf("%s %s", got, answer)
	}
	s.do(call{request: "GET serviceaccounts/default", want: "200"}) // pods are refused until there is one
	t.Cleanup(func() {
		s.do(call{request: "DELETE /api/v1/namespaces/" + namespace})
		utilnet.CloseIdleConnectionsFor(client.Transport)
	})
	return s
}

// patches are the content types of the kinds of PATCH.
var patches = map[string]string{"MERGE": "application/merge-patch+json", "STRATEGIC": "application/strategic-merge-patch+json",
	"APPLY": "application/apply-patch+yaml"}

// groups are the paths of the resources that the calls name without a path.
var groups = map[string]string{"deployments": "/apis/apps/v1", "statefulsets": "/apis/apps/v1", "daemonsets": "/apis/apps/v1", "replicasets": "/apis/apps/v1",
	"jobs": "/apis/batch/v1", "poddisruptionbudgets": "/apis/policy/v1", "rolebindings": "/apis/rbac.authorization.k8s.io/v1"}

// do returns the answer in the form of call.want, and whole. What it reads it awaits, as controllers take their time.
func (s *server) do(c call) (summary, answer string) {
	s.t.Helper()
	method, path, _ := strings.Cut(c.request, " ")
	if !strings.HasPrefix(path, "/") {
		resource, _, _ := strings.Cut(path, "/")
		resource, _, _ = strings.Cut(resource, "?")
		group := groups[resource]
		if group == "" {
			group = "/api/v1"
		}
		path = group + "/namespaces/" + s.namespace + "/" + path
	}
	contentType := "application/json"
	if kind := patches[method]; kind != "" {
		method, contentType = http.MethodPatch, kind
	}
	body, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(c.body, "NAMESPACE", s.namespace)))
	if err != nil {
		s.t.Fatal(err)
	}
	if c.body == "" {
		body = nil
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		request, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), method, s.url+path, bytes.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		request.Header.Set("Content-Type", contentType)
		response, err := s.client.Do(request)
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		summary, answer = s.summary(response.StatusCode, text, c.want), string(text)
		if summary == c.want || method != http.MethodGet || time.Now().After(until) {
			return summary, answer
		}
	}
}

// summary brings an answer into the form of call.want.
func (s *server) summary(code int, text []byte, want string) string {
	var object map[string]any
	_ = json.Unmarshal(text, &object)
	out := []string{fmt.Sprint(code)}
	if code >= 300 {
		reason, _, _ := unstructured.NestedString(object, "reason")
		out = append(out, reason)
		causes, _, _ := unstructured.NestedSlice(object, "details", "causes")
		for _, cause := range causes {
			if field, _ := cause.(map[string]any)["field"].(string); field != "" && !slices.Contains(out, field) {
				out = append(out, field)
			}
		}
		return strings.Join(out, " ")
	}
	for _, field := range strings.Fields(want)[min(1, len(strings.Fields(want))):] {
		path, _, _ := strings.Cut(field, "=")
		value, err := json.Marshal(valueAt(object, path))
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, path+"="+strings.ReplaceAll(strings.ReplaceAll(string(value), `"`, ""), s.namespace, "NAMESPACE"))
	}
	return strings.Join(out, " ")
}

// valueAt finds a value by names, in which "~1" stands for "/", and indexes.
func valueAt(object any, path string) any {
	for name := range strings.SplitSeq(path, "/") {
		name = strings.ReplaceAll(name, "~1", "/")
		switch v := object.(type) {
		case map[string]any:
			object = v[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(v) {
				return nil
			}
			object = v[i]
		default:
			return nil
		}
	}
	return object
}
