package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/e2e/controlplane"
)

// web is a chart of a Deployment that may be told never to become ready, and of a text.
var web = map[string]string{
	"values.yaml": "replicas: 1\nnever: false\ntext: none\nimage: registry.example/web:1\n",
	"templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      {{- if .Values.never }}
      nodeSelector: {never: ready}
      {{- end }}
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: "{{ .Values.image }}", imagePullPolicy: Always}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {text: {{ .Values.text | toJson }}}
`,
}

// chartOf is a chart as an archive.
func chartOf(t testing.TB, name, version string, files map[string]string) []byte {
	t.Helper()
	files = maps.Clone(files)
	files["Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n"
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, member := range slices.Sorted(maps.Keys(files)) {
		must(t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name + "/" + member, Mode: 0o644, Size: int64(len(files[member]))}))
		_, err := archive.Write([]byte(files[member]))
		must(t, err)
	}
	must(t, errors.Join(archive.Close(), compressed.Close()))
	return out.Bytes()
}

// streamed gives the archive of a chart to a client.
func streamed(archive []byte) helmclient.Chart {
	return helmclient.Chart{Archive: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }}
}

// helmProgram is the real helm program on this machine, with separate configuration and cache folders.
type helmProgram struct {
	t       testing.TB
	program string
	dir     string
}

func newHelm(t testing.TB, cluster *controlplane.Cluster) *helmProgram {
	t.Helper()
	h := &helmProgram{t: t, program: helm3Program(t), dir: t.TempDir()}
	must(t, os.WriteFile(filepath.Join(h.dir, "kubeconfig"), controlplane.Kubeconfig(cluster.Client()), 0o600))
	return h
}

// file writes a file for helm and returns its path.
func (h *helmProgram) file(name string, content []byte) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	must(h.t, os.WriteFile(path, content, 0o600))
	return path
}

func (h *helmProgram) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, h.program, args...)
	c.Env = []string{"HOME=" + h.dir, "KUBECONFIG=" + filepath.Join(h.dir, "kubeconfig"), "PATH=" + os.Getenv("PATH")}
	return c
}

// run runs helm to its end, which must be good, and returns what it printed.
func (h *helmProgram) run(args ...string) string {
	h.t.Helper()
	out, err := h.command(within(h.t, time.Minute), args...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("helm %q: %v: %s", args, err, out)
	}
	return string(out)
}

// killed starts helm and kills it with SIGKILL when it is time to.
func (h *helmProgram) killed(when func() bool, args ...string) {
	h.t.Helper()
	c := h.command(within(h.t, time.Minute), args...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	must(h.t, c.Start())
	await(h.t, "helm to begin", when)
	must(h.t, c.Process.Kill())
	if err := c.Wait(); err == nil {
		h.t.Fatalf("helm ended by itself: %s", said.String())
	}
}
