package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/timeline"
)

//go:embed pages
var pageFiles embed.FS

//go:embed pages/page.css
var pageStyle string

var pageTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(pageStyle) }, //nolint:gosec // a constant
	"time":    func(t time.Time) string { return t.UTC().Format(time.DateTime) },
	"machine": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"age":     func(t time.Time) string { return age(time.Since(t)) },
	"ends":    ends,
	"tone":    tone,
}).ParseFS(pageFiles, "pages/*.html"))

// The policies of pages and of pictures: no scripts, nothing from elsewhere. The style of pages is named by its digest.
var (
	pagePolicy = func() string {
		digest := sha256.Sum256([]byte(pageStyle))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	}()
	picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

const (
	pageMedia    = "text/html; charset=utf-8"
	pictureMedia = "image/svg+xml"
)

// pages show instances and their operations to people. They change nothing, need no scripts, and have the clients and tenants
// of the API.
type pages struct {
	manager  *vnflcm.Manager
	packages *onboarding.Repository // nil without onboarding
	senders  *sol003.Authorizer
	apiRoot  string // of URIs; "": the Host header of each request
	login    string // arguments of curl with the credentials of a client
	overview overview
}

// resources are the pages, by pattern.
func (p *pages) resources() map[string]http.Handler {
	out := map[string]http.Handler{"GET /{$}": p.answer(p.instances), "GET /instances/{id}": p.answer(p.instance), "GET /operations/{file}": p.answer(p.timeline)}
	if p.packages != nil {
		out["GET /packages"] = p.answer(p.onboarded)
	}
	return out
}

// answer identifies the client, as the API does, and sends what show returns.
func (p *pages) answer(show func(r *http.Request, tenant string) (body []byte, media string, err error)) http.Handler {
	return p.senders.Handler(func(w http.ResponseWriter, r *http.Request, who sol003.Principal) error {
		body, media, err := show(r, who.Tenant)
		if err != nil {
			return err
		}
		header := w.Header()
		header.Set("Content-Type", media)
		policy := pagePolicy
		if media == pictureMedia {
			policy = picturePolicy
		}
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		_, _ = w.Write(body) // an error means that the client has disconnected
		return nil
	})
}

// render executes the template of a page, such as "list.html".
func render(name string, view any) (body []byte, media string, err error) {
	var out bytes.Buffer
	err = pageTemplates.ExecuteTemplate(&out, name, view)
	return out.Bytes(), pageMedia, err
}

// sees reports whether a tenant may see what belongs to an owner. "" sees everything.
func sees(tenant, owner string) bool { return tenant == "" || tenant == owner }

// tone returns the class of the colour in which a state is shown.
func tone(state any) string {
	switch fmt.Sprint(state) {
	case string(vnflcm.FailedTemp), string(vnflcm.Failed), stateFailed:
		return "bad"
	case string(vnflcm.Starting), string(vnflcm.Processing), string(vnflcm.RollingBack), stateRunning:
		return "busy"
	case string(vnflcm.Completed), stateInstantiated:
		return "good"
	}
	return "idle"
}

// age says how long ago something was, in one unit.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/day)
}

// duration is a time as people read it: 7ms, 12s, 4m10s.
func duration(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// ends says when a certificate ends.
func ends(c vnflcm.KnownCertificate) string {
	const day = 24 * time.Hour
	text := c.NotAfter.UTC().Format(time.DateOnly)
	if left := time.Until(c.NotAfter); left > 0 {
		return fmt.Sprintf("%s, in %d days", text, left/day)
	}
	return text + ", has ended"
}

// packageView is what packages.html shows.
type packageView struct {
	Packages []*onboarding.VnfPkgInfo
	Next     string // the URI of the next page
}

// onboarded lists the packages that a tenant may use.
func (p *pages) onboarded(r *http.Request, tenant string) (body []byte, media string, err error) {
	page, err := p.packages.List(r.Context(), tenant, r.URL.Query().Get("after"), listSize)
	if err != nil {
		return nil, "", err
	}
	v := packageView{Packages: page.Items}
	if page.Next != "" {
		v.Next = r.URL.Path + "?" + url.Values{"after": {page.Next}}.Encode()
	}
	return render("packages.html", v)
}

// certificates returns what the Manager knows of the certificates of an instance. A page asks no machine: it can be loaded by
// anyone who may read, and again and again. Without a record, and without instance, there are no certificates.
func (p *pages) certificates(ctx context.Context, instanceID string, state vnflcm.InstantiationState) (*vnflcm.CertificateStatus, error) {
	if state != vnflcm.Instantiated {
		return &vnflcm.CertificateStatus{}, nil
	}
	status, err := p.manager.CertificateStatus(ctx, instanceID)
	if errors.Is(err, vnflcm.ErrNotFound) { // it was deleted meanwhile
		return &vnflcm.CertificateStatus{}, nil
	}
	return status, err
}

// timeline draws one operation.
func (p *pages) timeline(r *http.Request, tenant string) (body []byte, media string, err error) {
	id := strings.TrimSuffix(r.PathValue("file"), ".svg")
	operation, err := p.manager.Operation(r.Context(), id)
	if err == nil && !sees(tenant, operation.Tenant) {
		err = fmt.Errorf("operation %s: %w", id, vnflcm.ErrNotFound)
	}
	if err != nil {
		return nil, "", err
	}
	chart, err := timeline.Read(r.Context(), p.manager, id)
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	err = timeline.WriteSVG(&out, time.Now(), chart)
	return out.Bytes(), pictureMedia, err
}
