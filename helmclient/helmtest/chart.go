package helmtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/vnfkit/vnfkit/helmclient"
)

// files are the members of a chart, by their names below its directory.
type files map[string]string

// pack makes the archive of a chart.
func pack(t *testing.T, name, version string, members files) []byte {
	t.Helper()
	all := files{"Chart.yaml": fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\nappVersion: \"1.0\"\ndescription: made by a test\n", name, version)}
	maps.Copy(all, members)
	named := files{}
	for member, text := range all {
		named[name+"/"+member] = text
	}
	return archive(t, named)
}

// archive makes a .tgz of any members.
func archive(t *testing.T, members files) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(members[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, members[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// given is an archive as a chart of a request.
func given(text []byte) helmclient.Chart {
	return helmclient.Chart{Archive: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }}
}

// web is a chart with a Deployment, a Service and a ConfigMap, which shows all values that were given.
func web() files {
	return files{
		"values.yaml": "replicas: 1\nport: 80\nselector: {}\nconfig: {}\n",
		"templates/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
spec:
  replicas: {{ .Values.replicas }}
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      nodeSelector: {{ toJson .Values.selector }}
      terminationGracePeriodSeconds: 0
      containers: [{name: web, image: "example.com/web:1"}]
`,
		"templates/service.yaml": `apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-web
spec:
  selector: {app: "{{ .Release.Name }}"}
  ports: [{port: {{ .Values.port }}}]
`,
		"templates/config.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-config
data:
  values: {{ toJson .Values.config | quote }}
  upgrade: "{{ .Release.IsUpgrade }}"
`,
		"templates/NOTES.txt": "{{ .Release.Name }} is there.",
	}
}

// small is a chart with only a ConfigMap.
func small() files {
	return files{
		"values.yaml":           "text: none\n",
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-config\ndata:\n  text: {{ .Values.text | quote }}\n",
	}
}

// never are values with which the Deployment of web never becomes ready.
func (s *suite) never() map[string]any {
	selector := map[string]any{}
	for key, value := range s.NeverReady {
		selector[key] = value
	}
	return map[string]any{"selector": selector}
}
