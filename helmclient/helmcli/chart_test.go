package helmcli_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"slices"
	"testing"
)

// packed is a chart's archive.
func packed(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// web is a chart that prints its values, with a Deployment of one replica unless replicas says otherwise.
func web(t testing.TB, more map[string]string) func() (io.ReadCloser, error) {
	files := map[string]string{
		"web/Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: \"4\"\ndescription: A web server.\n",
		"web/values.yaml":           "replicas: 1\nimage: pause\nkept: {a: 1, b: x}\n",
		"web/templates/values.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{.Release.Name}}'}\ndata:\n  values: {{ toJson .Values | quote }}\n  ns: {{ .Release.Namespace }}\n",
		"web/templates/deploy.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '{{.Release.Name}}'}\nspec:\n  replicas: {{.Values.replicas}}\n  selector: {matchLabels: {app: '{{.Release.Name}}'}}\n  template:\n    metadata: {labels: {app: '{{.Release.Name}}'}}\n    spec:\n      nodeSelector: {{ toJson (.Values.node | default dict) }}\n      containers: [{name: c, image: '{{.Values.image}}'}]\n",
		"web/templates/NOTES.txt":   "Thank you for {{.Release.Name}}.\n",
	}
	maps.Copy(files, more)
	data := packed(t, files)
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}
