package e2e_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// BenchmarkRegistryImage brings an image of 1 GiB out of a package, which is a ZIP file, into the Docker of a machine.
// Beside it stands what one does by hand: scp, then "docker load". The machine has this machine's processors, and both
// ends of the network are on them. peak-MB is what our heap grows by meanwhile.
func BenchmarkRegistryImage(b *testing.B) {
	parts := needParts(b, "registry")
	archive := filepath.Join(b.TempDir(), "large.tar")
	largeImage(b, parts.Image("registry"), archive, 1<<30)
	key := keygen(b, b.TempDir(), "by-hand", "", "-t", "ed25519")
	for b.Loop() {
		y := newRegistryYard(b, func(y *yard, spec *vmhost.Spec) {
			spec.AuthorizedKeys = []string{string(read(b, key+".pub"))}
		})
		small := y.others[registryVNFD]
		csar := filepath.Join(b.TempDir(), "large.csar")
		packed(b, small, archive, csar)

		byHand, request := y.registry()
		y.must(y.Instantiate(b.Context(), byHand, request)) // there is Docker then
		machine := y.machine(byHand)
		address := y.machines.Host(machine.ComputeResource.ResourceID).Address.String()
		begin := time.Now()
		copying := exec.CommandContext(within(b, 3*time.Minute), "scp", "-q", "-i", key, "-o", "StrictHostKeyChecking=no", //nolint:gosec // our own arguments
			"-o", "UserKnownHostsFile=/dev/null", archive, user+"@"+address+":large.tar")
		if out, err := copying.CombinedOutput(); err != nil {
			b.Fatal(err, string(out))
		}
		copied := time.Since(begin)
		if _, err := y.on(machine, "docker", "load", "--quiet", "--input", "/home/"+user+"/large.tar"); err != nil {
			b.Fatal(err)
		}
		scp := time.Since(begin)

		y.others[registryVNFD] = csar
		id, request := y.registry()
		peak := watchHeap()
		y.must(y.Instantiate(b.Context(), id, request))
		grown := peak()
		ours := y.took(id, "image")

		b.ReportMetric(ours.Seconds(), "image-s")
		b.ReportMetric(scp.Seconds(), "scp+load-s")
		b.ReportMetric(copied.Seconds(), "scp-s")
		b.ReportMetric(ours.Seconds()/scp.Seconds(), "image/scp+load")
		b.ReportMetric(float64(grown)/1e6, "peak-MB")
	}
}

// took is how long a step of a registry has taken.
func (y *yard) took(id, step string) time.Duration {
	y.t.Helper()
	on := y.machine(id).ID
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, e := range y.events {
		if e.Kind == vnflcm.StepDone && e.Name == step && e.On == on {
			return e.Duration
		}
	}
	y.t.Fatalf("no step %s", step)
	return 0
}

// watchHeap looks at the heap again and again. The function that it returns ends that, and returns by how many bytes
// it has grown at most.
func watchHeap() (end func() uint64) {
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	runtime.GC()
	before := inUse()
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		peak := before
		for {
			peak = max(peak, inUse())
			select {
			case <-stop:
				most <- peak - before
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-most }
}

// largeImage writes an image that is another one with a layer more, of random bytes.
func largeImage(b *testing.B, from, to string, size int64) {
	b.Helper()
	files := untar(b, from)
	var list []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	must(b, json.Unmarshal(files["manifest.json"], &list))
	var config map[string]any
	must(b, json.Unmarshal(files[list[0].Config], &config))

	out, err := os.Create(to) //nolint:gosec // of the test
	must(b, err)
	w := tar.NewWriter(out)
	add := func(name string, size int64, content io.Reader) {
		must(b, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size}))
		_, err := io.CopyN(w, content, size)
		must(b, err)
	}
	digest := sha256.New()
	pipe, layer := io.Pipe()
	go func() { // a tar file with one file
		inner := tar.NewWriter(layer)
		err := inner.WriteHeader(&tar.Header{Name: "random", Mode: 0o644, Size: size})
		if err == nil {
			_, err = io.CopyN(inner, rand.NewChaCha8([32]byte{}), size)
		}
		_ = layer.CloseWithError(errors.Join(err, inner.Close()))
	}()
	add("large.tar", size+3*512, io.TeeReader(pipe, digest))

	rootfs, _ := config["rootfs"].(map[string]any)
	layers, _ := rootfs["diff_ids"].([]any)
	rootfs["diff_ids"] = append(layers, fmt.Sprintf("sha256:%x", digest.Sum(nil)))
	list[0].Layers = append(list[0].Layers, "large.tar")
	files[list[0].Config], err = json.Marshal(config)
	must(b, err)
	files["manifest.json"], err = json.Marshal(list)
	must(b, err)
	for name, content := range files {
		add(name, int64(len(content)), bytes.NewReader(content))
	}
	must(b, errors.Join(w.Close(), out.Close()))
}

// packed writes a CSAR of a package with another image.
func packed(b *testing.B, dir, image, to string) {
	b.Helper()
	out, err := os.Create(to) //nolint:gosec // of the test
	must(b, err)
	w := zip.NewWriter(out)
	add := func(name, file string) error {
		in, err := os.Open(file) //nolint:gosec // of the test
		if err != nil {
			return err
		}
		defer in.Close()
		entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = io.Copy(entry, in)
		}
		return err
	}
	must(b, filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		name, relative := filepath.Rel(dir, file)
		if err != nil || relative != nil || d.IsDir() {
			return errors.Join(err, relative)
		}
		if name == registryImage {
			file = image
		}
		return add(name, file)
	}))
	must(b, errors.Join(w.Close(), out.Close()))
}
