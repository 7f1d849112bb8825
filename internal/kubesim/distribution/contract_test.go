package distribution_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/distribution"
)

// call is a request to a registry and its answer.
type call struct {
	// A method and a path. REPO stands for a repository of the test, LOCATION for the last address that the registry has given.
	request string
	body    string
	// The code, the code of an error, and some headers of the answer; then " | " and the body.
	want string
}

const (
	octets      = "Content-Type=application/octet-stream"
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
)

var (
	layer, config, missing, other = digest("layer"), digest("{}"), digest("missing"), digest("other")

	manifest = manifestOf(layer)
	revision = digest(manifest)
)

func digest(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

func manifestOf(layer string) string {
	return `{"schemaVersion":2,"mediaType":"` + ociManifest + `","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"` + config +
		`","size":2},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"` + layer + `","size":5}]}`
}

// image is how a client pushes one.
var image = []call{
	{"POST /v2/REPO/blobs/uploads/", "", "202 Range=0-0"},
	{"PUT LOCATION&digest=" + layer, "layer", "201 Docker-Content-Digest=" + layer},
	{"POST /v2/REPO/blobs/uploads/", "", "202"},
	{"PUT LOCATION&digest=" + config, "{}", "201"},
	{"PUT /v2/REPO/manifests/1", manifest, "201"},
}

var contract = map[string][]call{
	"base": {
		{"GET /v2/", "", "200 Docker-Distribution-Api-Version=registry/2.0 | {}"},
		{"GET /v2/REPO/manifests/1", "", "404 MANIFEST_UNKNOWN"},
		{"GET /v2/REPO/tags/list", "", "404 NAME_UNKNOWN"},
		{"GET /v2/REPO/blobs/" + layer, "", "404 BLOB_UNKNOWN"},
		{"GET /v2/REPO/blobs/sha256:12", "", "400 DIGEST_INVALID"},
		{"GET /v2/REPO/blobs/1", "", "404"},
		{"GET /v2/Upper/manifests/1", "", "404"},
		{"GET /v2/REPO/other/1", "", "404"},
		{"POST /v2/REPO/manifests/1", "", "405"},
		{"PATCH /v2/REPO/blobs/" + layer, "", "405"},
	},
	"upload whole": {
		{"POST /v2/REPO/blobs/uploads/", "", "202 Range=0-0 Content-Length=0"},
		{"GET LOCATION", "", "204 Range=0-0"},
		{"PUT LOCATION&digest=" + layer, "layer", "201 Docker-Content-Digest=" + layer + " Content-Length=0"},
		{"HEAD /v2/REPO/blobs/" + layer, "", "200 Content-Length=5 " + octets},
		{"GET /v2/REPO/blobs/" + layer, "", "200 Docker-Content-Digest=" + layer + " " + octets + " | layer"},
		{"GET /v2/REPO/tags/list", "", "404 NAME_UNKNOWN"},
	},
	"upload in parts": {
		{"POST /v2/REPO/blobs/uploads/", "", "202"},
		{"PATCH LOCATION", "lay", "202 Range=0-2"},
		{"PATCH LOCATION", "er", "202 Range=0-4"},
		{"PUT LOCATION&digest=" + layer, "", "201"},
		{"GET /v2/REPO/blobs/" + layer, "", "200 | layer"},
		{"GET LOCATION", "", "200"},
	},
	"upload that fails": {
		{"POST /v2/REPO/blobs/uploads/", "", "202"},
		{"PUT LOCATION&digest=" + other, "layer", "400 DIGEST_INVALID"},
		{"POST /v2/REPO/blobs/uploads/", "", "202"},
		{"PUT LOCATION&digest=none", "layer", "400 DIGEST_INVALID"},
		{"POST /v2/REPO/blobs/uploads/", "", "202"},
		{"PUT LOCATION", "layer", "400 DIGEST_INVALID"},
		{"POST /v2/REPO/blobs/uploads/", "", "202"},
		{"DELETE LOCATION", "", "204"},
		{"PATCH LOCATION", "lay", "404 BLOB_UPLOAD_UNKNOWN"},
		{"PATCH /v2/REPO/blobs/uploads/5d1b3a3e-0000-4000-8000-000000000000", "lay", "404 BLOB_UPLOAD_INVALID"},
	},
	"mount": append(image[:len(image):len(image)],
		call{"POST /v2/REPO/other/blobs/uploads/?mount=" + layer + "&from=REPO", "", "201 Docker-Content-Digest=" + layer},
		call{"GET /v2/REPO/other/blobs/" + layer, "", "200 | layer"},
		call{"POST /v2/REPO/other/blobs/uploads/?mount=" + missing + "&from=REPO", "", "202"},
	),
	"manifests": append(image[:len(image):len(image)],
		call{"GET /v2/REPO/manifests/1", "", "200 Content-Type=" + ociManifest + " Docker-Content-Digest=" + revision + " | " + manifest},
		call{"HEAD /v2/REPO/manifests/1", "", "200 Docker-Content-Digest=" + revision},
		call{"GET /v2/REPO/manifests/" + revision, "", "200 | " + manifest},
		call{"GET /v2/REPO/tags/list", "", `200 | {"name":"REPO","tags":["1"]}`},
		call{"PUT /v2/REPO/manifests/2", manifest, "201 Docker-Content-Digest=" + revision},
		call{"PUT /v2/REPO/manifests/" + revision, manifest, "201"},
		call{"PUT /v2/REPO/manifests/" + other, manifest, "400 DIGEST_INVALID"},
		call{"PUT /v2/REPO/manifests/3", manifestOf(missing), "400 MANIFEST_BLOB_UNKNOWN"},
		call{"PUT /v2/REPO/manifests/3", "{}", "500 UNKNOWN"},
		call{"PUT /v2/REPO/manifests/4", "no JSON", "400 MANIFEST_INVALID"},
		call{"GET /v2/REPO/manifests/3", "", "404 MANIFEST_UNKNOWN"},
		call{"GET /v2/REPO/blobs/" + revision, "", "404 BLOB_UNKNOWN"},
	),
	"deletions": append(image[:len(image):len(image)],
		call{"DELETE /v2/REPO/manifests/1", "", "400 DIGEST_INVALID"},
		call{"DELETE /v2/REPO/manifests/" + other, "", "404 MANIFEST_UNKNOWN"},
		call{"DELETE /v2/REPO/manifests/" + revision, "", "202"},
		call{"GET /v2/REPO/manifests/1", "", "404 MANIFEST_UNKNOWN"},
		call{"GET /v2/REPO/manifests/" + revision, "", "404 MANIFEST_UNKNOWN"},
		call{"GET /v2/REPO/tags/list", "", `200 | {"name":"REPO","tags":null}`},
		call{"DELETE /v2/REPO/manifests/" + revision, "", "404 MANIFEST_UNKNOWN"},
		call{"DELETE /v2/REPO/blobs/" + layer, "", "202"},
		call{"DELETE /v2/REPO/blobs/" + layer, "", "404 BLOB_UNKNOWN"},
		call{"HEAD /v2/REPO/blobs/" + layer, "", "404"},
	),
}

// TestContract holds this registry and a real one, which VNFKIT_REGISTRY names by its URL and which allows deletions, to the same
// answers.
func TestContract(t *testing.T) {
	url := os.Getenv("VNFKIT_REGISTRY")
	if url == "" {
		server := httptest.NewServer(distribution.Store{Files: afero.NewMemMapFs(), Making: new(sync.Mutex), Root: "/var/lib/registry", Deletes: true})
		t.Cleanup(server.Close)
		url = server.URL
	}
	for name, calls := range contract {
		t.Run(name, func(t *testing.T) {
			location, repository := "", "contract-"+strings.ReplaceAll(name, " ", "-")
			for _, c := range calls {
				request, want := strings.ReplaceAll(c.request, "REPO", repository), strings.ReplaceAll(c.want, "REPO", repository)
				method, path, _ := strings.Cut(request, " ")
				if rest, ok := strings.CutPrefix(path, "LOCATION"); ok {
					path = location + rest
				}
				if !strings.HasPrefix(path, "http") {
					path = url + path
				}
				got, at := do(t, method, path, c.body, want)
				if got != want {
					t.Errorf("%s\ngot  %s\nwant %s", request, got, want)
				}
				if at != "" {
					location = at
				}
			}
		})
	}
}

// do returns the answer in the form of call.want, and its Location.
func do(t *testing.T, method, url, body, want string) (got, location string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)) //nolint:gosec // a registry for tests
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(url, "/manifests/") {
		request.Header.Set("Content-Type", ociManifest)
		request.Header.Set("Accept", ociManifest)
	} else {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // as above
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{fmt.Sprint(response.StatusCode)}
	var failure struct{ Errors []struct{ Code string } }
	if response.StatusCode >= 300 && json.Unmarshal(text, &failure) == nil && len(failure.Errors) > 0 {
		out = append(out, failure.Errors[0].Code)
	}
	wanted, _, whole := strings.Cut(want, " | ")
	for _, field := range strings.Fields(wanted) {
		if header, _, ok := strings.Cut(field, "="); ok {
			out = append(out, header+"="+response.Header.Get(header))
		}
	}
	got = strings.Join(out, " ")
	if whole {
		got += " | " + strings.TrimSpace(string(text))
	}
	return got, response.Header.Get("Location")
}
