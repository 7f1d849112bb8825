package cnftest_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// The beginnings of messages: a real API server has further media types, and JSON patches.
const (
	notAcceptable    = "406 NotAcceptable only the following media types are accepted: application/json"
	unsupportedMedia = "415 UnsupportedMediaType the body of the request was in an unknown format - accepted media types include: application/"
)

// TestMediaTypeContract sends media types that the server lacks, and lists with one media type that it has.
func TestMediaTypeContract(t *testing.T) {
	t.Parallel()
	s := newServer(t, "contract-media-types")
	all := "/api/v1/namespaces/" + s.namespace + "/configmaps"
	const one = `{"metadata":{"name":"a"}}`
	for _, c := range []struct {
		request, accept, contentType, body string
		want                               string // the beginning of: code, and the Content-Type of the answer or reason and message
	}{
		{"POST " + all, "application/json", "application/xml", one, unsupportedMedia},
		{"POST " + all, "application/json", "text/plain; charset=utf-8", one, unsupportedMedia},
		{"POST " + all, "application/json", "json", one, unsupportedMedia},
		{"POST " + all, "text/html", "application/json", one, notAcceptable},
		{"POST " + all, "text/html", "application/xml", one, notAcceptable},
		{"POST " + all, "", "application/json; charset=utf-8", one, "201 application/json"},
		{"PUT " + all + "/a", "application/yaml", "application/yaml", "metadata: {name: a}\ndata: {k: v}\n", "200 application/yaml"},
		{"PUT " + all + "/a", "", "application/xml", one, unsupportedMedia},
		{"PUT " + all + "/none", "", "application/xml", one, unsupportedMedia},
		{"PATCH " + all + "/a", "", "application/json", `{"data":{"k":"w"}}`, unsupportedMedia},
		{"PATCH " + all + "/a", "", "application/xml", `{}`, unsupportedMedia},
		{"PATCH " + all + "/none", "", "", `{}`, unsupportedMedia},
		{"PATCH " + all + "/a", "", "application/merge-patch+json; charset=utf-8", `{"data":{"k":"w"}}`, "200 application/json"},
		{"GET " + all + "/a", "application/vnd.example", "", "", notAcceptable},
		{"GET " + all + "/a", "application/vnd.example, application/json", "", "", "200 application/json"},
		{"GET " + all + "/a", "text/html, application/yaml;q=0.3, application/json;q=0.5", "", "", "200 application/json"},
		{"GET " + all + "/a", "application/yaml", "", "", "200 application/yaml"},
		{"GET " + all + "/a", "application/*", "", "", "200 application/json"},
		{"GET " + all + "/a", "*/*", "", "", "200 application/json"},
		{"GET " + all + "/a", "application/json;as=Unknown;g=meta.k8s.io;v=v1", "", "", notAcceptable},
		{"GET " + all + "/a", "application/json;as=Unknown;g=meta.k8s.io;v=v1,application/json", "", "", "200 application/json"},
		{"GET " + all, "text/html", "", "", notAcceptable},
		{"GET " + all + "?watch=true&timeoutSeconds=1", "application/yaml", "", "", notAcceptable + ";stream=watch"},
		{"GET /api/v1", "text/html", "", "", notAcceptable},
		{"GET /apis", "application/vnd.example, application/json", "", "", "200 application/json"},
		{"DELETE " + all + "/a", "", "application/xml", `<options/>`, unsupportedMedia},
		{"DELETE " + all + "/a", "", "application/xml", "", "200 application/json"},
	} {
		got := s.media(c.request, c.accept, c.contentType, c.body)
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, Accept %q, Content-Type %q:\n%s", c.request, c.accept, c.contentType, cmp.Diff(c.want, got))
		}
	}
}

// media returns the code of the answer with its Content-Type or, of a failure, with the reason and the message.
func (s *server) media(request, accept, contentType, body string) string {
	s.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{"Accept": accept, "Content-Type": contentType} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	answer, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	code, _, _ := strings.Cut(answer.Status, " ")
	if answer.StatusCode < 300 {
		return code + " " + answer.Header.Get("Content-Type")
	}
	var status metav1.Status
	if err := yaml.Unmarshal(text, &status); err != nil {
		return code + " " + string(text)
	}
	return code + " " + string(status.Reason) + " " + status.Message
}
