package sshexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/sshexec"
)

var noises sync.Map

// noise returns n random bytes. Calls with the same n return the same bytes.
func noise(n int) []byte {
	if data, ok := noises.Load(n); ok {
		return data.([]byte)
	}
	data := make([]byte, n)
	var seed [32]byte
	seed[0], seed[1] = byte(n), byte(n>>8)
	_, _ = rand.NewChaCha8(seed).Read(data)
	noises.Store(n, data)
	return data
}

// onceOnly returns a reader without Seek, so the content can be read only once.
func onceOnly(data []byte) io.Reader { return io.MultiReader(bytes.NewReader(data)) }

// wires opens connections with faults.
type wires struct {
	sent  atomic.Int64 // bytes sent to the host over all connections
	dials atomic.Int64
	// cutSent and cutReceived return the number of bytes after which the n-th connection (from 1) breaks, in each direction. 0
	// means no limit.
	cutSent, cutReceived func(n int64) int64
	stall                atomic.Bool // if set, no data is transferred
	refuse               atomic.Bool
}

func (w *wires) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if w.refuse.Load() {
		return nil, syscall.ECONNREFUSED
	}
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n := w.dials.Add(1)
	bad := &badWire{Conn: c, w: w, closed: make(chan struct{})}
	if w.cutSent != nil {
		bad.out.Store(w.cutSent(n))
	}
	if w.cutReceived != nil {
		bad.in.Store(w.cutReceived(n))
	}
	return bad, nil
}

type badWire struct {
	net.Conn
	w       *wires
	in, out atomic.Int64
	once    sync.Once
	closed  chan struct{}
}

func (b *badWire) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Conn.Close()
}

func (b *badWire) limit(left *atomic.Int64, n int) error {
	if b.w.stall.Load() {
		<-b.closed
		return net.ErrClosed
	}
	if before := left.Load(); before > 0 && left.Add(-int64(n)) <= 0 {
		_ = b.Close()
		return syscall.ECONNRESET
	}
	return nil
}

func (b *badWire) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if bad := b.limit(&b.in, n); bad != nil {
		return 0, bad
	}
	return n, err
}

func (b *badWire) Write(p []byte) (int, error) {
	if err := b.limit(&b.out, len(p)); err != nil {
		return 0, err
	}
	b.w.sent.Add(int64(len(p)))
	return b.Conn.Write(p)
}

func (s *sshd) over(t testing.TB, w *wires) *sshexec.Host {
	t.Helper()
	pool := sshexec.NewPool(sshexec.Options{Dial: w.dial})
	t.Cleanup(func() { _ = pool.Close() })
	return pool.Host(s.target)
}

// socket creates a socket at a path.
func socket(t *testing.T, name string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
}

// remains returns the entries of a directory that are not in names.
func remains(t *testing.T, dir string, names ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		known := false
		for _, n := range names {
			known = known || n == e.Name()
		}
		if !known {
			found = append(found, e.Name())
		}
	}
	return found
}

func TestTransfersToOpenSSH(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{"subsystem": nil, "command": {"Subsystem sftp /bin/false"}} {
		t.Run(name, func(t *testing.T) {
			server := startSSHD(t, lines...)
			host := server.host(t)
			for _, size := range []int{0, 64 << 10, 64<<10 + 1, 17<<20 + 7} {
				for _, seekable := range []bool{false, true} {
					t.Run(fmt.Sprintf("%d/seekable=%t", size, seekable), func(t *testing.T) {
						if size > 1<<20 && seekable != (name == "subsystem") {
							fulltest.SkipVariant(t)
						}
						dir := t.TempDir()
						content := noise(size)
						var from io.Reader = bytes.NewReader(content)
						if !seekable {
							from = onceOnly(content)
						}
						var last sshexec.Progress
						f := sshexec.File{
							Path: filepath.Join(dir, "a 'name'\n-"), Mode: 0o640, SHA256: digest(string(content)),
							Progress: func(p sshexec.Progress) { last = p },
						}
						if err := host.Upload(withinMinutes(t), from, f); err != nil {
							t.Fatal(err)
						}
						want := sshexec.Progress{Host: "sshd", Path: f.Path, Done: int64(size), Total: int64(size)}
						if diff := cmp.Diff(want, last); diff != "" {
							t.Error(diff)
						}
						got, err := os.ReadFile(f.Path)
						if err != nil || !bytes.Equal(got, content) {
							t.Fatalf("content differs: %d bytes, %v", len(got), err)
						}
						if info, err := os.Stat(f.Path); err != nil || info.Mode() != 0o640 {
							t.Errorf("mode %v, %v", info.Mode(), err)
						}
						if left := remains(t, dir, filepath.Base(f.Path)); left != nil {
							t.Errorf("files left on the host: %q", left)
						}
						var back bytes.Buffer
						if err := host.Download(withinMinutes(t), &back, f); err != nil {
							t.Fatal(err)
						}
						if !bytes.Equal(back.Bytes(), content) {
							t.Errorf("received %d bytes, which differ from the sent bytes", back.Len())
						}
						if diff := cmp.Diff(want, last); diff != "" {
							t.Error(diff)
						}
					})
				}
			}
		})
	}
}

func TestUploadGoesOnAfterACut(t *testing.T) {
	t.Parallel()
	const size = 36 << 20
	server := startSSHD(t)
	for _, tt := range []struct {
		name     string
		size     int
		from     func([]byte) io.Reader
		cut      func(n int64) int64
		want     error
		mostSent int64
	}{
		{"seekable", size, func(c []byte) io.Reader { return bytes.NewReader(c) }, func(n int64) int64 {
			if n <= 2 {
				return 21 << 20
			}
			return 0
		}, nil, size + 12<<20},
		{"not seekable", size, onceOnly, func(n int64) int64 {
			if n == 1 {
				return 21 << 20
			}
			return 0
		}, sshexec.ErrDisconnected, 22 << 20},
		{"small, not seekable", 60 << 10, onceOnly, func(n int64) int64 {
			if n == 1 {
				return 30 << 10
			}
			return 0
		}, nil, 100 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &wires{cutSent: tt.cut}
			host := server.over(t, w)
			dir := t.TempDir()
			content := noise(size)[:tt.size]
			f := sshexec.File{Path: filepath.Join(dir, "f"), SHA256: digest(string(content))}
			err := host.Upload(withinMinutes(t), tt.from(content), f)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if w.sent.Load() > tt.mostSent {
				t.Errorf("sent %d bytes, more than %d", w.sent.Load(), tt.mostSent)
			}
			if tt.want == nil {
				got, err := os.ReadFile(f.Path)
				if err != nil || !bytes.Equal(got, content) {
					t.Fatalf("content differs: %d bytes, %v", len(got), err)
				}
			}
			if left := remains(t, dir, "f"); left != nil {
				t.Errorf("files left on the host: %q", left)
			}
		})
	}
}

// TestUploadGoesOnLater checks that an upload resumes an earlier upload whose process died.
func TestUploadGoesOnLater(t *testing.T) {
	t.Parallel()
	content := noise(36 << 20)
	server := startSSHD(t)
	dir := t.TempDir()
	f := sshexec.File{Path: filepath.Join(dir, "f")}
	w := &wires{cutSent: func(int64) int64 { return 22 << 20 }}
	dying, die := context.WithCancel(t.Context())
	defer die()
	died := make(chan error, 1)
	go func() {
		reader := readerFunc(nil)
		rest := bytes.NewReader(content)
		reader = func(p []byte) (int, error) {
			if rest.Len() < 18<<20 {
				w.refuse.Store(true)
			}
			return rest.Read(p)
		}
		died <- server.over(t, w).Upload(dying, reader, f)
	}()
	if err := <-died; !errors.Is(err, sshexec.ErrDisconnected) {
		t.Fatal(err)
	}
	left := remains(t, dir)
	if len(left) != 1 {
		t.Fatalf("files left on the host: %q", left)
	}
	partial := filepath.Join(dir, left[0])
	info, err := os.Stat(partial)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	untilClosed(t, partial) // sshd and its SFTP server still write data that they have received
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(partial, past, past); err != nil {
		t.Fatal(err)
	}
	counted := &wires{}
	if err := server.over(t, counted).Upload(withinMinutes(t), bytes.NewReader(content), f); err != nil {
		t.Fatal(err)
	}
	if sent := counted.sent.Load(); sent > 22<<20 {
		t.Errorf("sent %d bytes: nothing was resumed", sent)
	}
	if got, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(got, content) {
		t.Errorf("content differs: %d bytes, %v", len(got), err)
	}
	if left := remains(t, dir, "f"); left != nil {
		t.Errorf("files left on the host: %q", left)
	}
}

// untilClosed waits until no process has a file open.
func untilClosed(t *testing.T, name string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		open := false
		links, err := filepath.Glob("/proc/[0-9]*/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			to, _ := os.Readlink(l)
			open = open || to == name
		}
		if !open {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still open", name)
		}
	}
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	host := server.host(t)
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	make1 := func(name string, age time.Duration) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, noise(100<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(at, then, then); err != nil {
			t.Fatal(err)
		}
		return at
	}
	make1(".f.sshexec-OLD", time.Hour)
	make1(".f.sshexec-NEW", 0)
	make1(".g.sshexec-OTHER", time.Hour)
	held, err := os.Open(make1(".f.sshexec-HELD", time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := os.Symlink(outside, filepath.Join(dir, ".f.sshexec-LINK")); err != nil {
		t.Fatal(err)
	}
	content := noise(200 << 10)
	if err := host.Upload(withinMinutes(t), bytes.NewReader(content), sshexec.File{Path: filepath.Join(dir, "f")}); err != nil {
		t.Fatal(err)
	}
	want := []string{".f.sshexec-HELD", ".f.sshexec-LINK", ".f.sshexec-NEW", ".g.sshexec-OTHER"}
	if diff := cmp.Diff(want, remains(t, dir, "f")); diff != "" {
		t.Error(diff)
	}
	// A reused partial file does not stay either if the upload has nothing or little to send.
	for _, data := range [][]byte{content, noise(9)} {
		make1(".f.sshexec-OLD", time.Hour)
		if err := host.Upload(withinMinutes(t), bytes.NewReader(data), sshexec.File{Path: filepath.Join(dir, "f")}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, remains(t, dir, "f")); diff != "" {
			t.Error(diff)
		}
	}
	content = noise(9)
	if got, err := os.ReadFile(outside); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("content differs: %d bytes, %v", len(got), err)
	}
}

// TestLeftoversWhereOthersMayWrite checks that Upload does not reuse a partial file that another user could have replaced.
func TestLeftoversWhereOthersMayWrite(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	content := noise(6 << 20)
	for mode, resumed := range map[fs.FileMode]bool{0o755: true, 0o777 | fs.ModeSticky: true, 0o777: false, 0o775: false} {
		t.Run(mode.String(), func(t *testing.T) {
			dir := t.TempDir()
			partial := filepath.Join(dir, ".f.sshexec-DEAD")
			then := time.Now().Add(-time.Hour)
			if err := errors.Join(os.Chmod(dir, mode), os.WriteFile(partial, content[:5<<20], 0o600), os.Chtimes(partial, then, then)); err != nil {
				t.Fatal(err)
			}
			w := &wires{}
			if err := server.over(t, w).Upload(withinMinutes(t), bytes.NewReader(content), sshexec.File{Path: filepath.Join(dir, "f")}); err != nil {
				t.Fatal(err)
			}
			if sent := w.sent.Load(); (sent < 2<<20) != resumed {
				t.Errorf("sent %d bytes, resumed: %t", sent, resumed)
			}
			if left := remains(t, dir, "f"); left != nil {
				t.Errorf("files left on the host: %q", left)
			}
		})
	}
}

// FuzzUploadPath checks that the name of a file reaches the host byte for byte.
func FuzzUploadPath(f *testing.F) {
	for _, name := range oddNames {
		f.Add(name)
	}
	f.Add("\xff\n\xfe")
	pool := sshexec.NewPool(sshexec.Options{})
	f.Cleanup(func() { _ = pool.Close() })
	host := pool.Local(sshexec.Sudo{}) // the test needs only the real shell and programs
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || name == "." || name == ".." || len(name) > 200 || strings.ContainsAny(name, "\x00/") {
			return // not a file name
		}
		dir := t.TempDir()
		file := sshexec.File{Path: dir + "/" + name}
		if err := host.Upload(withinMinutes(t), strings.NewReader(name), file); err != nil {
			t.Fatal(err)
		}
		if left := remains(t, dir, name); left != nil {
			t.Errorf("files left on the host: %q", left)
		}
		var got bytes.Buffer
		if err := host.Download(withinMinutes(t), &got, file); err != nil || got.String() != name {
			t.Errorf("received %q: %v", got.String(), err)
		}
	})
}

func TestUploadsOfOnePathAtOnce(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	host := server.host(t)
	dir := t.TempDir()
	contents := [][]byte{noise(3 << 20), noise(3<<20 + 1), noise(100), noise(90 << 10)}
	var running sync.WaitGroup
	for _, c := range contents {
		for range 3 {
			running.Go(func() {
				if err := host.Upload(withinMinutes(t), bytes.NewReader(c), sshexec.File{Path: filepath.Join(dir, "f")}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	running.Wait()
	got, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	whole := false
	for _, c := range contents {
		whole = whole || bytes.Equal(got, c)
	}
	if left := remains(t, dir, "f"); !whole || left != nil {
		t.Errorf("complete: %t, files left on the host: %q", whole, left)
	}
}

// TestStalledTransfer checks that the end of ctx ends a transfer to a host that stops answering during the transfer.
func TestStalledTransfer(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, noise(20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, transfer := range map[string]func(context.Context, *sshexec.Host, *wires) error{
		"upload": func(ctx context.Context, h *sshexec.Host, w *wires) error {
			sent := 0
			return h.Upload(ctx, readerFunc(func(p []byte) (int, error) {
				if sent += len(p); sent > 8<<20 {
					w.stall.Store(true)
				}
				return len(p), nil
			}), sshexec.File{Path: file + "2"})
		},
		"download": func(ctx context.Context, h *sshexec.Host, w *wires) error {
			return h.Download(ctx, writerFunc(func(p []byte) (int, error) {
				w.stall.Store(true)
				return len(p), nil
			}), sshexec.File{Path: file})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wires{}
			// The keep-alive interval is longer than the test, because a missing answer would end the transfer too.
			pool := newPool(t, sshexec.Options{Dial: w.dial, KeepAlive: time.Hour})
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			result := make(chan error, 1)
			go func() { result <- transfer(ctx, pool.Host(server.target), w) }()
			select {
			case err := <-result:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("the transfer does not end with its context")
			}
		})
	}
}

func TestDownloadGoesOnAfterACut(t *testing.T) {
	t.Parallel()
	content := noise(12 << 20)
	server := startSSHD(t)
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &wires{cutReceived: func(n int64) int64 {
		if n < 3 {
			return 5 << 20
		}
		return 0
	}}
	var got bytes.Buffer
	if err := server.over(t, w).Download(withinMinutes(t), &got, sshexec.File{Path: file}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), content) || w.dials.Load() != 3 {
		t.Errorf("received %d bytes over %d connections", got.Len(), w.dials.Load())
	}
}

func TestDownloadFailures(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	host := server.host(t)
	dir := t.TempDir()
	for name, size := range map[string]int{"small": 10, "large": 1 << 20} {
		if err := os.WriteFile(filepath.Join(dir, name), noise(size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket(t, filepath.Join(dir, "socket"))
	full := errors.New("full")
	for _, tt := range []struct {
		name string
		file sshexec.File
		to   io.Writer
		want error
	}{
		{"none", sshexec.File{Path: filepath.Join(dir, "none")}, io.Discard, fs.ErrNotExist},
		{"directory", sshexec.File{Path: dir}, io.Discard, sshexec.ErrIrregular},
		{"socket", sshexec.File{Path: filepath.Join(dir, "socket")}, io.Discard, sshexec.ErrIrregular},
		{"other digest, small", sshexec.File{Path: filepath.Join(dir, "small"), SHA256: digest("x")}, io.Discard, sshexec.ErrDigest},
		{"other digest, large", sshexec.File{Path: filepath.Join(dir, "large"), SHA256: digest("x")}, io.Discard, sshexec.ErrDigest},
		{"writer fails, small", sshexec.File{Path: filepath.Join(dir, "small")}, writerFunc(func([]byte) (int, error) { return 0, full }), full},
		{"writer fails, large", sshexec.File{Path: filepath.Join(dir, "large")}, writerFunc(func([]byte) (int, error) { return 0, full }), full},
		{"relative", sshexec.File{Path: "f"}, io.Discard, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := host.Download(withinMinutes(t), tt.to, tt.file)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || errors.Is(err, sshexec.ErrDisconnected) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if !strings.HasPrefix(fmt.Sprint(err), "sshd: ") {
				t.Errorf("the host is not named: %v", err)
			}
		})
	}
}

// TestResumeOfDamagedContent checks that Upload reuses only the part of a partial file that equals the beginning of the content.
func TestResumeOfDamagedContent(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	content := noise(6 << 20)
	dir := t.TempDir()
	damaged := bytes.Clone(content[:5<<20])
	damaged[5<<19] ^= 1 // in the third MiB
	partial := filepath.Join(dir, ".f.sshexec-DEAD")
	then := time.Now().Add(-time.Hour)
	if err := errors.Join(os.WriteFile(partial, damaged, 0o600), os.Chtimes(partial, then, then)); err != nil {
		t.Fatal(err)
	}
	w := &wires{}
	if err := server.over(t, w).Upload(withinMinutes(t), bytes.NewReader(content), sshexec.File{Path: filepath.Join(dir, "f")}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("content differs: %d bytes, %v", len(got), err)
	}
	if sent := w.sent.Load(); sent < 4<<20 || sent > 5<<20 {
		t.Errorf("sent %d bytes", sent)
	}
}
