package docker_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/spf13/afero"
	"golang.org/x/crypto/bcrypt"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
)

// serve starts a registry on the files of a machine and returns its address.
func serve(t *testing.T, files afero.Fs, env map[string]string) string {
	t.Helper()
	r := docker.Registry{Files: files, Now: time.Now, Making: new(sync.Mutex), Passwords: new(sync.Map), Contents: new(sync.Map)}
	k := &docker.Container{ID: docker.NewID(), Env: env, Volumes: []docker.Bind{{From: "/srv", To: "/var/lib/registry"}, {From: "/auth", To: "/auth"}}}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) { r.ServeHTTP(k, out, in) }))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func status(err error) int {
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return answer.StatusCode
	}
	return 0
}

// TestRegistryContract asks this registry and a real one, which VNFKIT_REGISTRY names by its URL and which allows deletions, the same
// questions: what is pushed can be pulled by tag and digest, and only a digest deletes.
func TestRegistryContract(t *testing.T) {
	server := strings.TrimPrefix(os.Getenv("VNFKIT_REGISTRY"), "http://")
	if server == "" {
		server = serve(t, afero.NewMemMapFs(), map[string]string{"REGISTRY_STORAGE_DELETE_ENABLED": "true"})
	}
	repository, err := name.NewRepository(server+"/team/contract", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(100, 2)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	pull := func(from name.Reference) (got v1.Hash, err error) {
		pulled, err := remote.Image(from)
		if err != nil {
			return got, err
		}
		layers, err := pulled.Layers()
		for _, layer := range layers {
			content, errRead := layer.Compressed()
			if errRead == nil {
				errRead = content.Close()
			}
			err = errors.Join(err, errRead)
		}
		got, errDigest := pulled.Digest()
		return got, errors.Join(err, errDigest)
	}
	by := []name.Reference{repository.Tag("1"), repository.Digest(digest.String())}
	for _, from := range by {
		if _, err := pull(from); status(err) != http.StatusNotFound {
			t.Errorf("%s before it is pushed: %v", from, err)
		}
	}
	if err := remote.Write(by[0], image); err != nil {
		t.Fatal(err)
	}
	for _, from := range by {
		if got, err := pull(from); err != nil || got != digest {
			t.Errorf("%s: %s, %v", from, got, err)
		}
	}
	if err := remote.Delete(by[0]); status(err) != http.StatusBadRequest {
		t.Errorf("a tag was deleted: %v", err)
	}
	if err := remote.Delete(by[1]); err != nil {
		t.Error(err)
	}
	for _, from := range by {
		if _, err := pull(from); status(err) != http.StatusNotFound {
			t.Errorf("%s after it is deleted: %v", from, err)
		}
	}
}

// TestRegistryStays: images are in the files of the machine. A container reads them only for clients that log in, and deletes them only
// if its configuration allows it.
func TestRegistryStays(t *testing.T) {
	t.Parallel()
	files := afero.NewMemMapFs()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := afero.WriteFile(files, "/auth/htpasswd", []byte("user:"+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(env map[string]string) name.Reference {
		ref, err := name.ParseReference(serve(t, files, env)+"/team/image:1", name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	image, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(at(nil), image); err != nil {
		t.Fatal(err)
	}
	protected := at(map[string]string{"REGISTRY_AUTH": "htpasswd", "REGISTRY_AUTH_HTPASSWD_REALM": "r", "REGISTRY_AUTH_HTPASSWD_PATH": "/auth/htpasswd"})
	if _, err := remote.Image(protected); status(err) != http.StatusUnauthorized {
		t.Errorf("without a login: %v", err)
	}
	if _, err := remote.Image(protected, remote.WithAuth(&authn.Basic{Username: "user", Password: "other"})); status(err) != http.StatusUnauthorized {
		t.Errorf("with a wrong password: %v", err)
	}
	login := remote.WithAuth(&authn.Basic{Username: "user", Password: "secret"})
	if _, err := remote.Image(protected, login); err != nil {
		t.Error(err)
	}
	if err := remote.Delete(protected, login); status(err) != http.StatusMethodNotAllowed {
		t.Errorf("deleted: %v", err)
	}
}
