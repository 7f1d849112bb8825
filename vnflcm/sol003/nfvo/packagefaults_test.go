package nfvo_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/nfvotest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
)

// withoutRange is a fault: the NFVO ignores a range.
func withoutRange(w http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
	r.Header.Del("Range")
	handler(w, r)
}

// otherRange is a fault: the NFVO answers with another part than asked for.
func otherRange(w http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
	r.Header.Set("Range", "bytes=5-")
	handler(w, r)
}

// noRange is a fault: the NFVO does not have the range.
func noRange(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
	w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
}

// TestDownloadFaults creates an instance while the NFVO has faults. The faults are those of the requests for the package by its VNFD, for the
// package by its id, and for its content.
func TestDownloadFaults(t *testing.T) {
	t.Parallel()
	cut, large := nfvotest.Cut(10000), strings.Repeat("large", 100)
	always := func(fault nfvotest.Fault) (list []nfvotest.Fault) {
		for range 20 {
			list = append(list, fault)
		}
		return list
	}
	wrong := map[string]any{"algorithm": "SHA-256", "hash": strings.Repeat("0", 64)}
	for name, tt := range map[string]struct {
		faults []nfvotest.Fault
		change func(p *nfvotest.Package)
		use    func(s *settings)
		want   error  // nil: the instance is created
		text   string // of the error
		sent   int    // answers with content; 0: any
	}{
		"no fault":                  {sent: 1},
		"cut":                       {faults: []nfvotest.Fault{nil, nil, cut, cut, cut}, sent: 4},
		"cut, no entity tag":        {faults: []nfvotest.Fault{nil, nil, cut}, change: func(p *nfvotest.Package) { p.WithoutTag = true }, sent: 2},
		"cut, range ignored":        {faults: []nfvotest.Fault{nil, nil, cut, withoutRange}, sent: 2},
		"cut, other range":          {faults: []nfvotest.Fault{nil, nil, cut, otherRange}, sent: 3},
		"cut, no range":             {faults: []nfvotest.Fault{nil, nil, cut, noRange}, sent: 2},
		"lost answers":              {faults: []nfvotest.Fault{nfvotest.Lost, nfvotest.Lost, nil, nfvotest.Lost, nil, nfvotest.Lost}, sent: 2},
		"overloaded":                {faults: []nfvotest.Fault{nfvotest.Status(503, "Retry-After", "0"), nfvotest.Status(429), nil, nil, nfvotest.Status(503), nfvotest.Status(429, "Retry-After", "0"), nfvotest.Status(500)}, sent: 1},
		"slow":                      {faults: []nfvotest.Fault{nil, nil, nfvotest.Hang}, use: func(s *settings) { s.options.StallTimeout = 2 * time.Second }, sent: 1},
		"never available":           {faults: always(nfvotest.Status(503)), want: vnflcm.ErrNoNFVO, text: "503 Service Unavailable"},
		"content never available":   {faults: append([]nfvotest.Fault{nil, nil}, always(nfvotest.Status(503))...), want: vnflcm.ErrNoNFVO, text: "503 Service Unavailable"},
		"later than a client waits": {faults: []nfvotest.Fault{nfvotest.Status(503, "Retry-After", "3600")}, want: vnflcm.ErrNoNFVO},
		"forbidden":                 {faults: []nfvotest.Fault{nil, nil, nfvotest.Problem(403, "Forbidden", "not for "+nfvotest.Secret)}, text: "not for ***"},
		"redirect to this machine":  {faults: []nfvotest.Fault{nil, nil, nfvotest.Status(302, "Location", "http://127.0.0.1:1/")}, text: "redirects are not followed"},
		"first redirect":            {faults: []nfvotest.Fault{nfvotest.Status(307, "Location", "http://169.254.169.254/")}, text: "redirects are not followed"},
		"no content":                {faults: []nfvotest.Fault{nil, nil, nfvotest.Status(404)}, text: "404"},
		"wrong checksum":            {change: func(p *nfvotest.Package) { p.Checksum = wrong }, want: nfvo.ErrChecksum, sent: 1},
		"wrong checksum, cut":       {faults: []nfvotest.Fault{nil, nil, cut}, change: func(p *nfvotest.Package) { p.Checksum = wrong }, want: nfvo.ErrChecksum, sent: 3},
		"wrong checksum, cut twice": {faults: []nfvotest.Fault{nil, nil, cut, nil, cut}, change: func(p *nfvotest.Package) { p.Checksum = wrong }, want: nfvo.ErrChecksum, sent: 4},
		"checksum as a text":        {change: func(p *nfvotest.Package) { p.Checksum = sumText(p.Content) }, sent: 1},
		"unknown algorithm":         {change: func(p *nfvotest.Package) { p.Checksum = map[string]any{"algorithm": "MD5", "hash": "00"} }, want: nfvo.ErrChecksum},
		"too large":                 {use: func(s *settings) { s.options.MaxSize = 1000 }, want: nfvo.ErrTooLarge},
		"tokens for two requests":   {use: func(s *settings) { s.lifetime = 2 }, faults: []nfvotest.Fault{nil, nil, cut, cut, cut}},
		"no package":                {change: func(p *nfvotest.Package) { p.Content = []byte("no package") }, text: "csar.not-a-package"},
		"other VNFD":                {change: func(p *nfvotest.Package) { p.Content = csar(t, "other", nil) }, want: vnflcm.ErrNoPackage},
		"large answer":              {faults: []nfvotest.Fault{nfvotest.Problem(400, "Bad Request", strings.Repeat(large, 100))}, text: "400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.put(t, "p", "vnfd")
			if tt.change != nil {
				tt.change(&p)
				w.Put(p)
			}
			m := w.start(t, tt.use)
			w.Then(tt.faults...)
			_, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "vnfd"})
			fails := tt.want != nil || tt.text != ""
			switch text := fmt.Sprint(err); {
			case !fails && err != nil, fails && err == nil:
				t.Errorf("create: %v", err)
			case tt.want != nil:
				wantError(t, "create", err, tt.want)
				if isAway := errors.Is(tt.want, vnflcm.ErrNoNFVO); isAway != (vnflcm.Problem(err).Status == http.StatusServiceUnavailable) {
					t.Errorf("the status is %d", vnflcm.Problem(err).Status)
				}
			case !strings.Contains(text, tt.text):
				t.Errorf("%q is not in %q", tt.text, text)
			}
			if err != nil {
				withoutSecrets(t, err.Error())
				if len(err.Error()) > 4000 {
					t.Errorf("the error has %d bytes", len(err.Error()))
				}
			}
			if tt.sent > 0 && w.Sent() != tt.sent {
				t.Errorf("the content was sent %d times, want %d", w.Sent(), tt.sent)
			}
			if w.Lifetime > 0 && w.Issued() < 3 {
				t.Errorf("%d tokens were issued", w.Issued())
			}
			w.wantDownloads(t, 0)
		})
	}
}

// sumText returns the checksum of a package in the form that the OpenAPI definition of SOL003 has.
func sumText(content []byte) string {
	sum, _ := nfvotest.SumOf(content)["hash"].(string)
	return strings.ToUpper(sum)
}

// TestChangedInTheMiddle: the content of a package without a checksum changes while it is downloaded.
func TestChangedInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.put(t, "p", "vnfd")
	p.Checksum = ""
	w.Put(p)
	w.Then(nil, nil, func(rw http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
		defer func() { // the connection breaks
			p.Content = csar(t, "vnfd", map[string]string{"filler": strings.Repeat("changed", 10000)})
			w.Put(p)
		}()
		nfvotest.Cut(10000)(rw, r, handler)
	})
	m := w.start(t, nil)
	m.create(t, "vnfd")
	list, err := m.packages.List(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Size != int64(len(p.Content)) {
		t.Errorf("%+v, want a package of %d bytes", list, len(p.Content))
	}
}

// TestOtherAnswer: something else than the package arrives once, and the NFVO announces no checksum.
func TestOtherAnswer(t *testing.T) {
	t.Parallel()
	for name, withoutTag := range map[string]bool{"entity tag": false, "no entity tag": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.put(t, "p", "vnfd")
			p.Checksum, p.WithoutTag = "", withoutTag
			w.Put(p)
			m := w.start(t, nil)
			w.Then(nil, nil, nfvotest.Status(200, "ETag", `"other"`))
			if _, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "vnfd"}); err == nil {
				t.Error("an instance was created from no package")
			}
			w.wantFiles(t, 0, 0)
			m.create(t, "vnfd")
		})
	}
}

// TestLongDownload: a request does not wait for a long download, which continues without it.
func TestLongDownload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(t, "p", "vnfd")
	proceed := make(chan struct{})
	w.Then(nil, nil, func(rw http.ResponseWriter, r *http.Request, handler http.HandlerFunc) { <-proceed; handler(rw, r) })
	m := w.start(t, func(s *settings) { s.options.Wait = time.Millisecond })
	_, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "vnfd"})
	wantError(t, "create", err, vnflcm.ErrBusy)
	if problem := vnflcm.Problem(err); problem.Status != http.StatusServiceUnavailable {
		t.Errorf("the status is %d", problem.Status)
	}
	close(proceed)
	await(t, "the VNF instance is not created after the download", func() bool {
		_, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "vnfd"})
		return err == nil
	})
	if w.Sent() != 1 {
		t.Errorf("the content was sent %d times", w.Sent())
	}
}

// TestArtifact downloads single files of a package.
func TestArtifact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.put(t, "p", "vnfd")
	p.Artifacts = map[string][]byte{"Files/ä b%/image": bytes.Repeat([]byte("image"), 1000)}
	w.Put(p)
	m := w.start(t, nil)
	w.Then(nil, nfvotest.Cut(100))
	f, err := m.packages.Artifact(t.Context(), "p", "Files/ä b%/image")
	must(t, err)
	got, err := io.ReadAll(f)
	must(t, errors.Join(err, f.Close()))
	if !bytes.Equal(got, p.Artifacts["Files/ä b%/image"]) {
		t.Errorf("%d bytes of the artifact", len(got))
	}
	_, err = m.packages.Artifact(t.Context(), "p", "Files/unknown")
	wantError(t, "an unknown artifact", err, vnflcm.ErrNotFound)
	w.wantFiles(t, 0, 0)
}

func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-9/10", "bytes 5-9/*", "bytes */10", "bytes 9-5/10", "bytes 0-9223372036854775807/9223372036854775807", "items 1-2/3", "bytes=1-2/3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, total, err := nfvo.ParseContentRange(text)
		if err == nil && (first < 0 || total < -1 || total >= 0 && first >= total) {
			t.Errorf("%q: %d of %d", text, first, total)
		}
	})
}

func FuzzPackageNotification(f *testing.F) {
	f.Add([]byte(`{"notificationType":"VnfPackageChangeNotification","vnfPkgId":"p","changeType":"OP_STATE_CHANGE","operationalState":"DISABLED"}`))
	f.Add([]byte(`{"notificationType":"VnfPackageOnboardingNotification","vnfPkgId":"p"}`))
	f.Add([]byte(`{"notificationType":3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := nfvo.ParseNotification(bytes.NewReader(text)); err == nil && !bytes.Contains(text, []byte("{")) {
			t.Errorf("%q is accepted", text)
		}
	})
}
