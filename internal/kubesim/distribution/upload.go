package distribution

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"

	"github.com/google/uuid"
	"github.com/spf13/afero"
)

// upload begins an upload (POST), continues it (PATCH), completes it (PUT), or cancels it (DELETE).
func (s Store) upload(out http.ResponseWriter, r *http.Request, repository, id string) error {
	if r.Method == http.MethodPost && id == "" {
		return s.begin(out, r, repository)
	}
	if _, err := uuid.Parse(id); err != nil || r.URL.Query().Get("_state") != id { // clients follow the address as it is
		return errUploadInvalid
	}
	file := s.in(repository, "_uploads", id, "data")
	if !s.exists(file) {
		return errUploadUnknown
	}
	switch r.Method {
	case http.MethodGet:
		return s.uploaded(out, r, repository, id, http.StatusNoContent)
	case http.MethodPatch:
		if err := s.appendTo(file, r.Body); err != nil {
			return err
		}
		return s.uploaded(out, r, repository, id, http.StatusAccepted)
	case http.MethodPut:
		if err := s.appendTo(file, r.Body); err != nil {
			return err
		}
		return s.finish(out, repository, file, r.URL.Query().Get("digest"))
	case http.MethodDelete:
		out.WriteHeader(http.StatusNoContent)
		return s.Files.RemoveAll(path.Dir(file))
	}
	return errUnsupported
}

func (s Store) begin(out http.ResponseWriter, r *http.Request, repository string) error {
	q := r.URL.Query()
	if digest, from := q.Get("mount"), q.Get("from"); IsDigest(digest) && s.exists(s.link(path.Join("/", from), layers, digest)) {
		return s.created(out, repository, digest)
	}
	id := uuid.NewString()
	if err := s.write(s.in(repository, "_uploads", id, "data"), nil); err != nil {
		return err
	}
	return s.uploaded(out, r, repository, id, http.StatusAccepted)
}

func (s Store) appendTo(file string, content io.Reader) error {
	var all bytes.Buffer
	if _, err := io.Copy(&all, content); err != nil {
		return err
	}
	before, err := afero.ReadFile(s.Files, file)
	if err != nil {
		return errUploadUnknown
	}
	return s.write(file, append(before, all.Bytes()...))
}

// uploaded tells how far an upload is.
func (s Store) uploaded(out http.ResponseWriter, r *http.Request, repository, id string, status int) error {
	info, err := s.Files.Stat(s.in(repository, "_uploads", id, "data"))
	if err != nil {
		return errUploadUnknown
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	out.Header().Set("Location", scheme+"://"+r.Host+"/v2/"+repository+"/blobs/uploads/"+id+"?_state="+id)
	out.Header().Set("Docker-Upload-Uuid", id)
	out.Header().Set("Range", fmt.Sprintf("0-%d", max(0, info.Size()-1)))
	out.WriteHeader(status)
	return nil
}

func (s Store) finish(out http.ResponseWriter, repository, file, digest string) error {
	content, err := afero.ReadFile(s.Files, file)
	if err != nil {
		return errUploadUnknown
	}
	if !IsDigest(digest) || digestOf(content) != digest {
		return errDigest
	}
	if err := errors.Join(s.write(s.blobFile(digest), content), s.Files.RemoveAll(path.Dir(file))); err != nil {
		return err
	}
	return s.created(out, repository, digest)
}

func (s Store) created(out http.ResponseWriter, repository, digest string) error {
	if err := s.write(s.link(repository, layers, digest), []byte(digest)); err != nil {
		return err
	}
	out.Header().Set("Location", "/v2/"+repository+"/blobs/"+digest)
	out.Header().Set("Docker-Content-Digest", digest)
	out.WriteHeader(http.StatusCreated)
	return nil
}
