//go:build unix

package nfvo_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/internal/nfvotest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// processTTL is longer than the delays of a living process on a busy machine.
const processTTL = 3 * time.Second

// runProcess runs a VNFM as a child process. It creates an instance from each VNFD that it reads from standard input.
func runProcess(dir string) error {
	ctx := context.Background()
	authority, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	c, err1 := nfvo.New(nfvo.Config{URL: os.Getenv("VNFKIT_NFVO"), TokenURL: os.Getenv("VNFKIT_NFVO") + "/oauth/token", ClientID: nfvotest.ClientID,
		ClientSecret: func() (vnflcm.Secret, error) { return vnflcm.NewSecret(nfvotest.Secret), nil }, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	db, err2 := sqlite.Open(ctx, filepath.Join(dir, "state.db"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	packages, err := nfvo.NewPackageCache(c, filepath.Join(dir, "packages"), nfvo.PackageOptions{MinFree: 1})
	if err != nil {
		return err
	}
	cfg := fleettest.Config(dir, db, "child")
	cfg.Packages, cfg.LeaseTTL = packages, processTTL
	m, err := vnflcm.New(ctx, cfg)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		vnfd := in.Text()
		go func() {
			if _, err := m.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: vnfd}); err != nil {
				fmt.Println("failed", strings.ReplaceAll(err.Error(), "\n", " "))
				return
			}
			fmt.Println("created")
		}()
	}
	return m.Close(ctx)
}

// newSite starts an NFVO, and returns a function that starts a child process. The processes share a folder and a Store.
func newSite(t *testing.T) (w *world, start func(name string) *fleettest.Process) {
	t.Helper()
	w = newWorld(t)
	must(t, os.WriteFile(filepath.Join(w.dir, "ca.pem"), w.Authority(), 0o600))
	return w, func(name string) *fleettest.Process {
		return fleettest.Start(t, w.dir, name, nil, "VNFKIT_NFVO="+w.URL())
	}
}

// TestProcesses: two processes that need the same package download it once.
func TestProcesses(t *testing.T) {
	t.Parallel()
	w, start := newSite(t)
	w.put(t, "p", "vnfd")
	children := []*fleettest.Process{start("first"), start("second")}
	for _, child := range children {
		child.Tell("vnfd")
	}
	for _, child := range children {
		child.Await("created")
	}
	if w.Sent() != 1 {
		t.Errorf("the content was sent %d times", w.Sent())
	}
	w.wantFiles(t, 1, 0)
}

// halfway is a fault: the NFVO sends one half of the content, and breaks the connection when proceed is closed.
func halfway(proceed chan struct{}) nfvotest.Fault {
	return func(w http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
		whole := httptest.NewRecorder()
		handler(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-proceed:
		}
		panic(http.ErrAbortHandler)
	}
}

// TestDisturbedDownload disturbs a process in the middle of a download: kill -9, and SIGSTOP for longer than the TTL. Another process continues
// the download.
func TestDisturbedDownload(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			w, start := newSite(t)
			p := w.put(t, "p", "vnfd")
			var mu sync.Mutex
			var asked []string
			record := func(rw http.ResponseWriter, r *http.Request, handler http.HandlerFunc) {
				mu.Lock()
				asked = append(asked, r.Header.Get("Range"))
				mu.Unlock()
				handler(rw, r)
			}
			// The second process asks for the package by its VNFD and by its id, and then for the content.
			proceed := make(chan struct{})
			w.Then(nil, nil, halfway(proceed), nil, nil, record)
			first := start("first")
			first.Tell("vnfd")
			await(t, "no half of the content has arrived", func() bool { return w.received(t) >= int64(len(p.Content)/2) })
			first.Signal(signal)
			second := start("second")
			second.Tell("vnfd")
			second.Await("created")
			if signal == syscall.SIGSTOP {
				first.Signal(syscall.SIGCONT)
				close(proceed)
				first.Await("created") // it finds the content of the second process
			}
			mu.Lock()
			defer mu.Unlock()
			if want := fmt.Sprintf("bytes=%d-", len(p.Content)/2); len(asked) != 1 || asked[0] != want {
				t.Errorf("the second process has asked for %q, want %q", asked, want)
			}
			w.wantFiles(t, 1, 0)
		})
	}
}

// received returns the bytes of a download that has not ended.
func (w *world) received(t *testing.T) (n int64) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(w.dir, "packages", "downloads"))
	if err != nil { // the process has not made it yet
		return 0
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}
