// Package docs_test holds the documents in this folder against the code.
package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const samples = "../examples/packages/k8s-cluster"

// vnfm is a Manager on a sandbox, with what it said.
type vnfm struct {
	*vnflcm.Manager
	world *sandbox.World

	mu     sync.Mutex
	steps  map[string]bool
	vnfdID string   // of the package
	order  []string // of the steps of management drivers
	log    bytes.Buffer
}

func newVNFM(t *testing.T) *vnfm { return newVNFMWith(t, sandbox.Config{}, samples) }

func newVNFMWith(t *testing.T, config sandbox.Config, pkg string) *vnfm {
	t.Helper()
	v := &vnfm{steps: map[string]bool{}}
	opened, err := tosca.Open(t.Context(), pkg)
	check(t, err)
	v.vnfdID = opened.VNFD().ID
	check(t, opened.Close())
	v.world, err = sandbox.Open(config)
	check(t, err)
	pool := sshexec.NewPool(sshexec.Options{Dial: v.world.Dial})
	v.Manager, err = vnflcm.New(t.Context(), vnflcm.Config{
		Store: store.NewMemory(), Key: bytes.Repeat([]byte{1}, 32),
		Packages: vnflcm.DirPackages(pkg),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": v.world},
		Mgmt: map[string]vnflcm.MgmtDriver{
			"mgmt-drivers-kubernetes":       kubeadm.New(kubeadm.Config{Pool: pool}),
			"mgmt-drivers-private-registry": registry.New(registry.Config{Pool: pool}),
		},
		Observe: v.observe,
		Logger:  slog.New(slog.NewTextHandler(&v.log, nil)),
	})
	check(t, err)
	t.Cleanup(func() {
		check(t, v.Close(context.WithoutCancel(t.Context())))
		check(t, pool.Close())
		check(t, v.world.Close())
	})
	check(t, v.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "sandbox", VimType: "sandbox"}))
	return v
}

func (v *vnfm) observe(e vnflcm.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	infra := !strings.ContainsAny(e.Phase, "_:") // a step of the infrastructure driver
	if e.Kind == vnflcm.StepDone && !infra {
		v.steps[e.Name] = true
		v.order = append(v.order, e.Name)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// instance makes an instance.
func (v *vnfm) instance(t *testing.T) string {
	t.Helper()
	inst, err := v.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: v.vnfdID})
	check(t, err)
	return inst.ID
}

// sample is an instantiate request of the package, with a JSON merge patch on its cluster parameters.
func sample(t *testing.T, file, patch string) vnflcm.InstantiateVnfRequest {
	t.Helper()
	body, err := os.ReadFile(samples + "/requests/" + file)
	check(t, err)
	var r vnflcm.InstantiateVnfRequest
	_, err = vnflcm.DecodeRequest(body, &r)
	check(t, err)
	r.VimConnectionInfo = vnflcm.VimConnections{{ID: "1", VimID: "sandbox", VimType: "sandbox"}}
	over, err := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param":` + patch + `}`))
	check(t, err)
	r.AdditionalParams, err = r.AdditionalParams.Merge(over)
	check(t, err)
	return r
}

// must waits for an operation that has to end well.
func (v *vnfm) must(t *testing.T, op string, err error) {
	t.Helper()
	check(t, err)
	_, err = v.Wait(t.Context(), op)
	check(t, err)
}

func TestSampleValues(t *testing.T) {
	t.Run("host bits are masked", func(t *testing.T) {
		v := newVNFM(t)
		op, err := v.Instantiate(t.Context(), v.instance(t), sample(t, "instantiate_sandbox.json", `{"master_node":{"pod_cidr":"192.168.3.0/16"}}`))
		v.must(t, op, err)
		if log := v.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "192.168.0.0/16") {
			t.Errorf("no warning in the log:\n%s", log)
		}
	})
	const at = "additionalParams.k8s_cluster_installation_param."
	for name, c := range map[string]struct {
		file, patch string
		faults      []string // path: reason
	}{
		"ports that are none": {"instantiate_sandbox.json",
			`{"proxy":{"http_proxy":"http://user1:password1@host1:port1","https_proxy":"https://user2:password2@host2:port2"}}`,
			[]string{at + "proxy.http_proxy: the port is not a number", at + "proxy.https_proxy: the port is not a number"}},
		"volumes of nobody": {"instantiate_sandbox.json", `{"pv_registration_params":[{"pv_manifest_file_path":"pv.yaml","nfs_server_cp":"CP9"}]}`,
			[]string{at + "pv_registration_params: has no effect without storage_server, which exports them"}},
		"no such files": {"instantiate_sandbox.json",
			`{"helm_installation_script_path":"h.sh","private_registry_connection_info":{"connection_type":1,"server":"r:5000","certificate_path":"ca.crt"}}`,
			[]string{at + `helm_installation_script_path: "h.sh": the package has no such file`,
				at + `private_registry_connection_info[0].certificate_path: "ca.crt": the package has no such file`}},
		"what a script does not see": {"instantiate_script.json",
			`{"api_endpoint":"lb:6443","packages":{"source":"installed"},"flannel":{"backend":"host-gw"},"kubelet_configuration":{"maxPods":50},` +
				`"kube_proxy_configuration":{"mode":"nftables"},"ignore_preflight_errors":["Mem"],"cluster_configuration":{"clusterName":"a"},"init_configuration":{"timeouts":{}},` +
				`"kubeadm_patches":[{"target":"etcd","patch":{}}],"control_plane_files":[{"path":"/etc/kubernetes/a/b","content":"c"}]}`,
			[]string{at + `api_endpoint: "lb:6443": has no effect with script_path: the script sets up the endpoint`,
				at + "cluster_configuration: has no effect with script_path: the script runs kubeadm",
				at + "control_plane_files: has no effect with script_path: the script runs kubeadm",
				at + "flannel: has no effect with cni_manifest_path or script_path: leave it out, or them",
				at + "ignore_preflight_errors: has no effect with script_path: the script runs kubeadm",
				at + "init_configuration: has no effect with script_path: the script runs kubeadm",
				at + "kube_proxy_configuration: has no effect with script_path: the script runs kubeadm",
				at + "kubeadm_patches: has no effect with script_path: the script runs kubeadm",
				at + "kubelet_configuration: has no effect with script_path: the script runs kubeadm",
				at + `packages.source: "installed": has no effect with script_path: the script installs what it needs`}},
		"networks that overlap": {"instantiate_sandbox.json", `{"master_node":{"pod_cidr":"10.0.0.0/8"}}`,
			[]string{at + `master_node.pod_cidr: "10.0.0.0/8": overlaps cluster_cidr 10.96.0.0/12`}},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVNFM(t)
			_, err := v.Instantiate(t.Context(), v.instance(t), sample(t, c.file, c.patch))
			if diff := cmp.Diff(c.faults, faults(err)); diff != "" {
				t.Errorf("faults:\n%s", diff)
			}
			if err == nil || strings.Contains(err.Error(), "password") {
				t.Errorf("the error is %v", err)
			}
			if hosts := v.world.Hosts(); len(hosts) > 0 {
				t.Errorf("%d machines were made for a request that was refused", len(hosts))
			}
		})
	}
}

// faults lists the faults in an error, sorted.
func faults(err error) []string {
	var out []string
	//nolint:errorlint // looks into joins, at every error there is
	switch e := err.(type) {
	case *vnflcm.ParamError:
		out = append(out, e.Error())
	case interface{ Unwrap() []error }:
		for _, each := range e.Unwrap() {
			out = append(out, faults(each)...)
		}
	case interface{ Unwrap() error }:
		out = faults(e.Unwrap())
	}
	slices.Sort(out)
	return out
}

func TestForms(t *testing.T) {
	type attributes struct {
		UseHelm  bool     `json:"use_helm"`
		Type     string   `json:"connection_type"`
		Port     int      `json:"port"`
		MasterIP []string `json:"masternode_ip"`
		Password vnflcm.Secret
	}
	for text, want := range map[string]attributes{
		`{"use_helm":"true","connection_type":"0","port":5000}`: {UseHelm: true, Type: "0", Port: 5000},
		`{"use_helm":"False","connection_type":0,"port":"80"}`:  {Type: "0", Port: 80},
		`{"use_helm":true,"masternode_ip":"10.0.0.1"}`:          {UseHelm: true, MasterIP: []string{"10.0.0.1"}},
		`{"use_helm":null,"masternode_ip":["a","b"]}`:           {MasterIP: []string{"a", "b"}},
	} {
		p, err := vnflcm.ParseParams([]byte(text))
		check(t, err)
		var got attributes
		unknown, err := p.Decode(&got)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || unknown != nil {
			t.Errorf("%s: %v, unknown %v\n%s", text, err, unknown, diff)
		}
	}

	for text, want := range map[string]string{
		`{"vimConnectionInfo":{"b":{"vimId":"2"},"a":{"vimId":"1"},"c":null}}`:                 `[{"id":"a","vimId":"1"},{"id":"b","vimId":"2"}]`,
		`{"vimConnectionInfo":[{"id":"a","vimId":"1"}],"targetScaleLevelInfo":[],"what":{}}`:   `[{"id":"a","vimId":"1"}]`,
		`{"vimConnectionInfo":{"a":{"id":"own","vimId":"1"}},"extensions":null,"what":"else"}`: `[{"id":"own","vimId":"1"}]`,
	} {
		var r vnflcm.InstantiateVnfRequest
		warnings, err := vnflcm.DecodeRequest([]byte(text), &r)
		check(t, err)
		got, err := json.Marshal(r.VimConnectionInfo)
		check(t, err)
		if string(got) != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
		if strings.Contains(text, "what") != slices.Contains(warnings, "what: is no attribute of this request") {
			t.Errorf("%s: warnings %q", text, warnings)
		}
	}

	for _, text := range []string{
		`{"additionalParams":"***"}`, `{"flavourId":{}}`, `{"flavourId":["a"]}`, `{"targetScaleLevelInfo":["hunter2"]}`, `{} {}`, `null`,
	} {
		_, err := vnflcm.DecodeRequest([]byte(text), new(vnflcm.InstantiateVnfRequest))
		if !errors.Is(err, vnflcm.ErrInvalidRequest) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
