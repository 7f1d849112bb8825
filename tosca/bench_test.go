package tosca_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
)

// BenchmarkOpen opens and validates the sample cluster: its three files and the types of SOL001.
func BenchmarkOpen(b *testing.B) {
	data := zipOf(b, sample)
	for b.Loop() {
		p, err := tosca.OpenReader(context.Background(), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			b.Fatal(err)
		}
		_ = p.Close()
	}
}

// BenchmarkGrowth measures the cost per VDU for VNFDs with 10, 100 and 1000 VDUs. The cost per VDU does not grow.
func BenchmarkGrowth(b *testing.B) {
	for _, vdus := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(vdus), func(b *testing.B) {
			files := fstest.MapFS{"vnfd.yaml": file(withVDUs(vdus))}
			for b.Loop() {
				p, err := tosca.OpenFS(context.Background(), files)
				if err != nil {
					b.Fatal(err)
				}
				_ = p.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(vdus), "µs/VDU")
		})
	}
}

// withVDUs returns a VNFD with n VDUs, each with a connection point and a scaling aspect.
func withVDUs(n int) string {
	var nodes, aspects, policies strings.Builder
	for i := range n {
		fmt.Fprintf(&nodes, `
    vdu%[1]d:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: vdu%[1]d, description: one of many, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 5}}
      capabilities: {virtual_compute: {properties: {virtual_memory: {virtual_mem_size: 1 GB}, virtual_cpu: {num_virtual_cpu: 2}}}}
    cp%[1]d:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4], order: 0}
      requirements: [{virtual_binding: vdu%[1]d}]`, i)
		fmt.Fprintf(&aspects, "          aspect%d: {name: a, description: d, max_scale_level: 4, step_deltas: [one]}\n", i)
		fmt.Fprintf(&policies, `
    - deltas%[1]d: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [vdu%[1]d], properties: {aspect: aspect%[1]d, deltas: {one: {number_of_instances: 1}}}}
    - initial%[1]d: {type: tosca.policies.nfv.VduInitialDelta, targets: [vdu%[1]d], properties: {initial_delta: {number_of_instances: 1}}}`, i)
	}
	return `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [etsi_nfv_sol001_vnfd_types.yaml]
topology_template:
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties: {descriptor_id: b1, descriptor_version: '1', provider: p, product_name: n, software_version: '1', vnfm_info: ['1:x'], flavour_id: simple, flavour_description: d}` +
		nodes.String() + `
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties:
         aspects:
` + aspects.String() + policies.String()
}

// holed is a CSAR whose image consists of zeros and is not in memory. It counts the bytes of the image that are read.
type holed struct {
	head, tail []byte
	image      int64
	open       bool // bytes written now belong to the image
	read       atomic.Int64
}

func (h *holed) Write(b []byte) (int, error) {
	switch {
	case h.open:
		h.image += int64(len(b))
	case h.image == 0:
		h.head = append(h.head, b...)
	default:
		h.tail = append(h.tail, b...)
	}
	return len(b), nil
}

func (h *holed) size() int64 { return int64(len(h.head)) + h.image + int64(len(h.tail)) }

func (h *holed) ReadAt(to []byte, at int64) (n int, err error) {
	first, behind := int64(len(h.head)), int64(len(h.head))+h.image
	for n < len(to) && at < h.size() {
		var c int
		switch {
		case at < first:
			c = copy(to[n:], h.head[at:])
		case at < behind:
			c = int(min(int64(len(to)-n), behind-at))
			clear(to[n : n+c])
			h.read.Add(int64(c))
		default:
			c = copy(to[n:], h.tail[at-behind:])
		}
		n, at = n+c, at+int64(c)
	}
	if n < len(to) {
		err = io.EOF
	}
	return n, err
}

// withImage creates a package with an image of this size and its digest.
func withImage(tb testing.TB, size int64) *holed {
	tb.Helper()
	check := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	zeros := bytes.Repeat([]byte{0}, 1<<20)
	image := func(to io.Writer) {
		for left := size; left > 0; left -= int64(len(zeros)) {
			_, err := to.Write(zeros[:min(left, int64(len(zeros)))])
			check(err)
		}
	}
	sum := sha256.New()
	image(sum)
	h := &holed{}
	w := zip.NewWriter(h)
	for _, m := range []struct{ name, content string }{
		{"TOSCA-Metadata/TOSCA.meta", fmt.Sprintf("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: t\nEntry-Definitions: vnfd.yaml\n\n"+
			"Name: image.raw\nAlgorithm: SHA-256\nHash: %x\n", sum.Sum(nil))},
		{"vnfd.yaml", withVDUs(1)},
	} {
		f, err := w.Create(m.name)
		check(err)
		_, err = io.WriteString(f, m.content)
		check(err)
	}
	f, err := w.CreateHeader(&zip.FileHeader{Name: "image.raw", Method: zip.Store})
	check(err)
	check(w.Flush())
	h.open = true
	image(f)
	check(w.Flush())
	h.open = false
	check(w.Close())
	return h
}

// BenchmarkImage opens a package with an image and verifies its digest. The memory does not depend on the size, and the image is read
// once.
func BenchmarkImage(b *testing.B) {
	for _, size := range []int64{1 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("%dMiB", size>>20), func(b *testing.B) {
			h := withImage(b, size)
			b.ReportAllocs()
			b.SetBytes(size)
			for b.Loop() {
				p, err := tosca.OpenReader(context.Background(), h, h.size())
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Verify(context.Background()); err != nil {
					b.Fatal(err)
				}
				if _, err := p.Digest(context.Background()); err != nil {
					b.Fatal(err)
				}
				_ = p.Close()
			}
			b.ReportMetric(float64(h.read.Load())/float64(b.N)/float64(size), "reads/byte")
		})
	}
}

// BenchmarkBesideToscaParser compares two processes that check the same package, a Kubernetes cluster with three flavours and with
// ETSI's type files: examples/csar-lint, and OpenStack's tosca-parser from the checkout in VNFKIT_TOSCA_PARSER (the Debian 12 package
// lacks its data files). The package is one of Tacker's in the corpus, because tosca-parser refuses ours.
func BenchmarkBesideToscaParser(b *testing.B) {
	checkout, corpus := os.Getenv("VNFKIT_TOSCA_PARSER"), os.Getenv("VNFKIT_CORPUS")
	if checkout == "" || corpus == "" {
		b.Skip("needs VNFKIT_TOSCA_PARSER, a checkout of github.com/openstack/tosca-parser, and VNFKIT_CORPUS")
	}
	dir := b.TempDir()
	lint, pkg := filepath.Join(dir, "csar-lint"), filepath.Join(dir, "k8s-cluster.csar")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", lint, "../examples/csar-lint").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(pkg, zipOf(b, filepath.Join(corpus, "tosca/pkg/tacker-s-mgmt_driver-kubernetes-kubernetes_vnf_package")), 0o600); err != nil {
		b.Fatal(err)
	}
	var own, peer cost
	for b.Loop() {
		own.add(b, exec.CommandContext(b.Context(), lint, pkg), 1) // exit code 1, because the corpus omits scripts, which is a fault
		python := exec.CommandContext(b.Context(), "/usr/bin/python3", "-c",
			"from toscaparser.tosca_template import ToscaTemplate; import sys; ToscaTemplate(sys.argv[1], {'selected_flavour': 'simple'})", pkg)
		python.Env = append(os.Environ(), "PYTHONPATH="+checkout, "PBR_VERSION=2.6.0", "TMPDIR="+dir) // tosca-parser leaves a copy of the package in TMPDIR
		peer.add(b, python, 0)
	}
	b.ReportMetric(float64(own.cpu.Milliseconds())/float64(b.N), "ms-CPU")
	b.ReportMetric(float64(own.peak)/1024, "MiB")
	b.ReportMetric(float64(peer.cpu.Milliseconds())/float64(b.N), "peer-ms-CPU")
	b.ReportMetric(float64(peer.peak)/1024, "peer-MiB")
	b.ReportMetric(float64(peer.cpu)/float64(own.cpu), "times-the-CPU")
}

// cost is the resource usage of processes.
type cost struct {
	cpu  time.Duration
	peak int64 // KiB
}

// add runs a command and adds its cost. It reads the peak while the command runs, because the value of wait(2) starts at the peak of
// the parent.
func (c *cost) add(b *testing.B, cmd *exec.Cmd, code int) {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			c.peak = max(c.peak, peakOf(cmd.Process.Pid))
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	_ = cmd.Wait()
	close(ended)
	<-watched
	if cmd.ProcessState.ExitCode() != code {
		b.Fatalf("%s: %v\n%s", cmd, cmd.ProcessState, &said)
	}
	c.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// peakOf returns the peak memory of a process in KiB as Linux reports it, and 0 on other systems.
func peakOf(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, _ := strconv.ParseInt(number, 10, 64)
	return kib
}
