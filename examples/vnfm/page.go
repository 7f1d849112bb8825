package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/timeline"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"time": func(t time.Time) string { return t.UTC().Format(time.DateTime) },
	"ends": ends,
}).Parse(pageText))

// pages show instances and their operations to people. They change nothing, need no scripts, and have the clients and tenants
// of the API.
type pages struct {
	manager  *vnflcm.Manager
	packages *onboarding.Repository // nil without onboarding
	senders  *sol003.Authorizer
}

// pageSize is how many instances or operations a page has.
const pageSize = 50

// view is what page.html shows: one instance with its operations, a list of instances, or one of packages.
type view struct {
	Title      string
	Instance   *vnflcm.VnfInstance
	Instances  []*vnflcm.VnfInstance
	Operations []*vnflcm.VnfLcmOpOcc
	Packages   []*onboarding.VnfPkgInfo
	OfPackages bool   // the page lists packages
	Onboards   bool   // there is such a page
	Next       string // the URI of the next page
	VIMs       []shownVIM
	Busy       bool                        // an operation is running
	Running    map[string]*vnflcm.Progress // by operation

	Ends    map[string]vnflcm.KnownCertificate // the certificate that ends first, by instance
	Fault   string                             // why certificates of the instance could not be read
	Stopped []*vnflcm.VnfLcmOpOcc              // operations whose failure stops the maintenance window for all tenants
	Hidden  bool                               // the window is stopped by an operation that the client may not see
}

// shownVIM is a VIM that the client may use.
type shownVIM struct {
	*vnflcm.VIM
	Own  bool // the client may change it
	Used int  // VNF instances on the VIM
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
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		_, _ = w.Write(body) // an error means that the client has disconnected
		return nil
	})
}

func render(v view) (body []byte, media string, err error) {
	var out bytes.Buffer
	err = pageTemplate.Execute(&out, v)
	return out.Bytes(), "text/html; charset=utf-8", err
}

// sees reports whether a tenant may see what belongs to an owner. "" sees everything.
func sees(tenant, owner string) bool { return tenant == "" || tenant == owner }

func (p *pages) instances(r *http.Request, tenant string) (body []byte, media string, err error) {
	page, err := p.manager.Instances(r.Context(), vnflcm.InstanceQuery{After: r.URL.Query().Get("after"), Limit: pageSize,
		Match: func(i *vnflcm.VnfInstance) bool { return sees(tenant, i.Tenant) }})
	if err != nil {
		return nil, "", err
	}
	v := view{Title: "VNF instances", Instances: page.Items, Next: next(r, page.Next), Onboards: p.packages != nil}
	if err := p.addEnds(r.Context(), &v, page.Items...); err != nil {
		return nil, "", err
	}
	if err := p.addStopped(r.Context(), &v, tenant); err != nil {
		return nil, "", err
	}
	if err := p.addVIMs(r.Context(), &v, tenant); err != nil {
		return nil, "", err
	}
	return render(v)
}

// onboarded lists the packages that a tenant may use.
func (p *pages) onboarded(r *http.Request, tenant string) (body []byte, media string, err error) {
	page, err := p.packages.List(r.Context(), tenant, r.URL.Query().Get("after"), pageSize)
	if err != nil {
		return nil, "", err
	}
	return render(view{Title: "VNF packages", OfPackages: true, Packages: page.Items, Next: next(r, page.Next)})
}

// addVIMs adds to the page the VIMs that a tenant may use.
func (p *pages) addVIMs(ctx context.Context, v *view, tenant string) error {
	list, err := p.manager.VIMRegistry().List(ctx, tenant)
	if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
		return err
	}
	used, err := p.manager.VIMRegistry().InUse(ctx, tenant, list)
	for _, vim := range list {
		v.VIMs = append(v.VIMs, shownVIM{vim, sees(tenant, vim.Tenant), used[vim.VimID]})
	}
	return err
}

// addStopped adds to the page whether a failed operation stops the maintenance window. An operation of another tenant is not named.
func (p *pages) addStopped(ctx context.Context, v *view, tenant string) error {
	failed, err := p.manager.Operations(ctx, vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.FailedTemp}, Limit: pageSize,
		Match: func(o *vnflcm.VnfLcmOpOcc) bool { return o.IsAutomaticInvocation }})
	for _, o := range failed.Items {
		if sees(tenant, o.Tenant) {
			v.Stopped = append(v.Stopped, o)
		} else {
			v.Hidden = true
		}
	}
	return err
}

// addEnds adds to the page when the certificates of instances end. The fault is shown for a single instance only.
func (p *pages) addEnds(ctx context.Context, v *view, list ...*vnflcm.VnfInstance) error {
	v.Ends = map[string]vnflcm.KnownCertificate{}
	for _, instance := range list {
		if instance.InstantiationState != vnflcm.Instantiated {
			continue
		}
		status, err := p.manager.CertificateStatus(ctx, instance.ID)
		if errors.Is(err, vnflcm.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		v.Fault = status.Fault
		if len(status.Certificates) > 0 {
			v.Ends[instance.ID] = status.Certificates[0]
		}
	}
	return nil
}

// next returns the URI of the page after that of a request, "" if there is none.
func next(r *http.Request, after string) string {
	if after == "" {
		return ""
	}
	return r.URL.Path + "?" + url.Values{"after": {after}}.Encode()
}

func (p *pages) instance(r *http.Request, tenant string) (body []byte, media string, err error) {
	id := r.PathValue("id")
	instance, err := p.manager.Get(r.Context(), id)
	if err == nil && !sees(tenant, instance.Tenant) {
		err = fmt.Errorf("VNF instance %s: %w", id, vnflcm.ErrNotFound)
	}
	if err != nil {
		return nil, "", err
	}
	page, err := p.manager.Operations(r.Context(), vnflcm.OperationQuery{InstanceID: id, After: r.URL.Query().Get("after"), Limit: pageSize})
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(page.Items, func(a, b *vnflcm.VnfLcmOpOcc) int { return b.StartTime.Compare(a.StartTime) })
	v := view{Title: instance.VnfInstanceName, Instance: instance, Operations: page.Items, Next: next(r, page.Next)}
	if v.Title == "" {
		v.Title = "VNF instance without a name"
	}
	if err := p.addEnds(r.Context(), &v, instance); err != nil {
		return nil, "", err
	}
	if err := p.addRunning(r.Context(), &v); err != nil {
		return nil, "", err
	}
	return render(v)
}

// addRunning adds to the page what the operations do that have not ended.
func (p *pages) addRunning(ctx context.Context, v *view) error {
	v.Running = map[string]*vnflcm.Progress{}
	for _, o := range v.Operations {
		if o.OperationState.Final() || o.OperationState == vnflcm.FailedTemp {
			continue
		}
		now, err := p.manager.Progress(ctx, o.ID)
		if errors.Is(err, vnflcm.ErrNotFound) {
			continue // it was purged meanwhile
		}
		if err != nil {
			return err
		}
		v.Busy, v.Running[o.ID] = true, now
	}
	return nil
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
	return out.Bytes(), "image/svg+xml", err
}
