package sshexec_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
)

// benchBytes is the size of the large file: SSHEXEC_BENCH_MIB, by default 1024.
func benchBytes(b *testing.B) int64 {
	b.Helper()
	mib, err := strconv.ParseInt(os.Getenv("SSHEXEC_BENCH_MIB"), 10, 32)
	if err != nil {
		mib = 1024
	}
	return mib << 20
}

// randomFile makes a file that cannot be compressed nor guessed.
func randomFile(b testing.TB, name string, size int64) {
	b.Helper()
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	var seed [32]byte
	if _, err := io.CopyN(f, rand.NewChaCha8(seed), size); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// heapPeak watches the memory of this process until it is asked for the peak, in MiB.
func heapPeak() (peak func() float64) {
	var most atomic.Uint64
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
		for {
			metrics.Read(sample)
			most.Store(max(most.Load(), sample[0].Value.Uint64()+sample[1].Value.Uint64()))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(stop)
		<-ended
		return float64(most.Load()) / (1 << 20)
	}
}

// BenchmarkLargeFile carries a file to an sshd of this machine and back, beside scp and cat. All is in one run, so
// that the ratios mean something.
func BenchmarkLargeFile(b *testing.B) {
	server := startSSHD(b)
	host := server.host(b)
	size := benchBytes(b)
	from, to := filepath.Join(b.TempDir(), "from"), filepath.Join(b.TempDir(), "to")
	randomFile(b, from, size)
	name := server.target.User + "@127.0.0.1:" + to
	took := map[string]time.Duration{}
	step := func(what string, fn func()) {
		_ = os.Remove(to)
		start := time.Now()
		fn()
		took[what] += time.Since(start)
	}
	file := sshexec.File{Path: to}
	b.SetBytes(size)
	for b.Loop() {
		open := func(fn func(*os.File) error) {
			f, err := os.Open(from)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			if err := fn(f); err != nil {
				b.Fatal(err)
			}
		}
		step("scp", func() { server.scp(b, from, name) })
		step("scp+sha256sum", func() {
			server.scp(b, from, name)
			if _, err := host.Output(b.Context(), sshexec.Command{Argv: []string{"sha256sum", to}}); err != nil {
				b.Fatal(err)
			}
		})
		step("cat", func() {
			open(func(f *os.File) error {
				return host.Exec(b.Context(), sshexec.Command{Argv: []string{"/bin/sh", "-c", `cat >"$1"`, "sh", to}, Stdin: f})
			})
		})
		peak := heapPeak()
		step("upload", func() {
			open(func(f *os.File) error { return host.Upload(b.Context(), f, file) })
		})
		b.ReportMetric(peak(), "upload-heap-MiB")
		start := time.Now()
		open(func(f *os.File) error { return host.Upload(b.Context(), f, file) })
		took["again"] += time.Since(start)
		peak = heapPeak()
		start = time.Now()
		if err := host.Download(b.Context(), io.Discard, file); err != nil {
			b.Fatal(err)
		}
		took["download"] += time.Since(start)
		b.ReportMetric(peak(), "download-heap-MiB")
		start = time.Now()
		server.scp(b, name, filepath.Join(b.TempDir(), "back"))
		took["scp-back"] += time.Since(start)
	}
	for what, d := range took {
		b.ReportMetric(d.Seconds()/float64(b.N), what+"-s")
	}
	b.ReportMetric(took["scp"].Seconds()/took["upload"].Seconds(), "scp/upload")
	b.ReportMetric(took["scp+sha256sum"].Seconds()/took["upload"].Seconds(), "scp+sha256sum/upload")
	b.ReportMetric(took["cat"].Seconds()/took["upload"].Seconds(), "cat/upload")
	b.ReportMetric(took["scp-back"].Seconds()/took["download"].Seconds(), "scp/download")
}

var _ = context.Background
var _ = fmt.Sprint
