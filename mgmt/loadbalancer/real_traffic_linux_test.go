package loadbalancer_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
)

// backend is a server on loopback that says its name.
func backend(t *testing.T, name, address string, port int) (loadbalancer.Server, int) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(400 * time.Millisecond) // a request that runs while other requests begin and end
		}
		_, _ = io.WriteString(w, name)
	}))
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	at := netip.MustParseAddrPort(l.Addr().String())
	return loadbalancer.Server{ID: "id-" + name, Name: name, Address: at.Addr()}, int(at.Port())
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// clients request all the time, each time on a new connection.
type clients struct {
	asked, failed atomic.Int64
	mu            sync.Mutex
	by            map[string]int // answers, since reset
	errs          []string
	stop          func()
}

func request(ctx context.Context, url string) (string, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func startClients(t *testing.T, url string, slow bool) *clients {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &clients{by: map[string]int{}}
	var all sync.WaitGroup
	for i := range 3 {
		path := "/"
		if slow && i == 2 {
			path = "/slow"
		}
		all.Go(func() {
			tick := time.NewTicker(3 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				text, err := request(context.WithoutCancel(ctx), url+path)
				c.asked.Add(1)
				c.mu.Lock()
				if err != nil {
					c.failed.Add(1)
					c.errs = append(c.errs, err.Error())
				}
				c.by[text]++
				c.mu.Unlock()
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	c.stop = func() { cancel(); all.Wait() }
	t.Cleanup(c.stop)
	return c
}

// answers are who has answered since the last call.
func (c *clients) answers() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := c.by
	c.by = map[string]int{}
	return by
}

// TestRealTraffic: while servers come, are drained and go, no request fails.
func TestRealTraffic(t *testing.T) {
	t.Parallel()
	r := newRealSite(t)
	ctx := t.Context()
	w1, toward := backend(t, "w1", "127.0.0.1", 0)
	w2, _ := backend(t, "w2", "127.0.0.2", toward)
	w3, _ := backend(t, "w3", "127.0.0.3", toward)
	port := freePort(t)
	for port == toward {
		port = freePort(t)
	}
	put := func(workers ...loadbalancer.Server) {
		t.Helper()
		p := loadbalancer.Part{Groups: map[string][]loadbalancer.Server{"masters": nil, "workers": workers},
			Frontends: []loadbalancer.Frontend{{Name: "web", Port: port, To: []string{"masters", "workers"}, Toward: toward}}}
		if err := r.Put(ctx, "cluster/c", p); err != nil {
			t.Fatal(err)
		}
	}
	put(w1, w2)
	url := "http://127.0.0.1:" + strconv.Itoa(port)
	c := startClients(t, url, true)
	put(w1, w2, w3)
	c.answers()
	awaitAnswers(t, c, "w1", "w2", "w3")
	for round := range 3 {
		left, err := r.Drain(ctx, []string{"id-w2"}, time.Minute)
		if left != 0 || err != nil {
			t.Fatalf("round %d: %d left, %v", round, left, err)
		}
		c.answers()
		awaitAnswers(t, c, "w1", "w3")
		put(w1, w3)
		put(w1, w2, w3)
		awaitAnswers(t, c, "w2")
	}
	for c.asked.Load() < 100 {
		time.Sleep(time.Millisecond)
	}
	c.stop()
	if c.failed.Load() != 0 {
		t.Errorf("%d of %d requests failed: %q", c.failed.Load(), c.asked.Load(), c.errs[:min(len(c.errs), 5)])
	}
	t.Logf("%d requests, %d failed", c.asked.Load(), c.failed.Load())
}

// awaitAnswers waits until all of these have answered, and none else.
func awaitAnswers(t *testing.T, c *clients, want ...string) {
	t.Helper()
	seen := map[string]bool{}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for name := range c.answers() {
			if !slices.Contains(want, name) && len(want) > 1 {
				t.Errorf("%q answers", name)
			}
			seen[name] = true
		}
		if !slices.ContainsFunc(want, func(name string) bool { return !seen[name] }) {
			return
		}
	}
	t.Errorf("of %q only %v have answered", want, seen)
}

// TestRealDrainWaits: a connection that stays is waited for, and counted when the time is over.
func TestRealDrainWaits(t *testing.T) {
	t.Parallel()
	r := newRealSite(t)
	ctx := t.Context()
	w1, toward := backend(t, "w1", "127.0.0.1", 0)
	w2, _ := backend(t, "w2", "127.0.0.2", toward)
	port := freePort(t)
	if err := r.Put(ctx, "cluster/c", loadbalancer.Part{Groups: map[string][]loadbalancer.Server{"workers": {w1, w2}},
		Frontends: []loadbalancer.Frontend{{Name: "web", Port: port, To: []string{"workers"}, Toward: toward}}}); err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	for range 4 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := r.Drain(ctx, []string{"id-w1"}, 300*time.Millisecond); left != 2 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
	time.AfterFunc(300*time.Millisecond, func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	short, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if left, err := r.Drain(short, []string{"id-w1"}, time.Hour); left != 0 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
}

// TestRealDeath: a dead server gets no connections after the documented time, and refused connections are retried on
// another server meanwhile.
func TestRealDeath(t *testing.T) {
	t.Parallel()
	r := newRealSite(t)
	ctx := t.Context()
	w1, toward := backend(t, "w1", "127.0.0.1", 0)
	w2 := loadbalancer.Server{ID: "id-w2", Name: "w2", Address: netip.MustParseAddr("127.0.0.2")} // no process listens there
	port := freePort(t)
	if err := r.Put(ctx, "cluster/c", loadbalancer.Part{Groups: map[string][]loadbalancer.Server{"workers": {w1, w2}},
		Frontends: []loadbalancer.Frontend{{Name: "web", Port: port, To: []string{"workers"}, Toward: toward}}}); err != nil {
		t.Fatal(err)
	}
	c := startClients(t, "http://127.0.0.1:"+strconv.Itoa(port), false)
	awaitAnswers(t, c, "w1")
	time.Sleep(4 * time.Second)
	c.stop()
	if c.failed.Load() != 0 {
		t.Errorf("%d of %d requests failed: %q", c.failed.Load(), c.asked.Load(), c.errs[:min(len(c.errs), 5)])
	}
}

// TestRealTaken: a port that another program has is refused before anything is replaced.
func TestRealTaken(t *testing.T) {
	t.Parallel()
	r := newRealSite(t)
	_, taken := backend(t, "other", "127.0.0.1", 0)
	err := r.Put(t.Context(), "cluster/c", loadbalancer.Cluster(taken, nil, nil))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d, which cluster/c wants, is taken by", taken)) {
		t.Error(err)
	}
}
