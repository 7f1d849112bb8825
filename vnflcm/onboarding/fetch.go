package onboarding

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// UploadFromURI has Run fetch the content of a package that is CREATED or ERROR. It returns when that is stored: UPLOADING. A fetch that its
// process cannot finish is begun again by another one. Redirects to other hosts do not get the password. Errors are those of Upload, and a
// *vnflcm.ParamError for an address that is not allowed.
func (r *Repository) UploadFromURI(ctx context.Context, tenant, id string, from Address) error {
	u, err := r.checkAddress(from)
	if err != nil {
		return err
	}
	from.URI = u.String()
	if _, err := r.begin(ctx, tenant, id, &from); err != nil {
		return err
	}
	r.wake(id)
	return nil
}

// checkAddress parses an address. Names are judged when the connection is made.
func (r *Repository) checkAddress(from Address) (*url.URL, error) {
	wrong := func(reason string) (*url.URL, error) {
		return nil, &vnflcm.ParamError{Path: "addressInformation", Reason: reason}
	}
	u, err := url.Parse(from.URI)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return wrong("must be a URI such as https://example.com/vnf.csar")
	case u.Scheme != "https" && (u.Scheme != "http" || !r.AllowHTTP):
		return wrong("must have the scheme https")
	case u.User != nil:
		return wrong("must not have a login: use userName and password")
	case len(from.URI) > maxText:
		return wrong(fmt.Sprintf("must have at most %d bytes", maxText))
	}
	if err := r.Allow.CheckURL(u); err != nil {
		return wrong(err.Error())
	}
	u.Fragment = ""
	return u, nil
}

// fetch stores the content that the source of a package has. The package is then PROCESSING or ERROR.
func (r *Repository) fetch(ctx context.Context, was *entry) error {
	attempt := uuid.NewString()
	r.removeAttempt(was.Attempt, "")
	p, err := r.start(ctx, was.id, attempt, Uploading)
	if err != nil {
		return ignoreSuperseded(err)
	}
	err = r.download(ctx, p)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		r.uncount(ctx, p)
		return context.Cause(ctx)
	}
	return r.failAt(ctx, p, failureOf(err))
}

// errStalled ends a download in which no byte arrives.
var errStalled = errors.New("no byte has arrived for too long")

// errRedirect ends a fetch that is redirected to where it does not follow.
var errRedirect = errors.New("the redirect is not followed")

// maxRedirects is how many redirects a fetch follows.
const maxRedirects = 5

// download receives the content of a package from its source.
func (r *Repository) download(ctx context.Context, p *entry) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.FetchTimeout, fmt.Errorf("the content has not arrived within %v", r.FetchTimeout))
	defer cancel()
	ctx, stall := context.WithCancelCause(ctx)
	defer stall(nil)
	watch := time.AfterFunc(r.StallTimeout, func() { stall(errStalled) })
	defer watch.Stop()

	transport := r.Allow.Transport()
	transport.DisableCompression, transport.TLSClientConfig, transport.DisableKeepAlives = true, r.TLS.Clone(), true
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: r.checkRedirect}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Source.URI, nil)
	if err != nil {
		return errors.New("the URI is not valid")
	}
	request.Header.Set("Accept", "application/zip, application/octet-stream, */*")
	if p.Source.User != "" || !p.Source.Password.IsZero() {
		request.SetBasicAuth(p.Source.User, p.Source.Password.Reveal())
	}
	answer, err := client.Do(request)
	if err != nil {
		return downloadError(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered with the status %d", answer.Request.URL.Host, answer.StatusCode)
	}
	return r.receive(ctx, p.id, p.Attempt, watched{ctx, answer.Body, watch, r.StallTimeout}, answer.ContentLength)
}

// watched is the body of an answer.
type watched struct {
	ctx   context.Context //nolint:containedctx // of the request
	body  io.Reader
	watch *time.Timer // ends the request
	stall time.Duration
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.body.Read(b)
	switch {
	case errors.Is(err, io.EOF): // storing the content may take longer
		w.watch.Stop()
	case err != nil:
		err = downloadError(w.ctx, err)
	case n > 0:
		w.watch.Reset(w.stall)
	}
	return n, err
}

// checkRedirect follows redirects to allowed schemes. The transport judges the addresses. Another host gets no login, and not the URI.
func (r *Repository) checkRedirect(next *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: there are more than %d redirects", errRedirect, maxRedirects)
	case next.URL.Scheme != "https" && (next.URL.Scheme != "http" || !r.AllowHTTP):
		return fmt.Errorf("%w: it leads to another scheme than https", errRedirect)
	}
	if next.URL.Host != via[0].URL.Host || next.URL.Scheme != via[0].URL.Scheme {
		next.Header.Del("Authorization")
		next.Header.Del("Referer")
	}
	return nil
}

// downloadError returns an error of a request without the URI, which may have a token, and without text of the peer, which may be any
// server that this machine reaches.
func downloadError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if fault, ok := errors.AsType[*url.Error](err); ok {
		err = fault.Err
	}
	_, isNetwork := errors.AsType[*net.OpError](err)
	_, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isNetwork, isUntrusted, errors.Is(err, outbound.ErrAddress), errors.Is(err, errRedirect), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return err
	}
	return errors.New("the server does not answer as an HTTP server does")
}
