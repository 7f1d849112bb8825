package csar_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestSignedCSAR checks packages with a signature over the CSAR (SOL004 5.1, option 2).
func TestSignedCSAR(t *testing.T) {
	root := certify(t, "root", nil, time.Now().Add(time.Hour))
	vendor := certify(t, "vendor", root, time.Now().Add(time.Hour))
	old := certify(t, "old", root, time.Now().Add(-time.Hour))
	stranger := certify(t, "stranger", certify(t, "other root", nil, time.Now().Add(time.Hour)), time.Now().Add(time.Hour))
	listed := func(changes ...string) map[string]string {
		files := contents()
		for _, name := range changes {
			files[name] = "evil"
		}
		files["vnf.mf"] = manifestOf(files)
		return files
	}
	inner := zipWith(t, zip.Deflate, bytesOf(listed()))
	tampered := zipWith(t, zip.Deflate, bytesOf(listed("vnfd.yaml")))
	// No reader reads the bytes between members, but the signature covers them.
	comment := append(bytes.Clone(inner), 'x')
	comment[len(inner)-2] = 1

	tests := []struct {
		name            string
		files           map[string]string
		verify, require []problem.Code
	}{
		{"good", map[string]string{"p.csar": string(inner), "p.cms": vendor.sign(t, inner, true)}, nil, nil},
		{"certificate beside", map[string]string{"p.csar": string(inner), "p.cms": vendor.sign(t, inner, false), "p.cert": vendor.pem()}, nil, nil},
		{"other suffixes", map[string]string{"p.csar": string(inner), "p.p7s": vendor.sign(t, inner, false), "p.pem": vendor.pem()}, nil, nil},
		{"tampered with", map[string]string{"p.csar": string(tampered), "p.cms": vendor.sign(t, inner, true)}, only(problem.BadSignature), only(problem.BadSignature)},
		{"something added", map[string]string{"p.csar": string(comment), "p.cms": vendor.sign(t, inner, true)}, only(problem.BadSignature), only(problem.BadSignature)},
		{"expired", map[string]string{"p.csar": string(inner), "p.cms": old.sign(t, inner, true)}, only(problem.Expired), only(problem.Expired)},
		{"foreign root", map[string]string{"p.csar": string(inner), "p.cms": stranger.sign(t, inner, true)}, only(problem.Untrusted), only(problem.Untrusted)},
		{"certificate missing", map[string]string{"p.csar": string(inner), "p.cms": vendor.sign(t, inner, false)}, only(problem.NoCertificate), only(problem.NoCertificate)},
		{"one of two is wrong", map[string]string{"p.csar": string(inner), "p.cms": vendor.sign(t, inner, true), "q.cms": vendor.sign(t, tampered, true)}, only(problem.BadSignature), only(problem.BadSignature)},
		{"no signature", map[string]string{"p.csar": string(inner), "p.cms": "x", "p.cert": vendor.pem()}, only(problem.BadCMS), only(problem.BadCMS)},
		{"stripped", map[string]string{"p.csar": string(inner), "p.cert": vendor.pem()}, nil, only(problem.Unsigned)},
		{"unwrapped", listed(), nil, only(problem.Unsigned)},
	}
	for _, tt := range tests {
		for policy, want := range map[csar.Policy][]problem.Code{csar.Verify: tt.verify, csar.Require: tt.require, csar.Warn: nil, csar.Off: nil} {
			for _, method := range []uint16{zip.Store, zip.Deflate} {
				data := zipWith(t, method, bytesOf(tt.files))
				z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
				if err != nil {
					t.Fatal(err)
				}
				for form, fsys := range map[string]fs.FS{"zip": z, "directory": mapFS(tt.files)} {
					t.Run(fmt.Sprintf("%s/%s/%s %d", tt.name, policy, form, method), func(t *testing.T) {
						got := outcome(t, fsys, csar.Integrity{Policy: policy, Roots: root.pool()})
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("codes (-want +got):\n%s", diff)
						}
					})
				}
			}
		}
	}
}

func TestSignersOfCSAR(t *testing.T) {
	root := certify(t, "root", nil, time.Now().Add(time.Hour))
	vendor := certify(t, "vendor", root, time.Now().Add(time.Hour))
	inner := zipWith(t, zip.Deflate, map[string][]byte{"vnfd.yaml": []byte("x")})
	a, err := csar.OpenFS(t.Context(), mapFS(map[string]string{"p.csar": string(inner), "p.cms": vendor.sign(t, inner, true), "README": "x"}),
		csar.Options{Integrity: csar.Integrity{Roots: root.pool()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	signers := a.Signers()
	if len(signers) != 1 || !signers[0].Trusted || signers[0].File != "p.cms" || signers[0].Signed != "p.csar" {
		t.Errorf("signers: %+v", signers)
	}
	var files []string
	for _, w := range a.Warnings() {
		if w.Code == problem.Unlisted {
			files = append(files, w.File)
		}
	}
	if diff := cmp.Diff([]string{"README"}, files); diff != "" {
		t.Errorf("files beside the CSAR that are warned of (-want +got):\n%s", diff)
	}
}

func TestHostileWrapping(t *testing.T) {
	inner := zipWith(t, zip.Deflate, bytesOf(contents()))
	nested := zipWith(t, zip.Store, map[string][]byte{"p.csar": inner})
	signatures := map[string][]byte{"p.csar": inner}
	for i := range 20 {
		signatures[fmt.Sprintf("%d.cms", i)] = []byte("x")
	}
	lie := archive(t, member{name: "x"})
	tests := []struct {
		name   string
		files  map[string][]byte
		code   problem.Code
		member string
	}{
		{"nested twice", map[string][]byte{"q.csar": nested}, problem.NotPackage, "q.csar"},
		{"no zip", map[string][]byte{"q.csar": []byte("hello")}, problem.NotPackage, "q.csar"},
		{"empty", map[string][]byte{"q.csar": nil}, problem.NotPackage, "q.csar"},
		{"two packages", map[string][]byte{"p.csar": inner, "q.csar": inner}, problem.MissingEntry, ""},
		{"hostile inside", map[string][]byte{"q.csar": archive(t, member{name: "../x"})}, problem.ZipSlip, "../x"},
		{"hostile outside", map[string][]byte{"q.csar": inner, "../x": nil}, problem.ZipSlip, "../x"},
		{"large signature", map[string][]byte{"q.csar": inner, "q.cms": bytes.Repeat([]byte("x"), 1<<20)}, problem.TooLarge, "q.cms"},
		{"many signatures", signatures, problem.TooLarge, "6.cms"},
		{"bomb inside", map[string][]byte{"q.csar": archive(t, member{name: "b", method: zip.Deflate, content: "12345678", declare: 2 << 30})}, problem.TooLarge, "b"},
		{"cut off", map[string][]byte{"q.csar": lie[:len(lie)-30]}, problem.NotPackage, "q.csar"},
	}
	for _, tt := range tests {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			_, err := csar.Open(t.Context(), write(t, "x.zip", zipWith(t, method, tt.files)), csar.Options{})
			found := false
			for _, p := range problems(t, err) {
				found = found || p.Code == tt.code && p.File == tt.member
			}
			if !found {
				t.Errorf("%s: no %s at %q in: %v", tt.name, tt.code, tt.member, err)
			}
		}
	}
}

// TestMemberBehindTheEnd uses a CSAR whose directory has a member behind the end of the archive.
func TestMemberBehindTheEnd(t *testing.T) {
	vendor := certify(t, "vendor", nil, time.Now().Add(time.Hour))
	inner := zipWith(t, zip.Store, map[string][]byte{"image": []byte("image"), "vnfd.yaml": []byte("x")})
	entry := bytes.Index(inner, []byte("PK\x01\x02"))
	copy(inner[entry+42:], "\xff\xff\xff\x7f") // offset of its header
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		data := zipWith(t, method, map[string][]byte{"p.csar": inner, "p.cms": []byte(vendor.sign(t, inner, true))})
		err := open(t, write(t, "x.zip", data)).Verify(t.Context())
		if found := problems(t, err); len(found) != 1 || found[0].Code != problem.Unreadable || found[0].File != "image" {
			t.Errorf("Verify: %v", err)
		}
	}
}

// TestDeflatedCSAR reads a CSAR, compressed in its archive and larger than the cache of blocks, in every order.
func TestDeflatedCSAR(t *testing.T) {
	files := map[string]string{"vnfd.yaml": "x"}
	random := rand.NewChaCha8([32]byte{})
	for i := range 12 {
		b := make([]byte, 1<<20+i)
		if _, err := random.Read(b); err != nil {
			t.Fatal(err)
		}
		files[fmt.Sprintf("Files/%02d.bin", i)] = string(b)
	}
	inner := zipWith(t, zip.Store, bytesOf(files))
	a := open(t, write(t, "x.zip", zipWith(t, zip.Deflate, map[string][]byte{"p.csar": inner})))
	var names []string
	for name := range files {
		names = append(names, name) // in random order
	}
	for _, name := range append(names, names...) {
		got, err := fs.ReadFile(a, name)
		if err != nil || string(got) != files[name] {
			t.Fatalf("%s: %d bytes, %v; want %d", name, len(got), err, len(files[name]))
		}
	}
	// Read two streams alternately.
	one, two := mustOpen(t, a, "Files/00.bin"), mustOpen(t, a, "Files/11.bin")
	read := 0
	for {
		n, err := one.Read(make([]byte, 4096))
		m, otherErr := two.Read(make([]byte, 4096))
		if errors.Is(err, io.EOF) && errors.Is(otherErr, io.EOF) {
			break
		}
		if read += n + m; n+m == 0 {
			t.Fatal(err, otherErr)
		}
	}
	if want := len(files["Files/00.bin"]) + len(files["Files/11.bin"]); read != want {
		t.Errorf("two streams give %d bytes, want %d", read, want)
	}
	if err := a.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func mustOpen(t *testing.T, fsys fs.FS, name string) fs.File {
	t.Helper()
	f, err := fsys.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestCancelledInCSAR checks that the end of the context ends the decompression of a CSAR up to its directory.
func TestCancelledInCSAR(t *testing.T) {
	data := zipWith(t, zip.Deflate, map[string][]byte{"p.csar": zipWith(t, zip.Store, map[string][]byte{"vnfd.yaml": []byte("x"), "image": make([]byte, 8<<20)})})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	limits := csar.Limits{Ratio: 2000}
	if _, err := csar.OpenReader(ctx, &cancelling{bytes.NewReader(data), cancel}, int64(len(data)), csar.Options{Limits: limits}); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenReader: %v", err)
	}
}

// cancelling calls cancel when the beginning of an archive is read.
type cancelling struct {
	io.ReaderAt
	cancel func()
}

func (c *cancelling) ReadAt(b []byte, off int64) (int, error) {
	if off < 100 {
		c.cancel()
	}
	return c.ReaderAt.ReadAt(b, off)
}

// TestScatteredCSAR checks that the work of reading a compressed CSAR at random offsets is limited.
func TestScatteredCSAR(t *testing.T) {
	files := map[string][]byte{"vnfd.yaml": []byte("x")}
	random := rand.NewChaCha8([32]byte{})
	for i := range 6 {
		b := make([]byte, 1<<20)
		_, _ = random.Read(b)
		files[fmt.Sprintf("f%d", i)] = b
	}
	a := open(t, write(t, "x.zip", zipWith(t, zip.Deflate, map[string][]byte{"p.csar": zipWith(t, zip.Store, files)})))
	for range 100 {
		for _, name := range []string{"f5", "f4", "f3", "f2", "f1", "f0"} {
			_, err := fs.ReadFile(a, name)
			if err == nil {
				continue
			}
			if !strings.Contains(err.Error(), "store the package") {
				t.Errorf("Read: %v", err)
			}
			return
		}
	}
	t.Error("there is no bound")
}
