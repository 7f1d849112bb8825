package inprocess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/bounded"
)

// fetchChart reads the chart that a reference names.
func (c *Client) fetchChart(ctx context.Context, from helmclient.Chart) ([]byte, error) {
	if strings.HasPrefix(from.Ref, ociScheme) {
		return c.pullOCI(ctx, from)
	}
	u, err := url.Parse(from.Ref)
	if err != nil {
		return nil, fmt.Errorf("%w: chart: its reference is no URL", helmclient.ErrInvalid)
	}
	f, err := c.repositories()
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		return c.fetchURL(ctx, u, from.Access, f)
	}
	name, chart, ok := strings.Cut(from.Ref, "/")
	e := f.get(name)
	switch {
	case !ok || u.Scheme != "":
		return nil, fmt.Errorf("%w: chart %q: must be repository/chart, oci:// or the URL of an archive", helmclient.ErrInvalid, u.Redacted())
	case e == nil:
		return nil, fmt.Errorf("%w: chart %s: repository %q is not known, add it first", helmclient.ErrInvalid, from.Ref, name)
	}
	return c.fetchNamed(ctx, e, chart, from.Version)
}

// fetchNamed reads a chart that the index of a repository names.
func (c *Client) fetchNamed(ctx context.Context, e *entry, chart, version string) ([]byte, error) {
	index, err := c.helm.LoadIndex(c.indexFile(e.Name))
	if err != nil {
		return nil, fmt.Errorf("%w: index of repository %s: %w", helmclient.ErrInvalidChart, e.Name, err)
	}
	found, urls, err := index.Find(chart, version)
	if err != nil {
		return nil, fmt.Errorf("%w: repository %s %s", helmclient.ErrInvalidChart, e.Name, unfound(index, chart, version))
	}
	if len(urls) == 0 || urls[0] == "" {
		return nil, fmt.Errorf("%w: the index of repository %s has no URL for version %s of chart %s", helmclient.ErrInvalidChart, e.Name, found, chart)
	}
	where, err := c.helm.ResolveURL(e.URL, urls[0])
	if err != nil {
		return nil, fmt.Errorf("%w: repository %s: URL of chart %s", helmclient.ErrInvalidChart, e.Name, chart)
	}
	if strings.HasPrefix(where, ociScheme) {
		return c.pullOCI(ctx, helmclient.Chart{Ref: where})
	}
	u, err := url.Parse(where)
	if err != nil {
		return nil, fmt.Errorf("%w: repository %s: URL of chart %s", helmclient.ErrInvalidChart, e.Name, chart)
	}
	return c.fetchFrom(ctx, u, e, maxArchive)
}

// unfound says what an index has instead of the requested version.
func unfound(index Index, chart, version string) string {
	newest, _, err := index.Find(chart, anyVersion)
	switch {
	case err != nil:
		return "has no chart " + chart
	case version == "":
		return fmt.Sprintf("has only pre-releases of chart %s, such as %s: name the version", chart, newest)
	}
	return fmt.Sprintf("has no chart %s of version %q", chart, version)
}

// anyVersion is a range that pre-releases match too.
const anyVersion = ">=0.0.0-0"

// fetchURL reads an archive. One below the URL of a repository is read as that repository is, unless something else is
// said.
func (c *Client) fetchURL(ctx context.Context, u *url.URL, a helmclient.Access, f *known) ([]byte, error) {
	if a.Username == "" && len(a.CA) == 0 && u.User == nil {
		for _, e := range f.Repositories {
			if strings.HasPrefix(u.String(), strings.TrimSuffix(e.URL, "/")+"/") {
				return c.fetchFrom(ctx, u, e, maxArchive)
			}
		}
	}
	if u.User != nil && a.Username == "" {
		password, _ := u.User.Password()
		a.Username, a.Password = u.User.Username(), helmclient.NewPassword(password)
	}
	u.User = nil
	return c.get(ctx, u.String(), a, maxArchive)
}

// fetchFrom reads a file of a repository. It sends the password only to the host of the repository.
func (c *Client) fetchFrom(ctx context.Context, u *url.URL, e *entry, limit int64) ([]byte, error) {
	ca, err := e.authority()
	if err != nil {
		return nil, err
	}
	a := helmclient.Access{CA: ca}
	if own, err := url.Parse(e.URL); err == nil && own.Scheme == u.Scheme && own.Host == u.Host {
		a.Username, a.Password = e.Username, helmclient.NewPassword(e.Password)
	}
	u.User = nil
	return c.get(ctx, u.String(), a, limit)
}

// fetchIndex reads the index of a repository, which must be one.
func (c *Client) fetchIndex(ctx context.Context, e *entry, ca []byte) ([]byte, error) {
	where, err := c.helm.ResolveURL(e.URL, "index.yaml")
	if err != nil {
		return nil, fmt.Errorf("%w: repository %s: its URL", helmclient.ErrInvalid, e.Name)
	}
	a := helmclient.Access{Username: e.Username, Password: helmclient.NewPassword(e.Password), CA: ca}
	text, err := c.get(ctx, where, a, maxArchive)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", e.Name, err)
	}
	if _, err := c.file(configFile); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(c.dir, ".index-*") // Helm's parser takes a file
	if err != nil {
		return nil, fmt.Errorf("helm: index of repository %s: %w", e.Name, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		_, err = c.helm.LoadIndex(f.Name())
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, fmt.Errorf("%w: repository %s: its URL does not serve an index", helmclient.ErrInvalidChart, e.Name)
	}
	return text, nil
}

// get reads a file over HTTP.
func (c *Client) get(ctx context.Context, where string, a helmclient.Access, limit int64) ([]byte, error) {
	t, err := c.web(a)
	if err != nil {
		return nil, err
	}
	defer t.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: URL of a repository", helmclient.ErrInvalid)
	}
	if a.Username != "" {
		request.SetBasicAuth(a.Username, a.Password.Reveal())
	}
	response, err := (&http.Client{Transport: t, CheckRedirect: redirected}).Do(request)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := statusError(where, response.StatusCode); err != nil {
		return nil, err
	}
	text, err := bounded.Read(response.Body, limit)
	if err != nil {
		return nil, unreachable(ctx, fmt.Errorf("%s: %w", where, err))
	}
	return text, nil
}

// redirected follows redirects, without the credentials if another server is named. It does not follow them from TLS to
// plain HTTP: without TLS the server is not authenticated. net/http itself keeps the credentials for other ports and for
// names below the first one.
func redirected(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= 10:
		return errors.New("is redirected too often")
	case via[0].URL.Scheme == "https" && to.URL.Scheme != "https":
		return errors.New("is redirected from TLS to plain HTTP")
	case via[0].URL.Scheme != to.URL.Scheme || via[0].URL.Host != to.URL.Host:
		to.Header.Del("Authorization")
	}
	return nil
}

func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, err)
	}
	return fmt.Errorf("%w: %w", helmclient.ErrUnreachable, err)
}

func statusError(where string, code int) error {
	class := helmclient.ErrInvalidChart
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		class = helmclient.ErrDenied
	case code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		class = helmclient.ErrUnreachable
	}
	return fmt.Errorf("%w: %s: %d %s", class, where, code, http.StatusText(code))
}

// web is how a server of charts is reached.
func (c *Client) web(a helmclient.Access) (*http.Transport, error) {
	t := c.charts.Clone()
	if len(a.CA) == 0 {
		return t, nil
	}
	trusted, err := x509.SystemCertPool()
	if err != nil {
		trusted = x509.NewCertPool()
	}
	if !trusted.AppendCertsFromPEM(a.CA) {
		return nil, fmt.Errorf("%w: CA: holds no certificate in PEM", helmclient.ErrInvalid)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	return t, nil
}
