package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// offlineYard has a registry that mgmt/registry makes, and machines for a cluster that reach only the site.
type offlineYard struct {
	*yard
	debian, kubernetes string // addresses of packages: of the system, of Kubernetes
	registryID         string
	told               map[string]string // connection that the registry publishes
}

func newOfflineYard(t *testing.T) *offlineYard {
	t.Helper()
	parts := needParts(t, "kubeadm-restore")
	repositories := serveRepositories(t, parts)
	o := &offlineYard{debian: repositories + "/debian/", kubernetes: repositories + "/kubernetes/", told: map[string]string{}}
	o.yard = registryYardOf(t, parts, func(y *yard, _ *vmhost.Spec) {
		y.packages = samplePackage(t, map[string][]byte{repositoryKey: read(t, parts.Key())})
	})
	o.machines.Change = func(m vminfra.Machine, spec *vmhost.Spec) {
		if m.VDU == registryVDU {
			return
		}
		spec.Data = map[string]string{"/var/lib/containerd": t.TempDir()} // no image
		spec.Files = maps.Clone(cutOff)
	}
	return o
}

// cutOff are files of machines that reach only private addresses. Routes to "unreachable" would have no interface, at which kubeadm ends. The sources of packages in their image are public.
var cutOff = map[string]string{
	sources: "deb http://deb.debian.org/debian bookworm main\n",
	"/etc/systemd/system/cut-off.service": "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'ip route add 10.0.0.0/8 via " +
		"$(ip -4 route show default | cut -d\" \" -f3) && ip route del default'\n",
	"/etc/systemd/system/multi-user.target.d/cut-off.conf": "[Unit]\nRequires=cut-off.service\nAfter=cut-off.service\n",
}

// repository is the parameter image_repository.
func (o *offlineYard) repository() string { return o.told["server"] + "/kubernetes" }

// sources returns the parameter packages.
func (o *offlineYard) sources() map[string]any {
	return map[string]any{"source": "mirrors", "mirrors": []any{
		map[string]any{"repository_url": o.debian, "repository_key_path": repositoryKey},
		map[string]any{"repository_url": o.kubernetes, "repository_key_path": repositoryKey}}}
}

// params returns parameters of the cluster.
func (o *offlineYard) params(cluster map[string]any) string {
	text, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": cluster})
	must(o.t, err)
	return string(text)
}

// push puts the images that the version of the parts needs into the registry, but for one of them. etcd is the file of the image for upgrades.
func (o *offlineYard) push(parts kube.Parts, etcd, withheld string) {
	o.t.Helper()
	params, err := vnflcm.ParseParams([]byte(o.params(map[string]any{"image_repository": o.repository()})))
	must(o.t, err)
	needs, err := kubeadm.NeedsOf(parts.Version(), params)
	must(o.t, err)
	for _, image := range needs.Images {
		archive, _, _ := strings.Cut(path.Base(image.Public), ":")
		file := parts.Image(archive)
		if image.ForUpgrade {
			file = etcd
		}
		if archive != withheld {
			o.pushFile(file, strings.TrimPrefix(image.Name, o.told["server"]+"/"))
		}
	}
}

func (o *offlineYard) pushFile(file, name string) {
	o.t.Helper()
	must(o.t, o.from(o.connection(o.registryID, "", "")).push(o.t.Context(), file, name))
}

// TestKubeadmWithoutInternet: the machines of a cluster have no route to a public server, and no image. A registry that mgmt/registry makes has the
// images, and a mirror of the site the packages. The preflight names the image that is withheld. With it the cluster is made, scaled out, healed and
// upgraded.
func TestKubeadmWithoutInternet(t *testing.T) {
	o := newOfflineYard(t)
	ctx := t.Context()
	id, request := o.registry(`{"private_registry_installation_param": {"server_name": "` + registryName + `", "tls": {}, "users": null, "probe": false}}`)
	o.registryID = id
	o.must(o.Instantiate(ctx, id, request))
	must(t, json.Unmarshal([]byte(o.machine(id).Metadata["private_registry_connection_info"]), &o.told))
	o.push(o.parts, "", "kube-proxy")
	o.pushFile(o.parts.Image("pause"), "pause:tests") // of the test's pods, by the mirror

	cluster, clusterRequest := o.cluster("simple", o.params(map[string]any{"cni_manifest_path": nil, "packages": o.sources(),
		"image_repository": o.repository(), "private_registry_connection_info": []any{o.told},
		"registry_mirrors": []any{map[string]string{"registry": "registry.k8s.io", "server": o.told["server"]}}}))
	op, err := o.Instantiate(ctx, cluster, clusterRequest)
	must(t, err)
	_, err = o.Wait(within(t, patience), op)
	for _, want := range []string{"images on masterNode", "images on workerNode", "image " + o.repository() + "/kube-proxy:v" + o.parts.Version(), "push it to " + o.repository()} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%q is not in %v", want, err)
		}
	}
	t.Logf("refused: %v", err)
	if got := o.everywhere(cluster, "find", "/etc", "-path", "/etc/kubernetes/*.conf"); got != "" {
		t.Errorf("kubeadm init has begun: %s", got)
	}
	unreached := o.everywhere(cluster, "sh", "-c", "for at in 1.1.1.1 registry.k8s.io deb.debian.org; do curl -s -o /dev/null -m 5 http://$at && echo $at; done; true")
	if unreached != "" {
		t.Errorf("machines reach %s", unreached)
	}
	o.pushFile(o.parts.Image("kube-proxy"), "kubernetes/kube-proxy:v"+o.parts.Version())
	must(t, o.Retry(ctx, op))
	_, err = o.Wait(within(t, patience), op)
	must(t, err)
	o.wantNodes(cluster, 1, 1)
	o.runsPods(cluster, 1)

	o.must(o.Scale(ctx, cluster, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	worker := o.vnfcs(cluster, workerVDU)[0]
	o.kill(worker)
	o.must(o.Heal(ctx, cluster, vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}))
	o.wantNodes(cluster, 1, 2)
	o.runsPods(cluster, 2)

	built, err := upgrades() // the first call takes as long as building two versions
	must(t, err)
	next := built.Parts(kube137)
	o.kubernetes = serveRepositories(t, next) + "/kubernetes/"
	o.push(next, built.Etcd(), "")
	begin := time.Now()
	op, err = o.Maintain(ctx, cluster, vnflcm.MaintainVnfRequest{Task: vnflcm.Upgrade,
		AdditionalParams: o.laid(vnflcm.Params{}, o.params(map[string]any{"kubernetes_version": kube137, "packages": o.sources()}))})
	must(t, err)
	_, err = o.Wait(within(t, upgradePatience), op)
	must(t, err)
	t.Logf("the upgrade took %s", time.Since(begin).Round(time.Second))
	images := o.kubectl(cluster, "get", "pods", "-n", "kube-system", "-o", `jsonpath={range .items[*]}{.spec.containers[0].image}{"\n"}{end}`)
	for image := range strings.Lines(images) {
		if !strings.HasPrefix(image, o.repository()+"/") {
			t.Errorf("a pod has the image %s", image)
		}
	}
	if !strings.Contains(images, "/kube-proxy:v"+kube137+"\n") || !strings.Contains(images, "/kube-apiserver:v"+kube137+"\n") {
		t.Errorf("the images are\n%s", images)
	}
	o.wantNodes(cluster, 1, 2)
}

// runsPods runs a pod on each worker, whose image has the public name.
func (o *offlineYard) runsPods(id string, workers int) {
	o.t.Helper()
	deployment, _, _ := strings.Cut(fmt.Sprintf(workload, workers), "---")
	o.apply(id, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---"+deployment)
	o.kubectl(id, "rollout", "status", "-n", "shop", "deployment/web", "--timeout=120s")
}
