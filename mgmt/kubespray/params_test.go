package kubespray_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const pathReason = "must be an absolute path of letters, digits and . _ @ + - without /../"

// parameterFaults are merge patches of the good parameters, each with the faults that it causes.
var parameterFaults = []struct {
	name, patch string
	want        []string
}{
	{"no nodes", `{"master_node":null,"worker_node":null}`, []string{
		"master_node.password: is required, unless there is a private_key", "master_node.ssh_cp_name: is required", "master_node.username: is required",
		"worker_node.password: is required, unless there is a private_key", "worker_node.ssh_cp_name: is required", "worker_node.username: is required"}},
	{"unknown connection points", `{"master_node":{"cluster_cp_name":"CP7"},"worker_node":{"ssh_cp_name":"CP8","nic_cp_name":"CP9"}}`, []string{
		`master_node.cluster_cp_name: "CP7": the flavour has no such connection point; VDUs have externalLB_CP1, externalLB_CP2, masterNode_CP1, workerNode_CP2`,
		`worker_node.nic_cp_name: "CP9": the flavour has no such connection point; VDUs have externalLB_CP1, externalLB_CP2, masterNode_CP1, workerNode_CP2`, `worker_node.ssh_cp_name: "CP8": the flavour has no such connection point; VDUs have externalLB_CP1, externalLB_CP2, masterNode_CP1, workerNode_CP2`}},
	{"workers that are masters", `{"worker_node":{"ssh_cp_name":"masterNode_CP1","nic_cp_name":null,"aspect_id":null}}`, []string{
		`worker_node.ssh_cp_name: "masterNode_CP1": is of VDU masterNode, whose machines are control-plane nodes`}},
	{"VDU without the connection point", `{"worker_node":{"vdu_id":"masterNode"}}`, []string{
		`worker_node.vdu_id: "masterNode": does not have connection point workerNode_CP2, which is of VDU workerNode`}},
	{"load balancer that is a worker", `{"external_lb_param":{"ssh_cp_name":"workerNode_CP2"}}`, []string{
		`external_lb_param.ssh_cp_name: "workerNode_CP2": is of VDU workerNode, whose machines are workers`}},
	{"load balancer without anything", `{"external_lb_param":{"ssh_cp_name":null,"ssh_username":null,"ssh_password":null,"script_path":"Scripts/none.sh"}}`, []string{
		`external_lb_param.script_path: "Scripts/none.sh": the package has no such file`, "external_lb_param.ssh_cp_name: is required",
		"external_lb_param.ssh_password: is required, unless there is a ssh_private_key", "external_lb_param.ssh_username: is required"}},
	{"networks", `{"master_node":{"pod_cidr":"10.0.0.1","cluster_cidr":"fd00::/112"}}`, []string{
		`master_node.cluster_cidr: "fd00::/112": must be an IPv4 network: clusters of kubespray are made with IPv4`,
		`master_node.pod_cidr: "10.0.0.1": must be a network such as 10.244.0.0/16`}},
	{"service network too large", `{"master_node":{"cluster_cidr":"172.0.0.0/8"}}`, []string{`master_node.cluster_cidr: "172.0.0.0/8": must be from /12 to /28`}},
	{"networks overlap", `{"master_node":{"pod_cidr":"10.96.0.0/16"}}`, []string{`master_node.pod_cidr: "10.96.0.0/16": overlaps cluster_cidr 10.96.0.0/12`}},
	{"keys", `{"master_node":{"private_key":"hunter2"},"worker_node":{"passphrase":"hunter2"},"external_lb_param":{"ssh_private_key":"hunter2"},"ansible":{"private_key":"hunter2","host_key":"hunter2"}}`, []string{
		"ansible.host_key: must be a public key in authorized_keys form, as ssh-keyscan writes it after the host name",
		"ansible.private_key: must be a private key in PEM or OpenSSH form, with the passphrase that protects it and only then",
		"external_lb_param.ssh_private_key: must be a private key in PEM or OpenSSH form, with the passphrase that protects it and only then",
		"master_node.private_key: must be a private key in PEM or OpenSSH form, with the passphrase that protects it and only then",
		"worker_node.passphrase: is of no use without private_key"}},
	{"host keys", `{"master_node":{"host_keys":["hunter2"]},"worker_node":{"host_keys":["ssh-ed25519"]},"external_lb_param":{"ssh_host_keys":["hunter2"]}}`, []string{
		"external_lb_param.ssh_host_keys[0]: must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub",
		"master_node.host_keys[0]: must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub",
		"worker_node.host_keys[0]: must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub"}},
	{"no Ansible server", `{"ansible":null}`, []string{
		"ansible.ip_address: is required: the VNFM has no default Ansible server", "ansible.kubespray_root_path: is required"}},
	{"Ansible server", `{"ansible":{"ip_address":"10.9.0.300","port":70000,"username":"","password":"","kubespray_root_path":"kubespray","transferring_inventory_path":"/a/../b"}}`, []string{
		`ansible.ip_address: "10.9.0.300": must be an address or a host name`, `ansible.kubespray_root_path: "kubespray": ` + pathReason,
		"ansible.password: is required, unless there is a private_key", `ansible.port: "70000": must be from 1 to 65535`,
		`ansible.transferring_inventory_path: "/a/../b": ` + pathReason, "ansible.username: is required"}},
	{"hostile paths", `{"ansible":{"kubespray_root_path":"/k $(touch /pwned)","transferring_inventory_path":"/i\n[all:vars]"}}`, []string{
		`ansible.kubespray_root_path: "/k $(touch /pwned)": ` + pathReason, `ansible.transferring_inventory_path: "/i\n[all:vars]": ` + pathReason}},
	{"proxy", `{"proxy":{"http_proxy":"http://u:hunter2@host:port1","no_proxy":"$(x)"}}`, []string{
		"proxy.http_proxy: the port is not a number", "proxy.no_proxy: may hold names, addresses and networks, separated by commas, and nothing else"}},
	{"choices", `{"kubespray_groups":"new","drain_policy":"Maybe","vim_registration":{"token":"file"}}`, []string{
		`drain_policy: "Maybe": must be Fail, Delete or Continue`, `kubespray_groups: "new": must be "auto", "current" or "legacy"`,
		`vim_registration.token: "file": must be "secret" or "request"`}},
}

// refused checks that the operation was refused and that the driver ran no program on the Ansible server.
func (l *lab) refused(err error) {
	l.t.Helper()
	l.Refused(err)
	if n := len(l.server().Commands()); n > 0 {
		l.t.Errorf("%d programs ran on the Ansible server", n)
	}
}

func TestParameterFaults(t *testing.T) {
	t.Parallel()
	for _, c := range parameterFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			_, _, err := l.Begin(sample, with(t, c.patch))
			l.refused(err)
			if diff := cmp.Diff(clustertest.Under(param, c.want), mgmttest.Faults(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAllFaultsAtOnce puts several faults into one request and expects all of them to be reported.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var changes []mgmttest.Change
	var want []string
	for _, c := range parameterFaults {
		if slices.Contains([]string{"unknown connection points", "networks", "Ansible server", "proxy", "choices", "load balancer without anything"}, c.name) {
			changes = append(changes, with(t, c.patch))
			want = append(want, clustertest.Under(param, c.want)...)
		}
	}
	_, _, err := l.Begin(sample, changes...)
	l.refused(err)
	slices.Sort(want)
	if diff := cmp.Diff(want, mgmttest.Faults(err)); diff != "" {
		t.Error(diff)
	}
}

func TestLeniency(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Instantiated(sample, with(t, `{"script_path":"Scripts/any.sh","master_node":{"pod_cidr":"192.168.3.0/16","colour":"blue"},"ansible":{"port":"22"},
		"proxy":{"http_proxy":"http://proxy:3128"}}`))
	log := l.Log()
	for _, warning := range []string{`"attribute":"additionalParams.` + param + `.master_node.colour"`, `"given":"192.168.3.0/16","used":"192.168.0.0/16"`,
		`it takes both http_proxy and https_proxy`, `script_path has no effect`} {
		if n := strings.Count(log, warning); n != 1 {
			t.Errorf("%d warnings with %s", n, warning)
		}
	}
	if vars := read(t, l.server(), inventory+"/group_vars/k8s_cluster/zz_vnfkit.yml"); !strings.Contains(vars, `kube_pods_subnet: "192.168.0.0/16"`) {
		t.Error(vars)
	}
}

// TestSpecificationRequest validates the specification's sample request against the sample package.
func TestSpecificationRequest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("../../vnflcm/testdata/requests", "instantiate_kubespray_cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	var req vnflcm.InstantiateVnfRequest
	if _, err := vnflcm.DecodeRequest(data, &req); err != nil {
		t.Fatal(err)
	}
	mgmttest.OnSandbox(&req)
	req.FlavourID, req.InstantiationLevelID = "simple", ""
	l := newLab(t)
	_, err = l.Instantiate(t.Context(), l.Created(), req)
	l.refused(err)
	// The faults of the specification's sample are faults for Tacker too: ports that are not numbers, and values that the
	// user must fill in.
	want := []string{"ansible.ip_address: the address is not allowed: 0.0.0.0 belongs to this machine, to its links or to a metadata service",
		"ansible.kubespray_root_path: is required",
		`external_lb_param.script_path: "./Scripts/ExternalLB_installation.sh": the package has no such file`,
		`external_lb_param.ssh_cp_name: "externalLB_instance": the flavour has no such connection point; VDUs have externalLB_CP1, externalLB_CP2, masterNode_CP1, workerNode_CP2`,
		"proxy.http_proxy: the port is not a number", "proxy.https_proxy: the port is not a number"}
	if diff := cmp.Diff(clustertest.Under(param, want), mgmttest.Faults(err)); diff != "" {
		t.Error(diff)
	}
	with(t, `{"proxy":{"http_proxy":"http://user1:password1@host1:3128","https_proxy":"https://user2:password2@host2:3129"},
		"ansible":{"ip_address":"10.9.0.1","password":"`+serverPassword+`","kubespray_root_path":"`+root+`"},
		"external_lb_param":{"ssh_cp_name":"externalLB_CP1","script_path":"Scripts/install_external_lb.sh"}}`)(&req)
	id := l.Created()
	opID, err := l.Instantiate(t.Context(), id, req)
	l.Must(opID, err)
	vars := read(t, l.server(), "/home/ansible/.vnfkit/kubespray/"+id+"/group_vars/all/zz_vnfkit_secrets.yml")
	for _, url := range []string{"http://user1:password1@host1:3128", "https://user2:password2@host2:3129"} {
		if !strings.Contains(vars, url) {
			t.Errorf("the variables lack the proxy %s", url)
		}
	}
}

// TestTargets checks that an operation that kubespray cannot do is refused with advice what to do instead.
func TestTargets(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: kubespray.Config{ConfirmWholeHeal: true}})
	id := l.Instantiated(sample, clustertest.Sized("complex", 0))
	ran := len(l.server().Commands())
	_, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	if faults := mgmttest.Faults(err); len(faults) != 1 || !strings.HasPrefix(faults[0], "additionalParams.all: is required") {
		t.Errorf("a heal of the whole VNF that is not confirmed: %v", err)
	}
	_, err = l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "master_instance"})
	if want := `aspectId: "master_instance": control-plane nodes cannot be scaled: choose their number when instantiating`; !slices.Contains(mgmttest.Faults(err), want) {
		t.Errorf("%v", err)
	}
	controlPlaneNode := l.vnfcs(id, "masterNode")[0].ID
	_, err = l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.vnfcs(id, "workerNode")[0].ID, controlPlaneNode}})
	if diff := cmp.Diff([]string{`vnfcInstanceId: "` + controlPlaneNode + `": is a control-plane node: kubespray has no playbook that replaces one; heal the whole VNF (without vnfcInstanceId)`}, mgmttest.Faults(err)); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if len(l.server().Commands()) != ran {
		t.Error("something was touched")
	}
}

// TestEvenControlPlane checks that an even number of control-plane nodes is refused before any machine is created.
// kubespray would refuse it only afterwards.
func TestEvenControlPlane(t *testing.T) {
	t.Parallel()
	const name = "Definitions/k8s_cluster_kubespray_df_complex.yaml"
	definition, err := os.ReadFile(filepath.Join(packageDir, name))
	if err != nil {
		t.Fatal(err)
	}
	more := strings.NewReplacer("max_scale_level: 0", "max_scale_level: 2", "max_number_of_instances: 3", "max_number_of_instances: 5").Replace(string(definition))
	l := openLab(t, setup{pkg: mgmttest.Package(t, packageDir, map[string]string{name: more})})
	levelled := func(level int) mgmttest.Change {
		return func(r *vnflcm.InstantiateVnfRequest) {
			r.FlavourID, r.InstantiationLevelID = "complex", ""
			r.TargetScaleLevelInfo = []vnflcm.ScaleInfo{{AspectID: "master_instance", ScaleLevel: level}}
		}
	}
	_, _, err = l.Begin(sample, levelled(1), with(t, `{"kubespray_groups":"new"}`))
	l.refused(err)
	want := []string{"additionalParams." + param + `.kubespray_groups: "new": must be "auto", "current" or "legacy"`, `flavourId: "complex": with its scale levels gives VDU masterNode 4 machines: ` +
		"kubespray takes an odd number of control-plane nodes only, since etcd is on each; choose a flavour or levels with 1, 3 or 5"}
	if diff := cmp.Diff(want, mgmttest.Faults(err)); diff != "" {
		t.Error(diff)
	}
	l.Instantiated(sample, levelled(2))
	l.WantNodes(5, 1, 0)
}
