package sol003_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// largeCSAR returns a CSAR with an incompressible artifact of size bytes.
func largeCSAR(t *testing.T, size int64) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	must(t, w.AddFS(toyPackage))
	f, err := w.Create("Files/large.bin")
	must(t, err)
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), size)
	must(t, errors.Join(err, w.Close()))
	return out.Bytes()
}

// serveWith starts a second server for a VNFM, with other settings, that cuts stalled transfers.
func (x *vnfm) serveWith(stall time.Duration, change func(*http.Server)) *httptest.Server {
	x.t.Helper()
	handler, err := sol003.NewHandler(x.Manager, sol003.Options{Packages: x.packages, Stall: stall, InsecureAllowAnyone: true})
	must(x.t, err)
	server := httptest.NewUnstartedServer(handler)
	change(server.Config)
	server.Start()
	x.t.Cleanup(server.Close)
	return server
}

// TestTransferOutlivesTimeouts checks that the timeouts of the http.Server, here too short for any request with a body, do not end uploads
// and downloads that make progress.
func TestTransferOutlivesTimeouts(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	csar := largeCSAR(t, 8<<20)
	uri := x.newPackage()
	strict := x.serveWith(0, func(s *http.Server) {
		s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout = patience, time.Nanosecond, time.Nanosecond
	})
	at := strict.URL + strings.TrimPrefix(uri, x.http.URL) + "/package_content"
	x.send("PUT", at, string(csar), 202, "Content-Type", "application/zip")
	x.awaitPackage(uri, "ONBOARDED")
	if got := x.send("GET", at, "", 200); got.body != string(csar) {
		t.Errorf("%d bytes were read, %d written", len(got.body), len(csar))
	}
}

// TestStalledUpload checks that an upload of a client that stops sending is cut, and that the package has the reason.
func TestStalledUpload(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{Stall: 50 * time.Millisecond})
	uri := x.newPackage()
	body, stop := io.Pipe()
	t.Cleanup(func() { _ = stop.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "PUT", uri+"/package_content", io.MultiReader(strings.NewReader("begin"), body))
	must(t, err)
	r.Header.Set("Content-Type", "application/zip")
	response, err := x.http.Client().Do(r)
	must(t, err)
	if a := read(t, response); a.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d: %s", a.StatusCode, a.body)
	}
	failed := x.awaitPackage(uri, "ERROR")
	if details := fmt.Sprint(failed.object()["onboardingFailureDetails"]); !strings.Contains(details, "less than 65536 bytes have arrived") {
		t.Errorf("the reason: %s", details)
	}
}

// TestStalledDownload checks that a download of a client that stops reading is cut.
func TestStalledDownload(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	uri := x.newPackage()
	x.upload(uri, largeCSAR(t, 16<<20), "ONBOARDED")
	ended := make(chan any, 1)
	server := x.serveWith(50*time.Millisecond, func(s *http.Server) {
		handler := s.Handler
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				ended <- recover()
				panic(http.ErrAbortHandler)
			}()
			handler.ServeHTTP(w, r)
		})
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	must(t, err)
	defer func() { _ = conn.Close() }()
	must(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	_, err = fmt.Fprintf(conn, "GET %s/package_content HTTP/1.1\r\nHost: x\r\n\r\n", strings.TrimPrefix(uri, x.http.URL))
	must(t, err)
	select {
	case reason := <-ended:
		if reason == nil {
			t.Error("the answer was sent although the client does not read: the package is too small for this test")
		}
	case <-time.After(patience):
		t.Fatal("the server still waits for the client")
	}
}

// TestExpect checks that a client that waits for 100 Continue does not send a content that would be refused.
func TestExpect(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	uri := x.newPackage()
	for _, c := range []struct{ uri, media, want string }{
		{"/vnfpkgm/v1/vnf_packages/unknown", "application/zip", "HTTP/1.1 404 Not Found"}, {uri, "text/plain", "HTTP/1.1 415 Unsupported Media Type"},
		{uri, "application/zip", "HTTP/1.1 100 Continue"}, {uri, "application/zip", "HTTP/1.1 409 Conflict"},
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", x.http.Listener.Addr().String())
		must(t, err)
		defer func() { _ = conn.Close() }()
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = fmt.Fprintf(conn, "PUT %s/package_content HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n", strings.TrimPrefix(c.uri, x.http.URL), c.media)
		must(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		must(t, err)
		if got := strings.TrimSpace(line); got != c.want {
			t.Errorf("%s as %s: %s, want %s", c.uri, c.media, got, c.want)
		}
	}
}

// TestTooLarge checks that contents larger than the limit of the repository are refused, with and without a Content-Length.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	x := newOnboarding(t, sol003.Options{})
	transport := x.http.Client().Transport.(*http.Transport)
	transport.ExpectContinueTimeout = patience
	for _, size := range []int64{maxPackage + 1, -1} {
		uri := x.newPackage()
		r, err := http.NewRequestWithContext(t.Context(), "PUT", uri+"/package_content", io.LimitReader(zeros{}, maxPackage+1))
		must(t, err)
		r.ContentLength = size
		r.Header.Set("Content-Type", "application/octet-stream")
		r.Header.Set("Expect", "100-continue")
		if a := x.roundTrip(r); a.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("size %d: status %d %s", size, a.StatusCode, a.body)
		}
		x.awaitPackage(uri, "ERROR")
	}
}
