package sshexec_test

import (
	"errors"
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

// randomFile creates a file with random content.
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

// heapPeak measures the heap of this process until peak is called, which returns the maximum in MiB.
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

// race measures several programs for the same task, one after the other. It stores the best time of each program, because other
// processes on the machine can only add time.
type race struct {
	b    *testing.B
	best map[string]time.Duration
}

func (r *race) run(name string, fn func() error) {
	start := time.Now()
	if err := fn(); err != nil {
		r.b.Fatal(name, ": ", err)
	}
	took := time.Since(start)
	if best, ok := r.best[name]; !ok || took < best {
		r.best[name] = took
	}
}

// report reports the seconds of each program, and the ratios of the peers' times to ours.
func (r *race) report(ours string, others ...string) {
	r.b.ReportMetric(r.best[ours].Seconds(), ours+"-s")
	for _, o := range others {
		r.b.ReportMetric(r.best[o].Seconds(), o+"-s")
		r.b.ReportMetric(r.best[o].Seconds()/r.best[ours].Seconds(), o+"/"+ours)
	}
}

// BenchmarkLargeFile transfers a file to an sshd of this machine and back, and compares the time with scp, cat and sha256sum. All
// programs run in the same benchmark, so that the ratios are comparable. SSHEXEC_BENCH_MIB is the size.
func BenchmarkLargeFile(b *testing.B) {
	server := startSSHD(b)
	host := server.host(b)
	size := benchBytes(b)
	from, to, back := filepath.Join(b.TempDir(), "from"), filepath.Join(b.TempDir(), "to"), filepath.Join(b.TempDir(), "back")
	randomFile(b, from, size)
	file := sshexec.File{Path: to}
	remote := server.target.User + "@127.0.0.1:" + to
	content := func(fn func(io.ReadSeeker) error) func() error {
		return func() error {
			f, err := os.Open(from)
			if err != nil {
				return err
			}
			defer f.Close()
			return fn(f)
		}
	}
	upload := content(func(r io.ReadSeeker) error { return host.Upload(b.Context(), r, file) })
	r := race{b, map[string]time.Duration{}}
	var upHeap, downHeap float64
	b.SetBytes(size)
	for b.Loop() {
		r.run("scp", func() error { server.scp(b, from, remote); return nil })
		r.run("scp+sha256sum", func() error {
			server.scp(b, from, remote)
			_, err := host.Output(b.Context(), sshexec.Command{Argv: []string{"sha256sum", to}})
			return err
		})
		r.run("cat", content(func(r io.ReadSeeker) error {
			return host.Exec(b.Context(), sshexec.Command{Argv: []string{"/bin/sh", "-c", `cat >"$1"`, "sh", to}, Stdin: r})
		}))
		_ = os.Remove(to)
		r.run("send", content(func(r io.ReadSeeker) error { return sshexec.SendOnly(b.Context(), host, r, to) }))
		_ = os.Remove(to)
		peak := heapPeak()
		r.run("upload", upload)
		upHeap = max(upHeap, peak())
		r.run("again", upload)
		peak = heapPeak()
		r.run("download", func() error {
			f, err := os.Create(back)
			if err != nil {
				return err
			}
			defer f.Close()
			return host.Download(b.Context(), f, file)
		})
		downHeap = max(downHeap, peak())
		r.run("scp-back", func() error { server.scp(b, remote, back); return nil })
	}
	r.report("send", "scp", "cat")
	r.report("upload", "scp", "scp+sha256sum", "cat")
	r.report("download", "scp-back")
	r.report("again")
	b.ReportMetric(upHeap, "upload-heap-MiB")
	b.ReportMetric(downHeap, "download-heap-MiB")
}

// BenchmarkSmallFiles transfers a tree of files of 1 KiB and compares the time with scp -r. SSHEXEC_BENCH_FILES is the number of files.
func BenchmarkSmallFiles(b *testing.B) {
	server := startSSHD(b)
	host := server.host(b)
	n, err := strconv.Atoi(os.Getenv("SSHEXEC_BENCH_FILES"))
	if err != nil {
		n = 10000
	}
	from, to := b.TempDir(), b.TempDir()
	for i := range n {
		dir := filepath.Join(from, strconv.Itoa(i%100))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), noise(1000+i%100), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	r := race{b, map[string]time.Duration{}}
	for b.Loop() {
		ours := filepath.Join(to, "ours")
		if err := errors.Join(os.RemoveAll(ours), os.RemoveAll(filepath.Join(to, "scp")), os.RemoveAll(filepath.Join(to, "back"))); err != nil {
			b.Fatal(err)
		}
		r.run("scp-r", func() error {
			server.scp(b, "-r", from, server.target.User+"@127.0.0.1:"+filepath.Join(to, "scp"))
			return nil
		})
		upload := func() error { return host.UploadTree(b.Context(), os.DirFS(from), sshexec.Tree{Path: ours}) }
		r.run("tree", upload)
		r.run("again", upload)
		r.run("download", func() error {
			return host.DownloadTree(b.Context(), filepath.Join(to, "back"), sshexec.Tree{Path: ours})
		})
	}
	r.report("tree", "scp-r")
	r.report("again")
	r.report("download")
}
