package distribution

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"
)

// Store is the content of a registry on the file system of its machine, laid out as distribution does it
// (registry/storage/paths.go).
type Store struct {
	Files   afero.Fs
	Making  *sync.Mutex // is held while directories are made: not every file system stands two that make the same ones
	Root    string      // the directory of the content
	Deletes bool        // clients may delete (REGISTRY_STORAGE_DELETE_ENABLED)
}

// fault is an answer other than success.
type fault struct {
	status        int
	code, message string
}

func (e *fault) Error() string { return e.message }

// ServeHTTP answers a request of a client that may do everything.
func (s Store) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if err := s.answer(out, r); err != nil {
		write(out, err)
	}
}

// Refuse answers a request without the right credentials.
func Refuse(out http.ResponseWriter, realm string) {
	out.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	out.Header().Set("WWW-Authenticate", fmt.Sprintf("Basic realm=%q", realm))
	write(out, &fault{http.StatusUnauthorized, "UNAUTHORIZED", "authentication required"})
}

func write(out http.ResponseWriter, err error) {
	f := &fault{http.StatusInternalServerError, "UNKNOWN", err.Error()}
	_ = errors.As(err, &f)
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	out.WriteHeader(f.status)
	_ = json.NewEncoder(out).Encode(map[string]any{"errors": []map[string]any{{"code": f.code, "message": f.message}}})
}

var (
	errUnsupported   = &fault{http.StatusMethodNotAllowed, "UNSUPPORTED", "The operation is unsupported."}
	errBlobUnknown   = &fault{http.StatusNotFound, "BLOB_UNKNOWN", "blob unknown to registry"}
	errUploadInvalid = &fault{http.StatusNotFound, "BLOB_UPLOAD_INVALID", "blob upload invalid"}
	errUploadUnknown = &fault{http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry"}
	errManifest      = &fault{http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown"}
	errDigest        = &fault{http.StatusBadRequest, "DIGEST_INVALID", "provided digest did not match uploaded content"}
)

// registryPaths are those of the API: what they name is a repository, and a thing in it.
var registryPaths = regexp.MustCompile(`^/v2/([a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)/(manifests|blobs/uploads|blobs|tags)/([A-Za-z0-9_:.-]*)$`)

// methods are those that the things in a repository have.
var methods = map[string][]string{"manifests": {http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete},
	"blobs": {http.MethodGet, http.MethodHead, http.MethodDelete}, "tags": {http.MethodGet},
	"blobs/uploads": {http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete}}

func (s Store) answer(out http.ResponseWriter, r *http.Request) error {
	switch r.URL.Path {
	case "/v2/":
		_, err := io.WriteString(out, "{}")
		return err
	case "/v2/_catalog":
		return s.catalog(out)
	}
	found := registryPaths.FindStringSubmatch(r.URL.Path)
	if found == nil || found[2] == "blobs" && !strings.Contains(found[3], ":") {
		http.NotFound(out, r)
		return nil
	}
	repository, kind, name := found[1], found[2], found[3]
	switch {
	case !slices.Contains(methods[kind], r.Method):
		out.WriteHeader(http.StatusMethodNotAllowed)
		return nil
	case kind == "blobs" && !IsDigest(name):
		return errDigest
	}
	switch kind {
	case "manifests":
		return s.manifest(out, r, repository, name)
	case "blobs":
		return s.blob(out, r, repository, name)
	case "tags":
		return s.tags(out, repository)
	}
	return s.upload(out, r, repository, name)
}

var digests = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsDigest reports whether a reference to an image is a digest, not a name.
func IsDigest(reference string) bool { return digests.MatchString(reference) }

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s Store) blobFile(digest string) string {
	sum := strings.TrimPrefix(digest, "sha256:")
	return path.Join(s.Root, "blobs/sha256", sum[:2], sum, "data")
}

func (s Store) in(repository string, elements ...string) string {
	return path.Join(s.Root, "repositories", repository, path.Join(elements...))
}

// link is the file by which a repository has a blob or a manifest.
func (s Store) link(repository, kind, digest string) string {
	return s.in(repository, kind, "sha256", strings.TrimPrefix(digest, "sha256:"), "link")
}

// Directories of a repository.
const layers, revisions, tagLinks = "_layers", "_manifests/revisions", "_manifests/tags"

func (s Store) exists(name string) bool {
	ok, err := afero.Exists(s.Files, name)
	return ok && err == nil
}

func (s Store) write(name string, content []byte) error {
	s.Making.Lock()
	err := s.Files.MkdirAll(path.Dir(name), 0o755)
	s.Making.Unlock()
	if err != nil {
		return err
	}
	return afero.WriteFile(s.Files, name, content, 0o644)
}

func (s Store) blob(out http.ResponseWriter, r *http.Request, repository, digest string) error {
	if !s.exists(s.link(repository, layers, digest)) || !s.exists(s.blobFile(digest)) {
		return errBlobUnknown
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		f, err := s.Files.Open(s.blobFile(digest))
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		out.Header().Set("Content-Type", "application/octet-stream")
		out.Header().Set("Docker-Content-Digest", digest)
		http.ServeContent(out, r, "", info.ModTime(), f)
		return nil
	case http.MethodDelete:
		if !s.Deletes {
			return errUnsupported
		}
		if err := s.Files.Remove(s.link(repository, layers, digest)); err != nil {
			return err
		}
		out.WriteHeader(http.StatusAccepted)
		return nil
	}
	return errUnsupported
}

func (s Store) names(dir string) []string {
	entries, err := afero.ReadDir(s.Files, dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func (s Store) tags(out http.ResponseWriter, repository string) error {
	tags := s.names(s.in(repository, tagLinks)) // null when they are deleted
	if !s.exists(s.in(repository, tagLinks)) {
		return &fault{http.StatusNotFound, "NAME_UNKNOWN", "repository name not known to registry"}
	}
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	return json.NewEncoder(out).Encode(map[string]any{"name": repository, "tags": tags})
}

// catalog lists the repositories that have, or had, manifests.
func (s Store) catalog(out http.ResponseWriter) error {
	repositories := []string{}
	var walk func(name string)
	walk = func(name string) {
		for _, sub := range s.names(s.in(name)) {
			if sub == "_manifests" {
				repositories = append(repositories, strings.TrimPrefix(name, "/"))
			} else if !strings.HasPrefix(sub, "_") {
				walk(path.Join(name, sub))
			}
		}
	}
	walk("")
	slices.Sort(repositories)
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	return json.NewEncoder(out).Encode(map[string]any{"repositories": repositories})
}
