package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// samplePackage is a copy of the sample package with more files.
func samplePackage(t *testing.T, files map[string][]byte) (dir string) {
	t.Helper()
	return packageWith(t, packageDir, files)
}

// packageWith is a copy of a package with more files.
func packageWith(t testing.TB, of string, files map[string][]byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(of)))
	for name, content := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)) //nolint:gosec // a package is no secret
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))     //nolint:gosec // a package is no secret
	}
	return dir
}

// serveRepositories serves the apt repositories to machines, and returns their address.
func serveRepositories(t testing.TB, parts kube.Parts) string {
	t.Helper()
	return serveRepositoriesAt(t, parts, net.JoinHostPort(site.network.Gateway().String(), "0"))
}

// serveRepositoriesAt serves them at an address and port. The port 0 is a free one.
func serveRepositoriesAt(t testing.TB, parts kube.Parts, at string) string {
	t.Helper()
	files := http.FileServerFS(parts.Repositories())
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a ServeMux redirects what apt asks for: /debian/./InRelease
		if slices.ContainsFunc([]string{"/debian/", "/kubernetes/", "/nfs/debian/", "/kubespray/files/"}, func(dir string) bool { return strings.HasPrefix(r.URL.Path, dir) }) {
			files.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", at)
	must(t, err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), <-ended); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

// strangersKey makes an OpenPGP key that has signed nothing.
func strangersKey(t *testing.T) []byte {
	t.Helper()
	home, err := os.MkdirTemp("", "gpg") //nolint:usetesting // short: the name of a socket is bounded
	must(t, err)
	defer func() {
		run(t, "gpgconf", "--homedir", home, "--kill", "all")
		must(t, os.RemoveAll(home))
	}()
	run(t, "gpg", "--homedir", home, "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "a stranger <nobody@example.org>", "ed25519", "sign", "never")
	return []byte(run(t, "gpg", "--homedir", home, "--batch", "--armor", "--export"))
}

// firstUpgrade is what images of clouds do when they have started: they take all locks of apt and dpkg, here for
// some seconds after the login is possible.
const firstUpgrade = `
import fcntl, time
held = []
for name in "/var/lib/apt/lists/lock", "/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/cache/apt/archives/lock":
    held.append(open(name, "w"))
    fcntl.lockf(held[-1], fcntl.LOCK_EX)
time.sleep(15)
open("/var/lib/first-upgrade-done", "w")
`

const (
	sources    = "/etc/apt/sources.list"
	sourcesKey = "/etc/apt/keyrings/distribution.asc"
)

// bare are machines without anything of Kubernetes, whose own packages come from the repository at an address.
func bare(parts kube.Parts, repositories string, key []byte, spec *vmhost.Spec) {
	spec.Tree = parts.Tree()
	spec.Files = map[string]string{
		sources:    "deb [signed-by=" + sourcesKey + "] " + repositories + "/debian/ ./\n",
		sourcesKey: string(key),
	}
}

// upgrading are machines whose image upgrades itself when it has started.
func upgrading(spec *vmhost.Spec) {
	maps.Copy(spec.Files, map[string]string{
		"/usr/local/lib/first-upgrade.py":                    firstUpgrade,
		"/etc/systemd/system/first-upgrade.service":          "[Service]\nType=simple\nExecStart=/usr/bin/python3 /usr/local/lib/first-upgrade.py\n",
		"/etc/systemd/system/multi-user.target.d/first.conf": "[Unit]\nWants=first-upgrade.service\n",
	})
}

// fromRepository installs Kubernetes from a repository, trusted by a key of the package.
func fromRepository(t *testing.T, repository, key string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"k8s_cluster_installation_param": map[string]any{"packages": map[string]any{
		"source": "repository", "repository_url": repository, "repository_key_path": key, "containerd_version": "1.6.*"}}})
	must(t, err)
	return string(text)
}

// newBareYard makes machines from an image for clouds, which knows nothing of Kubernetes: cloud-init makes the login and writes the
// package sources while it boots. It makes a package with the key of the repository at the address, and another one. change, if any,
// is the last to change it.
func newBareYard(t *testing.T, change func(y *yard, spec *vmhost.Spec, repositories string)) (y *yard, repositories string) {
	t.Helper()
	return bareYardOf(t, needKubeadm(t), change)
}

func bareYardOf(t *testing.T, parts kube.Parts, change func(y *yard, spec *vmhost.Spec, repositories string)) (y *yard, repositories string) {
	t.Helper()
	y = yardOf(t, parts, func(y *yard, spec *vmhost.Spec) {
		repositories = serveRepositories(t, y.parts)
		key := read(t, y.parts.Key())
		bare(y.parts, repositories, key, spec)
		cloudImage(y.parts, spec, sampleUserData(t), fmt.Sprintf("apt: {preserve_sources_list: false, sources_list: %q}\n", spec.Files[sources]))
		delete(spec.Files, sources)
		upgrading(spec)
		y.packages = samplePackage(t, map[string][]byte{"Files/repository.asc": key, "Files/stranger.asc": strangersKey(t)})
		if change != nil {
			change(y, spec, repositories)
		}
	})
	return y, repositories
}

// TestKubeadmPackages creates a cluster with a storage server on machines without any installed packages. The packages come
// from a signed repository. Meanwhile the machines install automatic upgrades.
func TestKubeadmPackages(t *testing.T) {
	t.Parallel()
	y, repositories := newStorageYard(t)
	ctx := t.Context()
	id, request := y.cluster("simple", fromRepository(t, repositories+"/kubernetes/", "Files/repository.asc"), storageParameters(t))
	y.must(y.Instantiate(ctx, id, request))
	y.wantNodes(id, 1, 1)
	for _, v := range append(y.vnfcs(id, masterVDU), y.vnfcs(id, workerVDU)...) {
		for _, want := range []struct {
			printed string
			argv    []string
		}{
			{"containerd\nkubeadm\nkubectl\nkubelet\n", []string{"apt-mark", "showhold"}},
			{strings.Repeat(y.parts.Version()+"-1.1 ", 3), []string{"dpkg-query", "--show", "--showformat=${Version} ", "kubeadm", "kubectl", "kubelet"}},
			{"", []string{"dpkg", "--audit"}},
			{"/var/lib/first-upgrade-done\n", []string{"ls", "/var/lib/first-upgrade-done"}},
		} {
			got, err := y.on(v, want.argv...)
			if diff := cmp.Diff(want.printed, got); diff != "" || err != nil {
				t.Errorf("%s: %q: %v\n%s", v.ID, want.argv, err, diff)
			}
		}
	}
	y.stores(id)
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	y.gone(id)
}

// TestKubeadmSettingRefused: kubeadm init drops a setting of the kubelet that it does not know; the driver refuses it before.
func TestKubeadmSettingRefused(t *testing.T) {
	t.Parallel()
	y := newYard(t, nil)
	id, request := y.cluster("simple", `{"k8s_cluster_installation_param": {"kubelet_configuration": {"maxPodz": 20}}}`)
	op, err := y.Instantiate(t.Context(), id, request)
	must(t, err)
	if _, err := y.Wait(within(t, patience), op); err == nil || !strings.Contains(err.Error(), `unknown field "maxPodz"`) {
		t.Fatalf("got %v", err)
	}
	if got := y.everywhere(id, "find", "/etc", "-path", "/etc/kubernetes/*.conf"); got != "" {
		t.Errorf("kubeadm init has begun: %s", got)
	}
}

// TestKubeadmPackagesRefused: apt takes nothing from a repository that another key has signed, the error of one that does not answer
// says so, though apt only warns of that, and the error of one without the version names those that it has.
func TestKubeadmPackagesRefused(t *testing.T) {
	t.Parallel()
	y, repositories := newBareYard(t, nil)
	version := y.parts.Version()
	for _, c := range []struct{ name, repository, key, version, want string }{
		{"signed by another", repositories + "/kubernetes/", "Files/stranger.asc", version, "NO_PUBKEY"},
		{"without the version", repositories + "/kubernetes/", "Files/repository.asc", version + "9", "kubelet " + version + "-1.1; kubeadm " + version + "-1.1;"},
		// Not at the host of the other source: apt 2.6 hangs when one of two ports of a host refuses and is tried again.
		{"silent", "http://127.0.0.1:1/", "Files/repository.asc", version, "onnection refused"},
	} {
		id, request := y.cluster("simple", fromRepository(t, c.repository, c.key),
			`{"k8s_cluster_installation_param": {"kubernetes_version": "`+c.version+`"}}`)
		op, err := y.Instantiate(t.Context(), id, request)
		must(t, err)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := y.Wait(within(t, patience), op)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			t.Logf("refused: %v", err)
			if got := y.everywhere(id, "find", "/usr/bin", "-name", "kube*"); got != "" {
				t.Errorf("the machines have %s", got)
			}
		})
	}
}
