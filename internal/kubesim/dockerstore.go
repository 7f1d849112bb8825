package kubesim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"
)

// store is the content of a registry on the file system of its machine, laid out as distribution does it
// (registry/storage/paths.go), and what clients ask of it (OCI distribution specification).
type store struct {
	files   afero.Fs
	making  *sync.Mutex // of directories: not every file system stands two that make the same ones
	root    string
	deletes bool
}

// registryError is an answer other than success.
type registryError struct {
	status        int
	code, message string
}

func (e *registryError) Error() string { return e.message }

func registryFault(out http.ResponseWriter, err error) {
	fault := &registryError{http.StatusInternalServerError, "UNKNOWN", err.Error()}
	_ = errors.As(err, &fault)
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	out.WriteHeader(fault.status)
	_ = json.NewEncoder(out).Encode(map[string]any{"errors": []map[string]any{{"code": fault.code, "message": fault.message}}})
}

var (
	errUnsupported   = &registryError{http.StatusMethodNotAllowed, "UNSUPPORTED", "The operation is unsupported."}
	errBlobUnknown   = &registryError{http.StatusNotFound, "BLOB_UNKNOWN", "blob unknown to registry"}
	errUploadInvalid = &registryError{http.StatusNotFound, "BLOB_UPLOAD_INVALID", "blob upload invalid"}
	errUploadUnknown = &registryError{http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry"}
	errManifest      = &registryError{http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown"}
	errDigest        = &registryError{http.StatusBadRequest, "DIGEST_INVALID", "provided digest did not match uploaded content"}
)

// registryPaths are those of the API: what they name is a repository, and a thing in it.
var registryPaths = regexp.MustCompile(`^/v2/([a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)/(manifests|blobs/uploads|blobs|tags)/([A-Za-z0-9_:.-]*)$`)

func (s store) answer(out http.ResponseWriter, r *http.Request) error {
	switch r.URL.Path {
	case "/v2/":
		_, err := io.WriteString(out, "{}")
		return err
	case "/v2/_catalog":
		return s.catalog(out)
	}
	found := registryPaths.FindStringSubmatch(r.URL.Path)
	if found == nil || found[2] == "blobs" && !digests.MatchString(found[3]) {
		http.NotFound(out, r)
		return nil
	}
	repository, kind, name := found[1], found[2], found[3]
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

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (s store) blobFile(digest string) string {
	sum := strings.TrimPrefix(digest, "sha256:")
	return path.Join(s.root, "blobs/sha256", sum[:2], sum, "data")
}

func (s store) in(repository string, elements ...string) string {
	return path.Join(s.root, "repositories", repository, path.Join(elements...))
}

// link is the file by which a repository has a blob or a manifest.
func (s store) link(repository, kind, digest string) string {
	return s.in(repository, kind, "sha256", strings.TrimPrefix(digest, "sha256:"), "link")
}

// Directories of a repository.
const layers, revisions, tagLinks = "_layers", "_manifests/revisions", "_manifests/tags"

func (s store) exists(name string) bool {
	ok, err := afero.Exists(s.files, name)
	return ok && err == nil
}

func (s store) write(name string, content []byte) error {
	s.making.Lock()
	err := s.files.MkdirAll(path.Dir(name), 0o755)
	s.making.Unlock()
	if err != nil {
		return err
	}
	return afero.WriteFile(s.files, name, content, 0o644)
}

func (s store) blob(out http.ResponseWriter, r *http.Request, repository, digest string) error {
	if !s.exists(s.link(repository, layers, digest)) || !s.exists(s.blobFile(digest)) {
		return errBlobUnknown
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		f, err := s.files.Open(s.blobFile(digest))
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
		if !s.deletes {
			return errUnsupported
		}
		if err := s.files.Remove(s.link(repository, layers, digest)); err != nil {
			return err
		}
		out.WriteHeader(http.StatusAccepted)
		return nil
	}
	return errUnsupported
}

func (s store) names(dir string) []string {
	entries, err := afero.ReadDir(s.files, dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func (s store) tags(out http.ResponseWriter, repository string) error {
	tags := s.names(s.in(repository, tagLinks)) // null when they are deleted
	if !s.exists(s.in(repository, tagLinks)) {
		return &registryError{http.StatusNotFound, "NAME_UNKNOWN", "repository name not known to registry"}
	}
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	return json.NewEncoder(out).Encode(map[string]any{"name": repository, "tags": tags})
}

// catalog lists the repositories that have, or had, manifests.
func (s store) catalog(out http.ResponseWriter) error {
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
