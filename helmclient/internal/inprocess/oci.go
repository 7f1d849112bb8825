package inprocess

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	registryhttp "github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Media types of charts in registries (Helm's pkg/registry, constants.go).
const (
	ociScheme  = "oci://"
	chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// exact is a version and no range of versions.
var exact = regexp.MustCompile(`^v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]*)?$`)

// pullOCI reads a chart from a registry. Helm's own client for them reads the credentials of Docker below $HOME, and
// cannot be stopped.
func (c *Client) pullOCI(ctx context.Context, from helmclient.Chart) ([]byte, error) {
	t, err := c.web(from.Access)
	if err != nil {
		return nil, err
	}
	defer t.CloseIdleConnections()
	options := []remote.Option{remote.WithContext(ctx), remote.WithTransport(&secure{t, from.Access.PlainHTTP})}
	if from.Access.Username != "" {
		options = append(options, remote.WithAuth(&authn.Basic{Username: from.Access.Username, Password: from.Access.Password.Reveal()}))
	}
	ref, err := c.resolve(from, options)
	if err != nil {
		return nil, ociError(ctx, from.Ref, err)
	}
	image, err := remote.Image(ref, options...)
	if err != nil {
		return nil, ociError(ctx, from.Ref, err)
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, ociError(ctx, from.Ref, err)
	}
	for _, layer := range layers {
		if kind, err := layer.MediaType(); err == nil && string(kind) == chartLayer {
			text, err := read(layer.Compressed, maxArchive) // which checks the digest
			if err != nil {
				return nil, ociError(ctx, from.Ref, err)
			}
			return text, nil
		}
	}
	return nil, fmt.Errorf("%w: %s: is no chart", helmclient.ErrInvalidChart, ref)
}

// resolve finds the tag for a version.
func (c *Client) resolve(from helmclient.Chart, options []remote.Option) (name.Reference, error) {
	var strict []name.Option
	if from.Access.PlainHTTP {
		strict = append(strict, name.Insecure)
	}
	path := strings.TrimPrefix(from.Ref, ociScheme)
	last := path[strings.LastIndex(path, "/")+1:]
	switch {
	case strings.ContainsAny(last, ":@"): // a tag or digest
		return name.ParseReference(path, strict...)
	case exact.MatchString(from.Version):
		return name.NewTag(path+":"+tag(from.Version), strict...)
	}
	repository, err := name.NewRepository(path, strict...)
	if err != nil {
		return nil, err
	}
	tags, err := remote.List(repository, options...)
	if err != nil {
		return nil, err
	}
	for i := range tags {
		tags[i] = strings.ReplaceAll(tags[i], "_", "+")
	}
	index := c.helm.IndexOf(last, tags)
	found, _, err := index.Find(last, from.Version)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s", helmclient.ErrInvalidChart, path[:strings.Index(path+"/", "/")], unfound(index, last, from.Version))
	}
	return repository.Tag(tag(found)), nil
}

// tag is how Helm writes a version as a tag, which must not hold a plus.
func tag(version string) string { return strings.ReplaceAll(version, "+", "_") }

func ociError(ctx context.Context, ref string, err error) error {
	var answer *registryhttp.Error
	var bad *name.ErrBadName
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, err)
	case classified(err):
		return err
	case errors.As(err, &bad):
		return fmt.Errorf("%w: chart %s: %w", helmclient.ErrInvalid, ref, err)
	case errors.As(err, &answer):
		return statusError(ref, answer.StatusCode)
	case transient(err):
		return fmt.Errorf("%w: %s: %w", helmclient.ErrUnreachable, ref, err)
	}
	return fmt.Errorf("%w: %s: %w", helmclient.ErrInvalidChart, ref, err)
}

// secure refuses requests without TLS unless the caller asked for them: the library uses plain HTTP for addresses that
// it considers private.
type secure struct {
	base  http.RoundTripper
	plain bool
}

func (s *secure) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !s.plain {
		closeBody(r)
		return nil, fmt.Errorf("%w: %s is not reached by TLS, and plain HTTP is not asked for", helmclient.ErrUnreachable, r.URL.Host)
	}
	return s.base.RoundTrip(r)
}
