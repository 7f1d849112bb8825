package inprocesstest

import (
	"bytes"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
)

// buffer is safe for concurrent use.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// RunLog checks that calls to an API server whose answers cannot be read, and the life of a release if there is a cluster,
// are logged to the log of the client alone. It replaces standard output, standard error and the default loggers, so it is not for parallel tests.
func RunLog(t *testing.T, open func(cluster *rest.Config, dir string, log *slog.Logger) (helmclient.Client, error)) {
	t.Helper()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("Warning", `299 - "this API is old"`)
		_, _ = io.WriteString(w, "{") // and ends the connection
	}))
	t.Cleanup(broken.Close)
	var own buffer
	logger := slog.New(slog.NewTextHandler(&own, &slog.HandlerOptions{Level: slog.LevelDebug}))
	elsewhere := captured(t, func() {
		if os.Getenv(clusterEnv) != "" {
			c, err := open(Cluster(t), t.TempDir(), logger)
			if err != nil {
				t.Error(err)
				return
			}
			Life(t, c, "logged")
		}
		unreadable, err := open(&rest.Config{Host: broken.URL}, t.TempDir(), logger)
		if err != nil {
			t.Error(err)
			return
		}
		for call, err := range calls(t.Context(), unreadable) {
			if err == nil {
				t.Errorf("%s succeeded", call)
			}
		}
	})
	if elsewhere != "" {
		t.Errorf("written elsewhere than to the log of the client: %.2000s", elsewhere)
	}
	if want := "Unexpected error when reading response body"; !strings.Contains(own.text(), want) {
		t.Errorf("the log of the client lacks %q: %.2000s", want, own.text())
	}
}

// captured returns what is written to standard output, standard error and the default loggers while do runs.
func captured(t *testing.T, do func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var out buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, r)
	}()
	stdout, stderr, before := os.Stdout, os.Stderr, slog.Default()
	os.Stdout, os.Stderr = w, w
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	log.SetOutput(&out)
	defer func() {
		os.Stdout, os.Stderr = stdout, stderr
		slog.SetDefault(before)
		log.SetOutput(stderr)
	}()
	do()
	_ = w.Close()
	<-read
	return out.text()
}
