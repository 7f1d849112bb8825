package access_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
)

var errBroken = errors.New("broken")

// pipes is a listener whose connections are pipes, because those of a synctest bubble must not leave the process.
type pipes struct {
	conns chan net.Conn
	ended context.Context
	end   context.CancelFunc
}

func newPipes(t *testing.T) pipes {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	return pipes{make(chan net.Conn), ended, end}
}

// dial connects to the listener.
func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended.Done():
		return nil, net.ErrClosed
	}
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (p pipes) Close() error {
	p.end()
	return nil
}

// TestUpload: an upload continues as long as the service accepts bytes, and is repeated after a new login.
func TestUpload(t *testing.T) {
	t.Parallel()
	const limit = 800 * time.Millisecond
	content := make([]byte, 16<<20) // more than the buffers of a connection
	hang := func(r *http.Request) {
		select { // the server notices that the client has gone only once the body has been read
		case <-r.Context().Done():
		case <-time.After(4 * limit):
		}
	}
	for name, c := range map[string]struct {
		expired bool
		size    int
		answer  func(w http.ResponseWriter, r *http.Request)
		want    string // in the error
	}{
		"slow": {false, len(content), func(_ http.ResponseWriter, r *http.Request) {
			for range 40 { // in all more than twice as long as an answer may take
				time.Sleep(limit / 16)
				_, _ = io.CopyN(io.Discard, r.Body, 1<<18)
			}
			_, _ = io.Copy(io.Discard, r.Body)
		}, ""},
		"token has expired": {true, len(content), nil, ""},
		"stalled":           {false, len(content), func(_ http.ResponseWriter, r *http.Request) { hang(r) }, "the VIM cannot be reached: the service took no bytes"},
		"no answer": {false, len(content), func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			hang(r)
		}, "the VIM cannot be reached"},
		"too large":      {false, len(content), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }, "HTTP status 413"},
		"broken file":    {false, len(content), nil, "broken"},
		"file too short": {false, len(content) + 1, nil, "http: ContentLength=16777217 with Body length 16777216"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				listener := newPipes(t)
				cloud := newCloud(t, func(h http.Handler) *httptest.Server {
					s := httptest.NewUnstartedServer(h)
					_ = s.Listener.Close()
					s.Listener = listener
					s.Start()
					return s
				})
				transport := &http.Transport{DialContext: listener.dial}
				defer transport.CloseIdleConnections()
				clients, err := open(t, access.Config{ResponseTimeout: limit, Transport: transport}).Clients(t.Context(), vim(t, cloud.URL, nil, nil))
				if err != nil {
					t.Fatal(err)
				}
				got := int64(-1)
				cloud.heat = func(w http.ResponseWriter, r *http.Request) bool {
					if c.answer != nil {
						c.answer(w, r)
					} else {
						got, _ = io.Copy(io.Discard, r.Body)
					}
					return true
				}
				if c.expired {
					cloud.expire()
				}
				err = clients.Upload(t.Context(), clients.Heat, clients.Heat.ServiceURL("stacks"), int64(c.size), func() (io.ReadCloser, error) {
					file := io.Reader(bytes.NewReader(content))
					if name == "broken file" {
						file = io.MultiReader(io.LimitReader(file, 1<<20), iotest.ErrReader(errBroken))
					}
					return io.NopCloser(file), nil
				})
				if name == "broken file" && (!errors.Is(err, errBroken) || errors.Is(err, access.ErrUnreachable)) {
					t.Errorf("error %v is not that of the file", err)
				}
				if (err != nil) != (c.want != "") || !strings.Contains(fmt.Sprint(err), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				if c.expired && (got != int64(len(content)) || cloud.logins != 2) {
					t.Errorf("%d bytes came, %d logins", got, cloud.logins)
				}
			})
		})
	}
}

// TestGlance: a catalog without Glance, or with Glance in several regions, is an error only if a VNF uploads images.
func TestGlance(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	for types, want := range map[string]error{"orchestration compute network": access.ErrEndpoint, "orchestration compute network image": nil} {
		cloud.types = []string{types}
		clients, err := open(t, access.Config{}).Clients(t.Context(), vim(t, cloud.URL, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		api, err := clients.Glance()
		if !errors.Is(err, want) || want == nil && api.Endpoint != cloud.URL+"/image/v2/" {
			t.Errorf("%s: %+v, %v", types, api, err)
		}
	}
}
