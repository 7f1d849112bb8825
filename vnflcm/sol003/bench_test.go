package sol003_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

const benchClients = 200

func mustBench(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSOL003 measures 200 clients that read documents from a VNFM with 10,000 operations (VNFKIT_BENCH_OPERATIONS) in SQLite. Every
// twentieth request starts an operation instead. For comparison it measures a bare handler that returns a constant as large as the
// document of an operation, and the VNFM with hostile clients: 50 that send a body slowly, 4 that send 100 MB each.
func BenchmarkSOL003(b *testing.B) {
	s := newBenchSite(b, sqliteStore(b))
	constant := bytes.Repeat([]byte("x"), 700)
	bare := newBenchServer(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(constant)
	}))
	b.Run("bare", func(b *testing.B) { s.measure(b, bare) })
	b.Run("vnfm", func(b *testing.B) { s.measure(b, s.server) })
	b.Run("vnfm_beside_hostile_clients", func(b *testing.B) {
		stop := s.annoy(b)
		s.measure(b, s.server)
		stop()
	})
}

// BenchmarkSOL003Lists measures heals alone, and heals beside 50 clients that repeatedly list 10,000 operations (VNFKIT_BENCH_OPERATIONS)
// with a filter without an index. It measures both in one run, so that the ratio shows the cost of lists for operations.
func BenchmarkSOL003Lists(b *testing.B) {
	for name, open := range map[string]func(*testing.B) store.Store{"sqlite": sqliteStore, "postgres": postgresStore} {
		b.Run(name, func(b *testing.B) {
			s := newBenchSite(b, open(b))
			s.instantiate(b, s.instances[0])
			b.Run("heal", s.healBesideLists)
		})
	}
}

func sqliteStore(b *testing.B) store.Store {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"))
	mustBench(b, err)
	b.Cleanup(func() { mustBench(b, store.Close()) })
	return store
}

func postgresStore(b *testing.B) store.Store {
	store, err := postgres.Open(b.Context(), pgtest.Start(b).NewDatabase(b), postgres.Options{})
	mustBench(b, err)
	b.Cleanup(func() { mustBench(b, store.Close()) })
	return store
}

// healBesideLists heals b.N times alone and b.N times beside the clients, in alternating rounds of 50, because the speed of a machine
// varies. It reports the medians.
func (s *benchSite) healBesideLists(b *testing.B) {
	var alone, beside []time.Duration
	for n := b.N; n > 0; n -= 50 {
		alone = append(alone, s.heal(b, min(n, 50))...)
		stop := s.list(b)
		beside = append(beside, s.heal(b, min(n, 50))...)
		stop()
	}
	median := func(took []time.Duration) float64 {
		slices.Sort(took)
		return took[len(took)/2].Seconds() * 1000
	}
	b.ReportMetric(median(alone), "alone-ms")
	b.ReportMetric(median(beside), "beside-ms")
	b.ReportMetric(median(beside)/median(alone), "ratio")
	b.ReportMetric(0, "ns/op")
}

// heal returns the durations of n heals, from the request to the end of the operation.
func (s *benchSite) heal(b *testing.B, n int) []time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		s.operate(b, s.instances[0], "heal", `{"cause":"alarm"}`)
		took[i] = time.Since(began)
	}
	return took
}

func (s *benchSite) instantiate(b *testing.B, instance string) {
	s.operate(b, instance, "instantiate", `{"flavourId":"simple"}`)
}

// operate sends a task and waits for the end of the operation.
func (s *benchSite) operate(b *testing.B, instance, task, body string) {
	request, err := http.NewRequestWithContext(b.Context(), "POST", s.server.URL+"/vnflcm/v2/vnf_instances/"+instance+"/"+task, strings.NewReader(body))
	mustBench(b, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	mustBench(b, err)
	text, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		b.Fatalf("%s: %d %s", task, response.StatusCode, text)
	}
	occ, err := s.manager.Wait(b.Context(), path.Base(response.Header.Get("Location")))
	if err != nil || occ.OperationState != vnflcm.Completed {
		b.Fatalf("%s: %+v, %v", task, occ, err)
	}
}

// list starts 50 clients that list operations until stop is called. A client retries at once after status 503.
func (s *benchSite) list(b *testing.B) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, "GET", s.server.URL+"/vnflcm/v2/vnf_lcm_op_occs?filter=(cont,vnfInstanceId,nowhere)", http.NoBody)
				if err != nil {
					b.Error(err)
					return
				}
				if response, err := s.client.Do(request); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
					if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusServiceUnavailable {
						b.Errorf("a list: %d", response.StatusCode)
					}
				}
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// benchSite is a VNFM with an instance for each client.
type benchSite struct {
	manager   *vnflcm.Manager
	server    *httptest.Server
	client    *http.Client
	instances []string
	finished  []string // operations
}

func newBenchServer(b *testing.B, h http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	server.Config.ReadHeaderTimeout, server.Config.ReadTimeout = 10*time.Second, time.Minute
	server.Start()
	b.Cleanup(server.Close)
	return server
}

func newBenchSite(b *testing.B, store store.Store) *benchSite {
	b.Helper()
	operations, err := strconv.Atoi(os.Getenv("VNFKIT_BENCH_OPERATIONS"))
	if err != nil {
		operations = 10_000
	}
	m, _, err := newManager(b.Context(), b.TempDir(), func(cfg *vnflcm.Config) { cfg.Store = store })
	mustBench(b, err)
	b.Cleanup(func() { mustBench(b, m.Close(context.Background())) })
	h, err := sol003.NewHandler(m, sol003.Options{InsecureAllowAnyone: true})
	mustBench(b, err)
	s := &benchSite{manager: m, server: newBenchServer(b, h), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}}
	b.Cleanup(s.client.CloseIdleConnections)
	for range benchClients {
		instance, err := m.Create(b.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, VnfInstanceName: "toy"})
		mustBench(b, err)
		s.instances = append(s.instances, instance.ID)
	}
	var mu sync.Mutex
	eachClient(func(client int) {
		for range operations / benchClients {
			name := "renamed"
			opID, err := m.Modify(b.Context(), s.instances[client], vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, "")
			if err == nil {
				_, err = m.Wait(b.Context(), opID)
			}
			if err != nil {
				b.Error(err)
				return
			}
			mu.Lock()
			s.finished = append(s.finished, opID)
			mu.Unlock()
		}
	})
	return s
}

// eachClient runs the work of all clients concurrently.
func eachClient(work func(client int)) {
	var wg sync.WaitGroup
	for client := range benchClients {
		wg.Go(func() { work(client) })
	}
	wg.Wait()
}

// measure sends b.N requests and reports the durations of reads.
func (s *benchSite) measure(b *testing.B, server *httptest.Server) {
	took := make([][]time.Duration, benchClients)
	var left, started atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	eachClient(func(client int) {
		for n := left.Add(-1); n >= 0; n = left.Add(-1) {
			if n%20 == 0 {
				status := s.send(b, "PATCH", server.URL+"/vnflcm/v2/vnf_instances/"+s.instances[client], `{"metadata":{"k":"v"}}`)
				if status == http.StatusAccepted {
					started.Add(1)
				}
				continue
			}
			began := time.Now()
			s.send(b, "GET", server.URL+"/vnflcm/v2"+s.read(client, n), "")
			took[client] = append(took[client], time.Since(began))
		}
	})
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		return
	}
	at := func(share float64) float64 { return all[int(share*float64(len(all)-1))].Seconds() * 1000 }
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(started.Load())/b.Elapsed().Seconds(), "operations/s")
}

// read returns the URI that a client reads: an instance, an operation, or the active operations of an instance.
func (s *benchSite) read(client int, n int64) string {
	switch n % 3 {
	case 0:
		return "/vnf_instances/" + s.instances[client]
	case 1:
		return "/vnf_lcm_op_occs/" + s.finished[rand.IntN(len(s.finished))] //nolint:gosec // a benchmark
	default:
		return "/vnf_lcm_op_occs?filter=(eq,vnfInstanceId," + s.instances[client] + ");(in,operationState,STARTING,PROCESSING)"
	}
}

func (s *benchSite) send(b *testing.B, method, uri, body string) (status int) {
	request, err := http.NewRequestWithContext(b.Context(), method, uri, strings.NewReader(body))
	if err == nil {
		request.Header.Set("Content-Type", "application/json")
		var response *http.Response
		if response, err = s.client.Do(request); err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			status = response.StatusCode
		}
	}
	if err != nil || status >= 500 {
		b.Errorf("%s %s: %d, %v", method, uri, status, err)
	}
	return status
}

// annoy starts hostile clients, until stop is called.
func (s *benchSite) annoy(b *testing.B) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	address := strings.TrimPrefix(s.server.URL, "http://")
	hostile := func(size int, chunk []byte, pause time.Duration) {
		for ctx.Err() == nil {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err != nil {
				return
			}
			ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
			_, err = fmt.Fprintf(conn, "POST /vnflcm/v2/vnf_instances HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
			for sent := 0; sent < size && err == nil; sent += len(chunk) {
				_, err = conn.Write(chunk)
				if pause > 0 {
					time.Sleep(pause)
				}
			}
			ended()
			_ = conn.Close()
		}
	}
	for range 50 {
		wg.Go(func() { hostile(1<<20, []byte(" "), 50*time.Millisecond) })
	}
	for range 4 {
		wg.Go(func() { hostile(100<<20, bytes.Repeat([]byte(" "), 64<<10), 0) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}
