package e2e_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// BenchmarkHelm installs and uninstalls the same chart, waiting for neither, with Helm in this process and with the helm
// program, in turn. The metric x-helm is how many times as fast the first is.
func BenchmarkHelm(b *testing.B) {
	cluster := needCluster(b)
	program, archive := newHelm(b, cluster), chartOf(b, "web", "1.0.0", web)
	chart, namespace := program.file("web.tgz", archive), newNamespace(b, cluster.Client())
	opening, _ := helmKinds[0].prepare(b, cluster.Client())
	client, name := opening.opened(b), helmclient.Name{Namespace: namespace, Release: "web"}
	var ours, theirs time.Duration
	for b.Loop() {
		begin := time.Now()
		_, err := client.Install(b.Context(), helmclient.Install{Name: name, Chart: streamed(archive)})
		must(b, err)
		must(b, client.Uninstall(b.Context(), helmclient.Uninstall{Name: name}))
		ours += time.Since(begin)
		begin = time.Now()
		program.run("install", "web", chart, "--namespace="+namespace)
		program.run("uninstall", "web", "--namespace="+namespace)
		theirs += time.Since(begin)
	}
	b.ReportMetric(ours.Seconds()/float64(b.N)*1000, "sdk-ms")
	b.ReportMetric(theirs.Seconds()/float64(b.N)*1000, "helm-ms")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-helm")
}

// BenchmarkCNFs makes and removes twenty CNFs of one release each at once, by one Manager. The heap is what is in use
// after a collection when all are there.
func BenchmarkCNFs(b *testing.B) {
	const many = 20
	cluster := needCluster(b)
	c := newCNF(b, store.NewMemory(), cnfSite{Dir: b.TempDir(), Packages: map[string]string{cnfVNFD: cnfDir(b)}},
		cnfVIM(b, kubernetes.VimTypeV1, cluster.Client(), nil), cnfVNFD, "simple", chartParams)
	for b.Loop() {
		ids := make([]string, many)
		at := func(act func(i int) (string, error)) time.Duration {
			begin := time.Now()
			var all sync.WaitGroup
			for i := range ids {
				all.Go(func() {
					op, err := act(i)
					if err == nil {
						_, err = c.Wait(within(b, patience), op)
					}
					if err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
			return time.Since(begin)
		}
		made := at(func(i int) (string, error) {
			inst, err := c.Create(b.Context(), vnflcm.CreateVnfRequest{VnfdID: cnfVNFD})
			if err != nil {
				return "", err
			}
			ids[i] = inst.ID
			request := c.request
			request.AdditionalParams, err = vnflcm.ParseParams(fmt.Appendf(nil, chartParams, fmt.Sprintf("%s-%d", c.namespace, i)))
			if err != nil {
				return "", err
			}
			return c.Instantiate(b.Context(), inst.ID, request)
		})
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		gone := at(func(i int) (string, error) {
			return c.Terminate(b.Context(), ids[i], vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		})
		b.ReportMetric(made.Seconds(), "made-s")
		b.ReportMetric(gone.Seconds(), "gone-s")
		b.ReportMetric(float64(memory.HeapInuse)/(1<<20), "heap-MiB")
	}
}
