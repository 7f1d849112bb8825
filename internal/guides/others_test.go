package guides_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/tackertest"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// resources returns the Manager's VNFCs of an instance.
func (l *lab) resources(id string) []vnflcm.VnfcResourceInfo {
	l.t.Helper()
	inst, err := l.manager.Get(l.t.Context(), id)
	must(l.t, err)
	return inst.InstantiatedVnfInfo.VnfcResourceInfo
}

// TestRegistry is mgmt_driver_deploy_k8s_cir_usage_guide: a private registry, and a cluster that uses it.
func TestRegistry(t *testing.T) {
	t.Parallel()
	l := newLab(t, sandbox.Config{PublicImages: []string{"registry:latest"}})
	l.addVIM("8d8373fe-6977-49ff-83ac-7756572ed186", "openstack")
	l.addVIM("05ef7ca5-7e32-4a6b-a03d-52f811f04496", "openstack")
	uri, id := l.instantiated("v1", l.addPackage("private-registry", nil), "registry", strings.ReplaceAll(proxy, "k8s_cluster_installation_param", "private_registry_installation_param"))
	l.run(uri+"/heal", l.body("heal_v1", fmt.Sprintf(`{"vnfcInstanceId":%q}`, l.vnfcs(uri, "PrivateRegistryVDU")[0])))
	l.run(uri+"/heal", []byte(`{}`))
	connection, err := registry.ConnectionOf(l.resources(id)[0])
	must(t, err)
	// The flavour simple has no vip_CP, neither here nor in the package of the guide.
	l.instantiated("v1", l.addPackage("k8s-cluster", script(t)), "registry_cluster", strings.TrimSuffix(proxy, "}}}")+fmt.Sprintf(
		`,"master_node":{"cluster_cp_name":"masterNode_CP1"},"private_registry_connection_info":[{"connection_type":"0","server":%q}]}}}`, connection.Server))
	l.wantNodes(1, 1)
}

// storage is the VDU of the guide for persistent volumes.
const storage = `
    storage_server:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: storage_server, description: NFS server, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}}
      capabilities: {virtual_compute: {properties: {virtual_memory: {virtual_mem_size: 4 GiB}, virtual_cpu: {num_virtual_cpu: 2}}}}
      requirements:
        - virtual_storage: storage_server_volume

    storage_server_volume:
      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage
      properties: {virtual_block_storage_data: {size_of_storage: 5 GB}}

    storage_server_CP:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4], order: 0}
      requirements:
        - virtual_binding: storage_server

    masterNode_CP1:
`

// TestVolumes is mgmt_driver_deploy_k8s_pv_usage_guide: a cluster with an NFS server.
func TestVolumes(t *testing.T) {
	t.Parallel()
	l := newLab(t, sandbox.Config{})
	l.addVIM("8d8373fe-6977-49ff-83ac-7756572ed186", "openstack")
	files := with(script(t), replaceIn(t, "k8s-cluster", "\n    masterNode_CP1:\n", storage))
	for i, size := range []string{"1Gi", "2Gi"} {
		files[fmt.Sprintf("Files/kubernetes/nfs-pv%d.yaml", i+1)] = fmt.Sprintf("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: nfs-pv%d}\n"+
			"spec: {capacity: {storage: %s}, persistentVolumeReclaimPolicy: Retain, accessModes: [ReadWriteOnce], nfs: {server: 0.0.0.0, path: /volume/nfs/pv%[1]d}}\n", i+1, size)
	}
	uri, _ := l.instantiated("v1", l.addPackage("k8s-cluster", files), "pv", proxy)
	l.wantNodes(1, 1)
	l.run(uri+"/heal", l.body("heal_v1", fmt.Sprintf(`{"vnfcInstanceId":%q}`, l.vnfcs(uri, "storage_server")[0])))
}

// credentials take the place of those that a request of the guide changes: machines of the sandbox have one login.
const credentials = `"additionalParams":{"k8s_cluster_installation_param":{"worker_node":{"password":"ubuntu"},
	"ansible":{"ip_address":"10.10.0.50","username":"ubuntu","password":"ubuntu"},"external_lb_param":{"ssh_username":"ubuntu","ssh_password":"ubuntu"}}}`

// TestKubespray is mgmt_driver_deploy_k8s_kubespary_usage_guide: a cluster behind a load balancer, and a CNF that is exposed there.
func TestKubespray(t *testing.T) {
	t.Parallel()
	l := newLab(t, sandbox.Config{
		Floating: map[string]string{"masterNode_FloatingIP": "masterNode_CP1", "workerNode_FloatingIP": "workerNode_CP2", "externalLB_FloatingIP": "externalLB_CP3"},
		Ansible: []sandbox.AnsibleServer{{Address: netip.MustParseAddr("10.10.0.50"), User: "ubuntu", Password: "ubuntu", Root: "/home/ubuntu/kubespray-2.16.0",
			Version: "2.10.17", Kubespray: "2.16.0", Sshpass: true}},
	})
	l.addVIM("c3369b54-e376-4423-bb61-afd255900fea", "openstack")
	vnfd := l.addPackage("k8s-cluster-kubespray", replaceIn(t, "k8s-cluster-kubespray", "externalLB_CP1", "externalLB_CP3"))
	uri, id := l.instantiated("v1", vnfd, "kubespray", proxy)
	l.wantNodes(1, 1)
	l.run(uri+"/scale", l.body("kubespray_scale_out", "{"+credentials+"}"))
	l.wantNodes(1, 2)
	l.run(uri+"/scale", l.body("kubespray_scale_in", "{"+credentials+"}"))
	l.wantNodes(1, 1)
	l.run(uri+"/heal", l.body("kubespray_heal", fmt.Sprintf(`{"vnfcInstanceId":%q}`, l.vnfcs(uri, "workerNode")[0])))
	l.wantNodes(1, 1)
	l.run(uri+"/heal", []byte(`{}`))
	l.wantNodes(1, 1)

	address := ""
	for _, v := range l.resources(id) {
		for _, cp := range v.VnfcCpInfo {
			if cp.CpdID == "externalLB_FloatingIP" {
				address = cp.CpProtocolInfo[0].IPOverEthernet.IPAddresses[0].Addresses[0]
			}
		}
	}
	manifests := map[string]string{"Scripts/configure_lb.sh": "exit 0\n",
		"Files/kubernetes/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vdu1-simple, namespace: default}\n" +
			"spec: {replicas: 1, selector: {matchLabels: {app: nginx}}, template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: 'nginx:1.7.9'}]}}}\n",
		"Files/kubernetes/service_with_nodeport.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: nginx-service, namespace: default}\n" +
			"spec: {type: NodePort, selector: {app: nginx}, ports: [{port: 80, nodePort: 30422, name: http}, {port: 8080, nodePort: 32019, name: tcp}]}\n",
		"Files/kubernetes/service_without_nodeport.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: nginx-service, namespace: kube-system}\n" +
			"spec: {type: NodePort, selector: {app: nginx}, ports: [{port: 80}]}\n"}
	l.addCNF(manifests, "mgmt-drivers-cnf-nodeport", []string{"instantiate_end", "terminate_end", "scale_start", "scale_end", "heal_start", "heal_end"}, tackertest.VDU{ID: "VDU1", Name: "vdu1-simple"})
	cnf, _ := l.instantiated("v1", cnfVNFD, "nodeport", vim(id)+fmt.Sprintf(`,"additionalParams":{"lcm-kubernetes-external-lb":{"external_lb_param":{"ssh_ip":%q}}}}`, address))
	config := func() string {
		t.Helper()
		text, err := afero.ReadFile(l.world.Host("externalLB-0").FS(), loadbalancer.ConfigFile)
		must(t, err)
		return string(text)
	}
	if text := config(); !strings.Contains(text, ":30422") || !strings.Contains(text, ":32019") {
		t.Errorf("the load balancer does not lead to the node ports:\n%s", text)
	}
	l.run(cnf+"/heal", []byte(`{}`))
	l.run(cnf+"/terminate", []byte(`{"terminationType":"FORCEFUL"}`))
	if text := config(); strings.Contains(text, ":30422") {
		t.Errorf("the load balancer leads to the node ports of a CNF that was terminated:\n%s", text)
	}
}
