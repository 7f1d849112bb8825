package pull

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
)

// contacted is a registry on a machine of the world, as the runtime of another machine speaks to it.
type contacted struct {
	client *http.Client
	base   string
}

// dial makes a client of the registry at an address, which answers for the base of the registry API.
func dial(ctx context.Context, n Network, server, addr string, w Way) (Remote, error) {
	cas := x509.NewCertPool()
	cas.AppendCertsFromPEM(w.CAs)
	r := &contacted{base: w.Scheme + "://" + server + "/v2/", client: &http.Client{Transport: &http.Transport{
		DialContext:     func(ctx context.Context, network, _ string) (net.Conn, error) { return n.Dial(ctx, network, addr) },
		TLSClientConfig: &tls.Config{RootCAs: cas, Time: n.Now, MinVersion: tls.VersionTLS12},
	}}}
	_, err := r.get(ctx, "", "")
	if errors.Is(err, ErrUnauthorized) {
		err = nil
	}
	return r, err
}

func (r *contacted) get(ctx context.Context, path, creds string) (body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		return nil, err
	}
	if name, password, given := strings.Cut(creds, ":"); given {
		request.SetBasicAuth(name, password)
	}
	defer r.client.CloseIdleConnections()
	response, err := r.client.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return nil, failed.Err
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(response.Body, 4<<20))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusUnauthorized:
		return nil, ErrUnauthorized
	case response.StatusCode == http.StatusNotFound:
		return nil, ErrNotFound
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("unexpected status: %s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}

// Admits implements Remote.
func (r *contacted) Admits(ctx context.Context, creds string) error {
	_, err := r.get(ctx, "", creds)
	return err
}

// Image reads the manifest and the configuration of an image, of the first platform if there are several.
func (r *contacted) Image(ctx context.Context, name, creds string) (docker.Image, error) {
	repository, reference, digest := strings.Cut(name, "@")
	if !digest {
		repository, reference, _ = strings.Cut(docker.Tagged(name), ":")
	}
	for range 2 {
		text, err := r.get(ctx, repository+"/manifests/"+reference, creds)
		if err != nil {
			return docker.Image{}, err
		}
		var manifest struct {
			Manifests []struct{ Digest string }
			Config    struct{ Digest string }
			Layers    []struct{ Digest string }
		}
		if err := json.Unmarshal(text, &manifest); err != nil {
			return docker.Image{}, err
		}
		if len(manifest.Manifests) > 0 {
			reference = manifest.Manifests[0].Digest
			continue
		}
		config, err := r.get(ctx, repository+"/blobs/"+manifest.Config.Digest, creds)
		return docker.Image{ID: manifest.Config.Digest, Registry: docker.IsRegistry(config)}, err
	}
	return docker.Image{}, ErrNotFound
}
