package kubeadm_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Parameters of clusters whose machines reach no public server. The server of packages and the server of images are in the request.
const (
	packageMirrors = `"packages":{"source":"mirrors","mirrors":[
		{"repository_url":"https://packages.example.com/debian","repository_suite":"bookworm","repository_components":["main"],"repository_key_path":"Files/kubernetes/key"},
		{"repository_url":"https://packages.example.com/kubernetes","repository_key_path":"Files/kubernetes/key"}]}`
	privateServer = `"private_registry_connection_info":[{"connection_type":"1","server":"registry.example.com","certificate_path":"Files/registries/ca.crt",
		"hosts_string":"198.18.9.9 registry.example.com"}]`
	// loginServer is the same with a login, and movedServer with another address and login.
	loginServer = `"private_registry_connection_info":[{"connection_type":"1","server":"registry.example.com","certificate_path":"Files/registries/ca.crt",
		"username":"user","password":"` + registryPassword + `","hosts_string":"198.18.9.9 registry.example.com"}]`
	movedServer = `"private_registry_connection_info":[{"connection_type":"1","server":"registry.example.com","certificate_path":"Files/registries/ca.crt",
		"username":"other","password":"` + rotatedPassword + `","hosts_string":"198.18.9.10 registry.example.com"}]`
	imageMirrors = `"registry_mirrors":[{"registry":"registry.k8s.io","server":"registry.example.com"},{"registry":"ghcr.io","server":"registry.example.com"}]`
	repository   = `"image_repository":"registry.example.com/kubernetes"`
)

// offlineParams returns the parameters of a cluster without internet, with flannel at the virtual address.
func offlineParams(t testing.TB, server, images string) []mgmttest.Change {
	t.Helper()
	return append(virtual(t), with(t, `{"cni_manifest_path":null,`+packageMirrors+`,`+server+`,`+images+`}`))
}

// offlineSetup returns a setup whose machines reach no public server, and whose registry has the images of the versions but one, as the mirror of
// public registries or, with image_repository, under the names of it.
func offlineSetup(t testing.TB, images, withheld string, versions ...string) setup {
	t.Helper()
	ca := registryCA(t)
	var has []string
	for _, image := range needed(t, images, versions...) {
		if image.Public == withheld {
			continue
		}
		_, name, _ := strings.Cut(image.Name, "/")
		has = append(has, name)
	}
	return setup{pkg: mgmttest.Package(t, packageDir, map[string]string{"Files/registries/ca.crt": ca, "Files/kubernetes/key": armoredKey}),
		sandbox: sandbox.Config{Offline: true, Registries: []sandbox.Registry{{Address: netip.MustParseAddrPort("198.18.9.9:443"), CA: ca, Images: has}}}}
}

func needed(t testing.TB, images string, versions ...string) (out []kubeadm.NeededImage) {
	t.Helper()
	for _, version := range versions {
		needs, err := kubeadm.NeedsOf(version, params(t, `{`+packageMirrors+`,`+images+`}`))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, needs.Images...)
	}
	return out
}

// fetched returns what the machines have pulled or installed: the last arguments of programs.
func (l *lab) fetched() (images, packages []string) {
	l.t.Helper()
	pulled, installed := map[string]bool{}, map[string]bool{}
	for _, h := range l.World.Hosts() {
		for _, r := range h.Commands() {
			switch i := slices.Index(r.Argv, "install"); {
			case r.BuiltIn:
			case slices.Contains(r.Argv, "pull"):
				pulled[r.Argv[len(r.Argv)-1]] = true
			case r.Argv[0] == "apt-get" && i > 0 && !slices.Contains(r.Argv, "--simulate"):
				for _, name := range r.Argv[i+1:] {
					installed[name] = !strings.HasPrefix(name, "-")
				}
			}
		}
	}
	maps.DeleteFunc(installed, func(_ string, isName bool) bool { return !isName })
	return slices.Sorted(maps.Keys(pulled)), slices.Sorted(maps.Keys(installed))
}

// wantFetched compares with what the machines have pulled and installed since the lab was opened.
func (l *lab) wantFetched(images string, versions ...string) {
	l.t.Helper()
	names, packages := map[string]bool{}, map[string]bool{}
	for i, version := range versions {
		needs, err := kubeadm.NeedsOf(version, params(l.t, `{`+packageMirrors+`,`+images+`}`))
		if err != nil {
			l.t.Fatal(err)
		}
		for _, image := range needs.Images {
			if !image.ForUpgrade || i > 0 {
				names[image.Name] = true
			}
		}
		for _, name := range needs.Packages {
			packages[name] = true
		}
	}
	gotImages, gotPackages := l.fetched()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(names)), gotImages); diff != "" {
		l.t.Errorf("images of %q:\n%s", versions, diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(packages)), gotPackages); diff != "" {
		l.t.Errorf("packages of %q:\n%s", versions, diff)
	}
}

// TestOffline: a cluster whose machines reach no public server is instantiated, scaled, upgraded and healed. It pulls and installs what NeedsOf lists. The
// registry of image_repository has another address and login from the scale-out on.
func TestOffline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ server, moved, images, pause, image string }{
		"mirrors":    {privateServer, privateServer, imageMirrors, "registry.k8s.io/pause:3.10.2", "registry.k8s.io/kube-apiserver:v1.37.2"},
		"repository": {loginServer, movedServer, repository, "registry.example.com/kubernetes/pause:3.10.2", "registry.example.com/kubernetes/kube-apiserver:v1.37.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "mirrors" {
				fulltest.SkipVariant(t)
			}
			ctx := t.Context()
			s := offlineSetup(t, c.images, "", "1.36.3", "1.37.2")
			if c.server != c.moved {
				first := &s.sandbox.Registries[0]
				first.Username, first.Password = "user", registryPassword
				s.sandbox.Registries = append(s.sandbox.Registries, sandbox.Registry{Address: netip.MustParseAddrPort("198.18.9.10:443"), CA: first.CA,
					Username: "other", Password: rotatedPassword, Images: first.Images})
			}
			l := openLab(t, s)
			id := l.Instantiated("instantiate_sandbox.json", append(offlineParams(t, c.server, c.images), clustertest.Sized("complex", 0))...)
			l.wantFetched(c.images, "1.36.3")
			l.Must(l.Scale(ctx, id, scaling(t, vnflcm.ScaleOut, `{`+c.moved+`}`)))
			l.upgrade(id, `{"kubernetes_version":"1.37.2"}`)
			l.stop("masterNode-1")
			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")}))
			l.want(3, 2, 0)
			l.wantFetched(c.images, "1.36.3", "1.37.2")
			if got := l.file("masterNode-1", "/etc/kubernetes/manifests/kube-apiserver.yaml"); !strings.Contains(got, c.image) {
				t.Errorf("the API server is not of %s: %s", c.image, got)
			}
			for _, h := range l.World.Hosts() {
				if got := l.file(h.Name(), "/etc/containerd/config.toml"); !strings.Contains(got, c.pause) {
					t.Errorf("%s has not the pause image %s: %s", h.Name(), c.pause, got)
				}
				clustertest.Golden(t, "mirror.sources", []byte(l.file(h.Name(), "/etc/apt/vnfkit-sources.d/vnfkit-mirror.sources")))
			}
		})
	}
}

// TestOfflineWithheld: the preflight names an image that the server of the request does not have, and the machines, before kubeadm runs.
func TestOfflineWithheld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		images, withheld string
		want             []string
	}{
		"mirror": {imageMirrors, "registry.k8s.io/pause:3.10.2", []string{
			"image registry.k8s.io/pause:3.10.2: registry registry.k8s.io, by its mirror https://registry.example.com: ", `push it to the server in registry_mirrors: "k8s-cluster images" lists all images`}},
		"pod network": {imageMirrors, "ghcr.io/flannel-io/flannel:v0.28.4", []string{"image ghcr.io/flannel-io/flannel:v0.28.4: "}},
		"repository": {repository, "registry.k8s.io/coredns/coredns:v1.14.2", []string{
			"image registry.example.com/kubernetes/coredns:v1.14.2: registry registry.example.com: ", `push it to registry.example.com/kubernetes: "k8s-cluster images" lists all images`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, offlineSetup(t, c.images, c.withheld, "1.36.3"))
			_, opID, err := l.Begin("instantiate_sandbox.json", append(offlineParams(t, privateServer, c.images), clustertest.Sized("simple", 0))...)
			err = l.Fails(opID, err)
			for _, want := range append(c.want, "images on masterNode-0", "images on workerNode-0") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			for _, h := range l.World.Hosts() {
				if slices.ContainsFunc(h.Commands(), func(r sshtest.Record) bool { return slices.Contains(r.Argv, "init") }) {
					t.Errorf("kubeadm init has run on %s", h.Name())
				}
			}
		})
	}
}

// TestOfflineUnreached: without the servers of the request the preflight names what the machines do not reach.
func TestOfflineUnreached(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{pkg: offlineSetup(t, imageMirrors, "").pkg, sandbox: sandbox.Config{Offline: true}})
	_, opID, err := l.Begin("instantiate_sandbox.json", clustertest.Sized("simple", 0), with(t, `{`+privateServer+`,`+imageMirrors+`}`))
	err = l.Fails(opID, err)
	for _, want := range []string{"packages: masterNode-0 cannot have the packages of a node", "registries: it does not reach the registry registry.k8s.io, by its mirror https://registry.example.com"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// TestOfflineKept: image_repository does not change, and mirrors change where registries change.
func TestOfflineKept(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := openLab(t, registrySetup(t))
	id := l.Instantiated("instantiate_sandbox.json", registriesFor(t, "")...)
	l.mirrored("http://198.18.9.8:5000")
	l.Must(l.Scale(ctx, id, scaling(t, vnflcm.ScaleOut, `{"registry_mirrors":[{"registry":"quay.io","server":"https://198.18.9.9"}]}`)))
	l.mirrored("https://198.18.9.9")
	l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.worker(id).ID}}))
	l.mirrored("https://198.18.9.9")
	l.Must(l.Scale(ctx, id, scaling(t, vnflcm.ScaleIn, `{"registry_mirrors":[]}`)))
	l.mirrored("")
	l.connected()
	_, err1 := l.Scale(ctx, id, scaling(t, vnflcm.ScaleOut, `{`+repository+`}`))
	_, err2 := l.Maintain(ctx, id, upgrading(t, `{"kubernetes_version":"1.36.3",`+imageMirrors+`}`))
	for want, err := range map[string]error{
		`k8s_cluster_installation_param.image_repository: "registry.example.com/kubernetes": is "" for the life of the cluster`: err1,
		"k8s_cluster_installation_param.registry_mirrors: has no effect in a maintenance task":                                  err2,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// TestNeedsOf: packages and images depend on the parameters, and a version whose images are not known is refused.
func TestNeedsOf(t *testing.T) {
	t.Parallel()
	needs, err := kubeadm.NeedsOf("1.36.3", params(t, `{"api_endpoint":"lb","flannel":{"image":"a.example/f:1"},"image_repository":"b.example/k","packages":{"containerd_package":"containerd.io"},
		"storage_server":{"ssh_cp_name":"s"}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := needs.Packages
	for _, image := range needs.Images[len(needs.Images)-3:] {
		got = append(got, image.Public+" "+image.Name)
	}
	want := []string{"containerd.io", "conntrack", "kubelet=1.36.3-*", "kubeadm=1.36.3-*", "kubectl=1.36.3-*", "nfs-common", "nfs-kernel-server",
		"registry.k8s.io/etcd:3.6.8-0 b.example/k/etcd:3.6.8-0", "a.example/f:1 a.example/f:1",
		"ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1 b.example/k/flannel-cni-plugin:v1.9.1-flannel1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := kubeadm.NeedsOf("1.36.9", vnflcm.Params{}); err == nil || !strings.Contains(err.Error(), "kubeadm config images list --kubernetes-version v1.36.9") {
		t.Errorf("an unknown version: %v", err)
	}
}
