package helmtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Subject is an implementation with a cluster for a test to use. It stores releases as Secrets. On the cluster pods
// become ready and Jobs complete, independent of their images, unless no node is suitable for them.
type Subject struct {
	// Client is the implementation under test. Each call of open may return the same one.
	Client helmclient.Client
	// Cluster is the cluster that Client works on.
	Cluster *rest.Config
	// Namespace creates a namespace that only this test uses; default: one with a random name, deleted after the test.
	Namespace func(t *testing.T) string
	// NeverReady is a node selector with which pods are never scheduled; default {"never": "ready"}.
	NeverReady map[string]string
	// Listen opens a port that Client can reach at the address of the listener; default: on 127.0.0.1.
	Listen func(t *testing.T) net.Listener
	// Place puts a packaged chart where Client has its files, and returns its path there; default: a temporary file.
	Place func(t *testing.T, archive []byte) string
}

// patience bounds each test: far longer than what any of them takes.
const patience = 2 * time.Minute

// suite is a Subject with what all tests need.
type suite struct {
	Subject

	ctx       context.Context //nolint:containedctx // of one test
	dynamic   dynamic.Interface
	namespace string
}

func start(t *testing.T, open func(t *testing.T) Subject) *suite {
	t.Helper()
	s := &suite{Subject: open(t)}
	if s.NeverReady == nil {
		s.NeverReady = map[string]string{"never": "ready"}
	}
	if s.Listen == nil {
		s.Listen = loopback
	}
	if s.Place == nil {
		s.Place = temporary
	}
	var err error
	if s.dynamic, err = dynamic.NewForConfig(s.Cluster); err != nil {
		t.Fatal(err)
	}
	if s.Namespace == nil {
		s.Namespace = s.newNamespace
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.namespace = s.Namespace(t)
	return s
}

func (s *suite) name(release string) helmclient.Name {
	return helmclient.Name{Namespace: s.namespace, Release: release}
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

var serial atomic.Int64

// newNamespace creates a namespace whose name is unique in this process and, by its time, in others.
func (s *suite) newNamespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("helmtest-%d-%d", time.Now().UnixNano(), serial.Add(1))
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := s.dynamic.Resource(namespaces).Create(ctx, o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.deleteAfter(t, name)
	return name
}

func (s *suite) deleteAfter(t *testing.T, namespace string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		_ = s.dynamic.Resource(namespaces).Delete(ctx, namespace, metav1.DeleteOptions{})
	})
}

func loopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func temporary(t *testing.T, archive []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chart.tgz")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
