package distribution

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/afero"
)

func (s Store) manifest(out http.ResponseWriter, r *http.Request, repository, reference string) error {
	if r.Method == http.MethodPut {
		return s.putManifest(out, r, repository, reference)
	}
	digest := reference
	if !IsDigest(reference) {
		text, err := afero.ReadFile(s.Files, s.in(repository, tagLinks, reference, "current/link"))
		if err != nil || reference == "" {
			return errManifest
		}
		digest = string(text)
	}
	content, err := afero.ReadFile(s.Files, s.blobFile(digest))
	if err != nil || !s.exists(s.link(repository, revisions, digest)) {
		return errManifest
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		out.Header().Set("Content-Type", mediaType(content))
		out.Header().Set("Docker-Content-Digest", digest)
		out.Header().Set("Content-Length", strconv.Itoa(len(content)))
		if r.Method == http.MethodHead {
			return nil
		}
		_, err := out.Write(content)
		return err
	case http.MethodDelete:
		if !s.Deletes {
			return errUnsupported
		}
		if digest != reference { // 2.8 deletes by digest only
			return errDigest
		}
		out.WriteHeader(http.StatusAccepted)
		return s.deleteManifest(repository, digest)
	}
	return errUnsupported
}

func mediaType(manifest []byte) string {
	var f struct{ MediaType string }
	if err := json.Unmarshal(manifest, &f); err != nil || f.MediaType == "" {
		return "application/vnd.oci.image.manifest.v1+json"
	}
	return f.MediaType
}

// descriptor names a blob (OCI image specification, descriptor.md).
type descriptor struct {
	Digest string `json:"digest"`
}

// putManifest takes a manifest when the repository has all that it names.
func (s Store) putManifest(out http.ResponseWriter, r *http.Request, repository, reference string) error {
	content, err := io.ReadAll(io.LimitReader(r.Body, 4<<20)) // the limit of a real registry
	if err != nil {
		return err
	}
	var f struct {
		SchemaVersion     int
		Manifests, Layers []descriptor
		Config            *descriptor
	}
	err = json.Unmarshal(content, &f)
	switch {
	case err == nil && f.SchemaVersion != 2:
		return fmt.Errorf("unrecognized manifest schema version %d", f.SchemaVersion)
	case err != nil || f.Config == nil && len(f.Manifests) == 0:
		return &fault{http.StatusBadRequest, "MANIFEST_INVALID", "manifest invalid"}
	}
	wanted := map[string][]descriptor{layers: f.Layers, revisions: f.Manifests}
	if f.Config != nil {
		wanted[layers] = append(wanted[layers], *f.Config)
	}
	for kind, list := range wanted {
		for _, d := range list {
			if !IsDigest(d.Digest) || !s.exists(s.link(repository, kind, d.Digest)) {
				return &fault{http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry: " + d.Digest}
			}
		}
	}
	digest := digestOf(content)
	if err := errors.Join(s.write(s.blobFile(digest), content), s.write(s.link(repository, revisions, digest), []byte(digest))); err != nil {
		return err
	}
	switch {
	case IsDigest(reference) && reference != digest:
		return errDigest
	case !IsDigest(reference):
		if err := s.write(s.in(repository, tagLinks, reference, "current/link"), []byte(digest)); err != nil {
			return err
		}
	}
	out.Header().Set("Location", "/v2/"+repository+"/manifests/"+digest)
	out.Header().Set("Docker-Content-Digest", digest)
	out.WriteHeader(http.StatusCreated)
	return nil
}

// deleteManifest removes a manifest and the tags that lead to it.
func (s Store) deleteManifest(repository, digest string) error {
	errs := []error{s.Files.Remove(s.link(repository, revisions, digest))}
	for _, tag := range s.names(s.in(repository, tagLinks)) {
		if text, err := afero.ReadFile(s.Files, s.in(repository, tagLinks, tag, "current/link")); err == nil && string(text) == digest {
			errs = append(errs, s.Files.RemoveAll(s.in(repository, tagLinks, tag)))
		}
	}
	return errors.Join(errs...)
}
