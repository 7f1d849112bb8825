package helmtest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/helmclient"
)

var (
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	claims          = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs            = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	definitions     = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// get reads an object of the namespace of the test, nil if it does not exist.
func (s *suite) get(t *testing.T, kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := s.dynamic.Resource(kind).Namespace(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// data reads an entry of a ConfigMap.
func (s *suite) data(t *testing.T, name, key string) string {
	t.Helper()
	o := s.get(t, configMaps, name)
	if o == nil {
		t.Fatalf("there is no ConfigMap %s", name)
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", key)
	return text
}

// nested reads a number of an object.
func nested(o *unstructured.Unstructured, path ...string) (int64, bool, error) {
	if o == nil {
		return 0, false, nil
	}
	return unstructured.NestedInt64(o.Object, path...)
}

// record is the name of the Secret in which Helm keeps a revision (helm.sh/helm, pkg/storage).
func record(release string, revision int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision)
}

// stick leaves a release as a client does that is killed during an operation: a copy of its newest revision, or the
// only revision itself, is pending since a time in the past.
func (s *suite) stick(t *testing.T, n helmclient.Name, from, to int, state helmclient.State, ago time.Duration) {
	t.Helper()
	o := s.get(t, secrets, record(n.Release, from))
	if o == nil {
		t.Fatalf("there is no record of %s, revision %d", n, from)
	}
	release := decode(t, o)
	release["version"] = to
	info := release["info"].(map[string]any) //nolint:forcetypeassert // Helm's form
	info["status"] = string(state)
	info["description"] = "begun by another client"
	info["last_deployed"] = time.Now().Add(-ago).Format(time.RFC3339Nano)
	encode(t, o, release)
	labels := o.GetLabels()
	labels["status"], labels["version"] = string(state), strconv.Itoa(to)
	o.SetLabels(labels)
	o.SetName(record(n.Release, to))
	var err error
	if from == to {
		_, err = s.dynamic.Resource(secrets).Namespace(n.Namespace).Update(s.ctx, o, metav1.UpdateOptions{})
	} else {
		o.SetResourceVersion("")
		o.SetUID("")
		_, err = s.dynamic.Resource(secrets).Namespace(n.Namespace).Create(s.ctx, o, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// decode reads the data that Helm stores: compressed JSON in base64, which a Secret encodes in base64 again.
func decode(t *testing.T, secret *unstructured.Unstructured) map[string]any {
	t.Helper()
	text, _, _ := unstructured.NestedString(secret.Object, "data", "release")
	once, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := base64.StdEncoding.DecodeString(string(once))
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(plain, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func encode(t *testing.T, secret *unstructured.Unstructured, release map[string]any) {
	t.Helper()
	plain, err := json.Marshal(release)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	once := base64.StdEncoding.EncodeToString(zipped.Bytes())
	if err := unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString([]byte(once)), "data", "release"); err != nil {
		t.Fatal(err)
	}
}
