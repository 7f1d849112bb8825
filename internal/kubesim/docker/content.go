package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/afero"
)

// content is the content of a registry, in files of its machine. go-containerregistry answers the requests, but it has manifests only in
// memory, so content stores them too: the first line of a file is the media type.
type content struct {
	files    afero.Fs
	making   *sync.Mutex // held while a directory is made
	root     string      // directory of the files
	registry http.Handler
}

// newContent returns what earlier containers have stored at a root.
func newContent(files afero.Fs, making *sync.Mutex, root string) *content {
	c := &content{files: files, making: making, root: root}
	c.registry = registry.New(registry.WithBlobHandler(c), registry.Logger(log.New(io.Discard, "", 0)))
	for range 2 { // an index is accepted after its manifests
		_ = afero.Walk(files, root+"/v2", func(name string, info fs.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return nil //nolint:nilerr // a registry without images
			}
			if text, err := afero.ReadFile(files, name); err == nil {
				mediaType, manifest, _ := bytes.Cut(text, []byte("\n"))
				c.repeat(http.MethodPut, strings.TrimPrefix(name, root), string(mediaType), manifest)
			}
			return nil
		})
	}
	return c
}

// manifestPath matches the address of a manifest.
var manifestPath = regexp.MustCompile(`^/v2/[a-z0-9._/-]+/manifests/[A-Za-z0-9_:.-]+$`)

// ServeHTTP answers a request of a client that may do everything. As distribution 2.8 does, it refuses to delete a tag.
func (c *content) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if manifestPath.MatchString(r.URL.Path) {
		var err error
		switch r.Method {
		case http.MethodPut:
			err = c.store(r)
		case http.MethodDelete:
			err = c.untag(r.URL.Path)
		}
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
	}
	c.registry.ServeHTTP(out, r)
}

// store writes a manifest under its tag and its digest.
func (c *content) store(r *http.Request) error {
	manifest, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(manifest))
	hash, _, err := v1.SHA256(bytes.NewReader(manifest))
	if err != nil {
		return err
	}
	text := append([]byte(r.Header.Get("Content-Type")+"\n"), manifest...)
	return errors.Join(c.write(r.URL.Path, text), c.write(path.Join(path.Dir(r.URL.Path), hash.String()), text))
}

// untag removes the files of a manifest, and the tags that lead to it.
func (c *content) untag(digest string) error {
	if !strings.Contains(path.Base(digest), ":") {
		return errors.New("DIGEST_INVALID: manifests are deleted by their digest")
	}
	text, err := afero.ReadFile(c.files, c.root+digest)
	if err != nil {
		return nil //nolint:nilerr // the registry answers that it has no such manifest
	}
	entries, err := afero.ReadDir(c.files, c.root+path.Dir(digest))
	for _, entry := range entries {
		name := path.Join(path.Dir(digest), entry.Name())
		if other, errRead := afero.ReadFile(c.files, c.root+name); errRead != nil || !bytes.Equal(other, text) {
			continue
		}
		err = errors.Join(err, c.files.Remove(c.root+name))
		if name != digest {
			c.repeat(http.MethodDelete, name, "", nil)
		}
	}
	return err
}

// repeat gives go-containerregistry a request for a stored manifest.
func (c *content) repeat(method, name, mediaType string, manifest []byte) {
	c.registry.ServeHTTP(discard{}, &http.Request{Method: method, URL: &url.URL{Path: name},
		Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(bytes.NewReader(manifest))})
}

// discard is a client that reads no answer.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func (c *content) write(name string, text []byte) error {
	c.making.Lock()
	err := c.files.MkdirAll(path.Dir(c.root+name), 0o755)
	c.making.Unlock()
	return errors.Join(err, afero.WriteFile(c.files, c.root+name, text, 0o644))
}

func blob(h v1.Hash) string { return "/blobs/" + h.String() }

// Get implements registry.BlobHandler.
func (c *content) Get(_ context.Context, _ string, h v1.Hash) (io.ReadCloser, error) {
	f, err := c.files.Open(c.root + blob(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, registry.ErrNotFound
	}
	return f, err
}

// Put implements registry.BlobPutHandler.
func (c *content) Put(_ context.Context, _ string, h v1.Hash, from io.ReadCloser) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	return c.write(blob(h), text)
}
