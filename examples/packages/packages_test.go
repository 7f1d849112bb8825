// Package packages_test checks the sample packages: the digests in TOSCA.meta, the requests, and the script that nodes
// run.
package packages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const k8s = "k8s-cluster"

func open(t *testing.T) *tosca.Package {
	t.Helper()
	p, err := tosca.Open(context.Background(), k8s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestDigestsAndWarnings(t *testing.T) {
	p := open(t)
	if err := p.Verify(context.Background()); err != nil {
		t.Errorf("TOSCA.meta states other digests than the files have:\n%v", err)
	}
	var stated []string
	for _, a := range p.Meta().Artifacts {
		stated = append(stated, a.Name)
	}
	for _, dir := range []string{"Scripts", "Files"} {
		err := fs.WalkDir(p, dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !slices.Contains(stated, name) {
				t.Errorf("TOSCA.meta has no digest for %s", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if w := p.Warnings(); len(w) > 0 {
		t.Errorf("warnings:\n%v", w)
	}
}

// instantiate is the part of the instantiate requests that must be valid for the package.
type instantiate struct {
	FlavourID            string
	InstantiationLevelID string
	ExtVirtualLinks      []struct{ ExtCps []struct{ CpdID string } }
	VimConnectionInfo    []struct{ ID, VimID, VimType string }
	AdditionalParams     struct {
		Cluster struct {
			Script string `json:"script_path"`
			CNI    string `json:"cni_manifest_path"`
			Master node   `json:"master_node"`
			Worker node   `json:"worker_node"`
		} `json:"k8s_cluster_installation_param"`
	}
}

type node struct {
	Aspect  string `json:"aspect_id"`
	SSH     string `json:"ssh_cp_name"`
	NIC     string `json:"nic_cp_name"`
	Cluster string `json:"cluster_cp_name"`
}

func TestInstantiateRequests(t *testing.T) {
	p := open(t)
	names, err := filepath.Glob(k8s + "/requests/instantiate*.json")
	if err != nil || len(names) != 4 {
		t.Fatalf("requests %q, %v", names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var r instantiate
			if err := json.Unmarshal(content, &r); err != nil {
				t.Fatal(err)
			}
			f, err := p.VNFD().Flavour(r.FlavourID)
			if err != nil {
				t.Fatal(err)
			}
			size, err := f.InitialSize(tosca.TargetSize{InstantiationLevelID: r.InstantiationLevelID})
			if err != nil {
				t.Error(err)
			}
			c := r.AdditionalParams.Cluster
			for vdu, n := range map[string]node{"masterNode": c.Master, "workerNode": c.Worker} {
				if diff := cmp.Diff([]string{n.Aspect}, f.AspectsOf(vdu)); diff != "" {
					t.Errorf("aspect of %s:\n%s", vdu, diff)
				}
				if _, ok := size.ScaleStatus[n.Aspect]; !ok {
					t.Errorf("no level for the aspect %q", n.Aspect)
				}
				if n.SSH != n.NIC || !hasCP(f, n.SSH, vdu) {
					t.Errorf("%s has no connection point %q", vdu, n.SSH)
				}
			}
			for _, l := range r.ExtVirtualLinks {
				for _, cp := range l.ExtCps {
					if !slices.ContainsFunc(f.ExternalCPs, func(e tosca.ExternalCP) bool { return e.ID == cp.CpdID }) {
						t.Errorf("no external connection point %q", cp.CpdID)
					}
				}
			}
			for _, file := range []string{c.Script, c.CNI} {
				if file == "" {
					continue
				}
				if _, err := fs.Stat(p, file); err != nil {
					t.Error(err)
				}
			}
			hot, err := fs.ReadFile(p, "BaseHOT/"+r.FlavourID+"/"+r.FlavourID+"_hot_top.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if cp := c.Master.Cluster; !hasCP(f, cp, "masterNode") && !strings.Contains(string(hot), "\n  "+cp+":\n    type: OS::Neutron::Port\n") {
				t.Errorf("neither the control-plane nodes nor the template have a connection point %q for the API", cp)
			}
			if len(r.VimConnectionInfo) != 1 || r.VimConnectionInfo[0].VimType == "" {
				t.Errorf("vimConnectionInfo %v", r.VimConnectionInfo)
			}
		})
	}
}

func hasCP(f *tosca.Flavour, id, vdu string) bool {
	return slices.ContainsFunc(f.CPs, func(cp tosca.ConnectionPoint) bool { return cp.ID == id && cp.VDU == vdu })
}

// TestHooks checks that the sample names every hook of its driver but those of OPERATE: they run without a name in the VNFD, because packages
// for Tacker have none.
func TestHooks(t *testing.T) {
	can := slices.DeleteFunc(slices.Sorted(maps.Keys(kubeadm.New(kubeadm.Config{}).Hooks())), func(h vnflcm.Hook) bool {
		return h == vnflcm.OperateStart || h == vnflcm.OperateEnd
	})
	for _, name := range []string{"simple", "complex"} {
		f, err := open(t).VNFD().Flavour(name)
		if err != nil {
			t.Fatal(err)
		}
		var named []vnflcm.Hook
		for _, hook := range slices.Sorted(maps.Keys(f.Hooks)) {
			named = append(named, vnflcm.Hook(hook))
		}
		if diff := cmp.Diff(can, named); diff != "" {
			t.Errorf("hooks of flavour %s (-driver +VNFD):\n%s", name, diff)
		}
	}
}

// TestRequestsDecode checks that no request has an unknown attribute.
func TestRequestsDecode(t *testing.T) {
	names, err := filepath.Glob(k8s + "/requests/*.json")
	if err != nil || len(names) < 10 {
		t.Fatalf("requests %q, %v", names, err)
	}
	for _, name := range names {
		kind, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".json"), "_")
		request := map[string]any{"instantiate": &vnflcm.InstantiateVnfRequest{}, "scale": &vnflcm.ScaleVnfRequest{}, "heal": &vnflcm.HealVnfRequest{},
			"change": &vnflcm.ChangeExtVnfConnectivityRequest{}, "terminate": &vnflcm.TerminateVnfRequest{}}[kind]
		if strings.HasSuffix(name, "change_vnfpkg.json") {
			request = &vnflcm.ChangeCurrentVnfPkgRequest{}
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if unknown, err := vnflcm.DecodeRequest(content, request); err != nil || len(unknown) > 0 {
			t.Errorf("%s: %q, %v", name, unknown, err)
		}
	}
	for _, name := range []string{"heal_worker.json", "heal_master.json"} {
		content, err := os.ReadFile(k8s + "/requests/" + name)
		var r vnflcm.HealVnfRequest
		if err == nil {
			_, err = vnflcm.DecodeRequest(content, &r)
		}
		if err != nil || len(r.VnfcInstanceID) != 1 {
			t.Errorf("%s names %q, %v", name, r.VnfcInstanceID, err)
		}
	}
}

func TestScaleRequests(t *testing.T) {
	for name, want := range map[string]string{"scale_out": "SCALE_OUT", "scale_in": "SCALE_IN"} {
		content, err := os.ReadFile(filepath.Join(k8s, "requests", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Type, AspectID string
			NumberOfSteps  int
		}
		if err := json.Unmarshal(content, &r); err != nil {
			t.Fatal(err)
		}
		if r.Type != want || r.AspectID != "worker_instance" || r.NumberOfSteps != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// tools replace the programs that the script calls on a node. They log each call with its arguments, and write files under / below $ROOT.
var tools = map[string]string{
	"id":         `echo 1000`,
	"sudo":       `shift; exec "$@"`,
	"hostname":   `[ "$1" != -I ] || echo "10.0.0.7 192.168.1.7"`,
	"tee":        `mkdir -p "$ROOT${1%/*}"; cat >"$ROOT$1"`,
	"mkdir":      `exit 0`,
	"mv":         `exit 0`,
	"chmod":      `exit 0`,
	"swapoff":    ``,
	"modprobe":   ``,
	"sysctl":     ``,
	"systemctl":  ``,
	"containerd": ``,
	"haproxy":    ``,
	"kubectl":    ``,
	"ip":         `echo "2: ens3    inet 10.0.0.7/24 brd 10.0.0.255 scope global ens3"`,
	"cat":        `case ${1:-} in /etc/kubernetes/pki/ca.crt) printf -- '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n' ;; /etc/*) echo conf ;; *) exec /bin/cat "$@" ;; esac`,
	"kubeadm": `[ -z "${FAIL:-}" ] || exit 3
case "$*" in
"token create --print-join-command") echo "kubeadm join 10.0.0.100:6443 --token abc.def --discovery-token-ca-cert-hash sha256:1234 " ;;
"version -o short") echo v1.35.4 ;;
"config images list --kubernetes-version v1.35.4") printf 'registry.k8s.io/etcd:3.6.6-0\nregistry.k8s.io/pause:3.10.1\n' ;;
"init phase upload-certs --upload-certs") printf '[upload-certs] Storing\n[upload-certs] Using certificate key:\nfeed\n' ;;
*) echo "token: not the one" ;;
esac`,
}

// runScript runs the install script with replacements for all tools. It returns the standard output, the calls, and the folder with the
// written files.
func runScript(t *testing.T, env []string, args ...string) (stdout, calls, root string, err error) {
	t.Helper()
	bash, lookErr := exec.LookPath("bash")
	if lookErr != nil {
		t.Skip("this machine has no bash, which the script needs")
	}
	root = t.TempDir()
	bin := filepath.Join(root, "bin")
	log := filepath.Join(root, "calls")
	for _, dir := range []string{bin, filepath.Join(root, "home", ".kube")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range tools {
		if name == "mkdir" || name == "tee" {
			body = strings.ReplaceAll(body, "mkdir -p", "/bin/mkdir -p")
		}
		text := "#!" + bash + "\n[ " + name + " = sudo ] || echo " + name + ` "$*" >>` + log + "\n" + strings.ReplaceAll(body, "; cat ", "; /bin/cat ") + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil { //nolint:gosec // the test executes the file
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), bash, append([]string{k8s + "/Scripts/install_k8s_cluster.sh"}, args...)...)
	cmd.Env = slices.Concat(env, []string{"PATH=" + bin + ":/usr/bin:/bin", "ROOT=" + root, "HOME=" + filepath.Join(root, "home")})
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	if t.Failed() || err != nil {
		t.Logf("standard error:\n%s", errOut.String())
	}
	content, readErr := os.ReadFile(log)
	if readErr != nil && !os.IsNotExist(readErr) {
		t.Fatal(readErr)
	}
	return out.String(), string(content), root, err
}

func TestScriptOnTheFirstMaster(t *testing.T) {
	out, calls, root, err := runScript(t, []string{`HTTP_PRIVATE_REGISTRIES="10.0.0.9:5000"`},
		"-m", "10.0.0.7", "-i", "10.0.0.7", "-p", "10.244.0.0/16", "-a", "10.96.0.0/12")
	if err != nil {
		t.Fatal(err)
	}
	const want = `token:abc.def
server:https://10.0.0.7:6443
-----BEGIN CERTIFICATE-----
abc
-----END CERTIFICATE-----
ssl_ca_cert_hash:1234
certificate_key:feed
Install Success!
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("standard output (-want +got):\n%s", diff)
	}
	called(t, calls, "kubeadm init --node-name master7 --apiserver-advertise-address 10.0.0.7 --control-plane-endpoint 10.0.0.7:6443 --pod-network-cidr 10.244.0.0/16 --service-cidr 10.96.0.0/12 --upload-certs")
	config, err := os.ReadFile(filepath.Join(root, "etc/containerd/config.toml"))
	if line := `sandbox_image = "registry.k8s.io/pause:3.10.1"`; err != nil || !strings.Contains(string(config), line+"\n") {
		t.Errorf("containerd's configuration lacks %s: %s, %v", line, config, err)
	}
	hosts, err := os.ReadFile(filepath.Join(root, "etc/containerd/certs.d/10.0.0.9:5000/hosts.toml"))
	if err != nil || !strings.Contains(string(hosts), `[host."http://10.0.0.9:5000"]`) {
		t.Errorf("hosts.toml of the private registry: %q, %v", hosts, err)
	}
}

func TestScriptOnAFurtherMaster(t *testing.T) {
	out, calls, root, err := runScript(t, nil, "-m", "10.0.0.17,10.0.0.7", "-i", "10.0.0.100", "-p", "10.244.0.0/16",
		"-a", "10.96.0.0/12", "-t", "abc.def", "-s", "1234", "-k", "feed")
	if err != nil || out != "Install Success!\n" {
		t.Fatalf("output %q, %v", out, err)
	}
	called(t, calls, "kubeadm join 10.0.0.100:16443 --node-name master7 --token abc.def --discovery-token-ca-cert-hash sha256:1234 --control-plane --certificate-key feed --apiserver-advertise-address 10.0.0.7")
	for name, line := range map[string]string{
		"etc/haproxy/haproxy.cfg":        "    server  master17  10.0.0.17:6443 check\n    server  master7  10.0.0.7:6443 check\n",
		"etc/keepalived/keepalived.conf": "    interface ens3\n",
		"etc/hostname":                   "master7\n",
	} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !strings.Contains(string(content), line) {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}

func TestScriptOnAWorker(t *testing.T) {
	for flag, port := range map[string]string{"False": "6443", "True": "16443"} {
		out, calls, _, err := runScript(t, []string{"ha_flag=" + flag}, "-w", "10.0.0.8", "-i", "10.0.0.100", "-t", "abc.def", "-s", "1234")
		if err != nil || out != "Install Success!\n" {
			t.Fatalf("output %q, %v", out, err)
		}
		called(t, calls, "kubeadm join 10.0.0.100:"+port+" --node-name worker8 --token abc.def --discovery-token-ca-cert-hash sha256:1234")
	}
}

func TestScriptFails(t *testing.T) {
	worker := []string{"-w", "10.0.0.8", "-i", "10.0.0.100", "-t", "abc.def", "-s", "1234"}
	for name, tt := range map[string]struct {
		env, args []string
	}{
		"kubeadm fails":             {[]string{"FAIL=1"}, worker},
		"kubeadm fails on a master": {[]string{"FAIL=1"}, []string{"-m", "10.0.0.7", "-i", "10.0.0.7"}},
		"no address":                {nil, []string{"-m", "10.0.0.7"}},
		"no role":                   {nil, []string{"-i", "10.0.0.7"}},
		"worker without token":      {nil, []string{"-w", "10.0.0.8", "-i", "10.0.0.7"}},
		"master without key":        {nil, []string{"-m", "10.0.0.7", "-i", "10.0.0.7", "-t", "abc.def"}},
		"another machine":           {nil, []string{"-m", "10.0.0.70", "-i", "10.0.0.7"}},
		"unknown option":            {nil, []string{"-z"}},
	} {
		out, _, _, err := runScript(t, tt.env, tt.args...)
		if err == nil || strings.Contains(out, "Success") {
			t.Errorf("%s: output %q, error %v", name, out, err)
		}
	}
}

func called(t *testing.T, calls, want string) {
	t.Helper()
	if !slices.Contains(strings.Split(calls, "\n"), want) {
		t.Errorf("not called: %s\ncalls:\n%s", want, calls)
	}
}
