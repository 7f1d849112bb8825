package kubeadm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// hostKey is a public key as machines have it.
const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0GyzJg3cR36MGIf67O27ExKWSE2/NuQh5OakXccX5d root@node"

// parameterFaults are merge patches of the good parameters, each with the faults that it causes.
var parameterFaults = []struct {
	name, patch string
	want        []string
}{
	{"no SSH connection point", `{"master_node":{"ssh_cp_name":null}}`, []string{"master_node.ssh_cp_name: is required"}},
	{"no user", `{"master_node":{"username":""}}`, []string{"master_node.username: is required"}},
	{"no password", `{"worker_node":{"password":""}}`, []string{"worker_node.password: is required, unless there is a private_key"}},
	{"no API connection point", `{"master_node":{"cluster_cp_name":null}}`, []string{"master_node.cluster_cp_name: is required"}},
	{"no workers", `{"worker_node":null}`, []string{"worker_node.password: is required, unless there is a private_key", "worker_node.ssh_cp_name: is required", "worker_node.username: is required"}},
	{"unknown connection point", `{"worker_node":{"ssh_cp_name":"CP9"}}`, []string{`worker_node.ssh_cp_name: "CP9": the flavour has no such connection point; VDUs have masterNode_CP1, workerNode_CP2`}},
	{"unknown NIC", `{"worker_node":{"nic_cp_name":"CP9"}}`, []string{`worker_node.nic_cp_name: "CP9": the flavour has no such connection point; VDUs have masterNode_CP1, workerNode_CP2`}},
	{"NIC of another machine", `{"worker_node":{"nic_cp_name":"masterNode_CP1"}}`, []string{
		`worker_node.nic_cp_name: "masterNode_CP1": is of VDU masterNode, but ssh_cp_name is of VDU workerNode`}},
	{"workers that are masters", `{"worker_node":{"ssh_cp_name":"masterNode_CP1","nic_cp_name":null,"aspect_id":null}}`, []string{
		`worker_node.ssh_cp_name: "masterNode_CP1": is of VDU masterNode, whose machines are control-plane nodes`}},
	{"aspect of another VDU", `{"worker_node":{"aspect_id":"master_instance"}}`, []string{
		`worker_node.aspect_id: "master_instance": does not scale VDU workerNode, which has connection point workerNode_CP2`}},
	{"VDU without the connection point", `{"worker_node":{"vdu_id":"masterNode"}}`, []string{
		`worker_node.vdu_id: "masterNode": does not have connection point workerNode_CP2, which is of VDU workerNode`}},
	{"pod_cidr is an address", `{"master_node":{"pod_cidr":"10.0.0.1"}}`, []string{`master_node.pod_cidr: "10.0.0.1": must be a network such as 10.244.0.0/16`}},
	{"cluster_cidr is text", `{"master_node":{"cluster_cidr":"x; rm -rf /"}}`, []string{`master_node.cluster_cidr: "x; rm -rf /": must be a network such as 10.244.0.0/16`}},
	{"networks overlap", `{"master_node":{"pod_cidr":"10.96.0.0/16"}}`, []string{`master_node.pod_cidr: "10.96.0.0/16": overlaps cluster_cidr 10.96.0.0/12`}},
	{"networks too small", `{"master_node":{"pod_cidr":"10.244.0.0/25","cluster_cidr":"10.96.0.0/29"}}`, []string{
		`master_node.cluster_cidr: "10.96.0.0/29": must be from /12 to /28`,
		`master_node.pod_cidr: "10.244.0.0/25": must be from /8 to /24: each node gets a /24 of it`}},
	{"networks too large", `{"master_node":{"pod_cidr":"10.0.0.0/7","cluster_cidr":"172.0.0.0/11"}}`, []string{
		`master_node.cluster_cidr: "172.0.0.0/11": must be from /12 to /28`,
		`master_node.pod_cidr: "10.0.0.0/7": must be from /8 to /24: each node gets a /24 of it`}},
	{"IPv6 networks too large", `{"master_node":{"pod_cidr":"fd01::/47","cluster_cidr":"fd02::/107"}}`, []string{
		`master_node.cluster_cidr: "fd02::/107": must be from /108 to /124`,
		`master_node.pod_cidr: "fd01::/47": must be from /48 to /64: each node gets a /64 of it`}},
	{"manifest is missing", `{"cni_manifest_path":"Files/none.yaml"}`, []string{`cni_manifest_path: "Files/none.yaml": the package has no such file`}},
	{"script is missing", `{"script_path":"Scripts/none.sh"}`, []string{`script_path: "Scripts/none.sh": the package has no such file`}},
	{"version", `{"kubernetes_version":"1.34"}`, []string{`kubernetes_version: "1.34": must be a full version such as 1.36.3`}},
	{"version with a command", `{"kubernetes_version":"1.34.4; id"}`, []string{`kubernetes_version: "1.34.4; id": must be a full version such as 1.36.3`}},
	{"proxy", `{"proxy":{"http_proxy":"http://u:hunter2@h:port1","https_proxy":"x","no_proxy":"$(id)","k8s_node_cidr":"y"}}`, []string{
		"proxy.http_proxy: the port is not a number", "proxy.https_proxy: must begin with http:// or https://",
		`proxy.k8s_node_cidr: "y": must be a network such as 10.10.0.0/24`,
		"proxy.no_proxy: may hold names, addresses and networks, separated by commas, and nothing else"}},
	{"registry", `{"private_registry_connection_info":[{"connection_type":"2","password":"hunter2"},{"connection_type":0,"server":"a\";b/../c"},{"connection_type":1,"server":"r","username":"u:v"},{"connection_type":0,"server":"R","username":"u","password":"hunter2","certificate_path":"c","hosts_string":"1.2.3.4","probe_image":"r/p:1:2"}]}`, []string{
		`private_registry_connection_info[0].connection_type: "2": must be 0 (HTTP) or 1 (HTTPS)`,
		"private_registry_connection_info[0].server: is required",
		`private_registry_connection_info[1].server: "a\";b/../c": must be a host name or address, with or without a port: 192.168.0.10:5000`,
		"private_registry_connection_info[2].password: is required with a username",
		"private_registry_connection_info[2].username: may hold neither a colon nor control characters, and no more than 16384 bytes",
		`private_registry_connection_info[3].certificate_path: "c": the package has no such file`,
		`private_registry_connection_info[3].hosts_string: "1.2.3.4": must be an address and a host name: "192.168.0.20 registry.example.com"`,
		`private_registry_connection_info[3].probe_image: "r/p:1:2": must be the name of an image without the server, such as team/pause:3.10`,
		`private_registry_connection_info[3].server: "R": is the one of private_registry_connection_info[2] too: connect to each registry once`}},
	{"Helm", `{"helm_installation_script_path":"Scripts/no.sh"}`, []string{`helm_installation_script_path: "Scripts/no.sh": the package has no such file`}},
	{"host keys", `{"master_node":{"host_keys":["hunter2"]},"worker_node":{"host_keys":["` + hostKey + `","` + hostKey + `\n` + hostKey + `"]},
		"external_lb_param":{"ssh_host_keys":[""]},"storage_server":{"host_keys":["-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2"]}}`, []string{
		"external_lb_param.ssh_cp_name: is required",
		"external_lb_param.ssh_host_keys[0]: must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub",
		"external_lb_param.ssh_password: is required, unless there is a ssh_private_key", "external_lb_param.ssh_username: is required",
		"master_node.host_keys[0]: must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub",
		"storage_server.host_keys[0]: must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub",
		"storage_server.nfs_server_setup_params: is required: without it nothing is exported", "storage_server.password: is required, unless there is a private_key",
		"storage_server.ssh_cp_name: is required", "storage_server.username: is required",
		"worker_node.host_keys[1]: must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub"}},
	{"drain policy", `{"drain_policy":"delete"}`, []string{`drain_policy: "delete": must be Fail, Delete or Continue`}},
	{"storage", `{"storage_server":{},"pv_registration_params":[{}]}`, []string{
		"pv_registration_params[0].nfs_server_cp: is required", "pv_registration_params[0].pv_manifest_file_path: is required",
		"storage_server.nfs_server_setup_params: is required: without it nothing is exported", "storage_server.password: is required, unless there is a private_key",
		"storage_server.ssh_cp_name: is required", "storage_server.username: is required"}},
	{"volumes without a server", `{"pv_registration_params":[{}]}`, []string{"pv_registration_params: has no effect without storage_server, which exports them"}},
	{"upgrade", `{"upgrade":{"max_unavailable":2}}`, []string{"upgrade: has an effect in a request to upgrade only"}},
	{"containerd too old", `{"kubernetes_version":"1.38.1","packages":{"containerd_version":"1.7.*"}}`, []string{
		`packages.containerd_version: "1.7.*": is too old for Kubernetes 1.38: kubelets work with containerd 1 up to Kubernetes 1.37, later versions take containerd 2`}},
	{"containerd of the system too old", `{"kubernetes_version":"1.38.1"}`, []string{
		"packages.containerd_version: is required, unless containerd_package is containerd.io: version 1, which Debian and Ubuntu have, " +
			"is too old for Kubernetes 1.38: kubelets work with containerd 1 up to Kubernetes 1.37, later versions take containerd 2"}},
	{"validity", `{"certificate_validity":"1 year"}`, []string{`certificate_validity: "1 year": must be a time in whole seconds such as 8760h, from 1m to 87600h, after which the CAs end`}},
	{"long validity", `{"certificate_validity":"87601h"}`, []string{`certificate_validity: "87601h": must be a time in whole seconds such as 8760h, from 1m to 87600h, after which the CAs end`}},
	{"short validity", `{"certificate_validity":"719h"}`, []string{
		`certificate_validity: "719h": is less than 720h (30 days), which the program does not allow: the cluster would end if its certificates were not renewed`}},
	{"validity with an old version", `{"kubernetes_version":"1.30.14","certificate_validity":"720h"}`, []string{
		`certificate_validity: "720h": kubeadm has no such setting in Kubernetes 1.30.14: it does from 1.31 on`}},
	{"old version", `{"kubernetes_version":"1.21.14"}`, []string{`kubernetes_version: "1.21.14": is not supported: 1.22.0 and later versions 1 are`}},
	{"endpoint", `{"api_endpoint":"lb.example.org:0"}`, []string{`api_endpoint: "lb.example.org:0": must be a host name or address, with or without a port: lb.example.org:6443, [2001:db8::1]:6443`}},
	{"endpoint with a command", `{"api_endpoint":"$(id)"}`, []string{`api_endpoint: "$(id)": must be a host name or address, with or without a port: lb.example.org:6443, [2001:db8::1]:6443`}},
	{"labels", `{"worker_node":{"labels":{"a b":"x","tier":"-","kubernetes.io/hostname":"other","example.org/ok":""}}}`, []string{
		`worker_node.labels.kubernetes.io/hostname: "other": is set by Kubernetes itself: leave it out`,
		`worker_node.labels.tier: "-": is no value of a label: up to 63 letters, digits, -, _ and ., the first and the last a letter or digit`,
		`worker_node.labels: "a b": is no key of a label: up to 63 letters, digits, -, _ and ., after a DNS name and / if need be`}},
	{"taints", `{"master_node":{"taints":["a:NoSchedule","a=b:NoSchedule","a=b","a:Never"]}}`, []string{
		`master_node.taints[1]: "a=b:NoSchedule": has the key and the effect of another taint of the list`,
		`master_node.taints[2]: "a=b": must be key=value:Effect or key:Effect with the effect NoSchedule, PreferNoSchedule or NoExecute`,
		`master_node.taints[3]: "a:Never": must be key=value:Effect or key:Effect with the effect NoSchedule, PreferNoSchedule or NoExecute`}},
	{"kubelet settings", `{"kubelet_configuration":{"authentication":{"anonymous":{"enabled":true}},"cgroupDriver":"none","failSwapOn":"x","featureGates":{"A":"yes"},"a b":1},
		"kube_proxy_configuration":{"kind":"x"},"ignore_preflight_errors":["All","Num CPU"]}`, []string{
		`ignore_preflight_errors[0]: "All": kubeadm takes no "all" in its configuration: name the checks, as its messages do`,
		`ignore_preflight_errors[1]: "Num CPU": is no name of a check, such as NumCPU`,
		"kube_proxy_configuration.kind: is set by kubeadm and must stay so: leave it out",
		"kubelet_configuration.authentication: is set by kubeadm and must stay so: leave it out",
		"kubelet_configuration.cgroupDriver: must be systemd or cgroupfs", "kubelet_configuration.failSwapOn: must be true or false",
		"kubelet_configuration.featureGates.A: must be true or false", `kubelet_configuration: "a b": is no name of a setting`}},
	{"user configuration", `{"cluster_configuration":{"kubernetesVersion":"v1.36.3","networking":{"podSubnet":"10.9.0.0/16","dnsDomain":"example.org"},"a b":1,
		"apiServer":{"certSANs":"x","extraArgs":[{"name":"secure-port","value":"443"},{"name":"authorization-mode","value":"RBAC"},{"name":"profiling","value":"false"}]},
		"scheduler":{"extraArgs":"--x"},"etcd":{"local":{"dataDir":"/x","extraArgs":{"name":"x"}}},"proxy":{"disabled":true}},
		"init_configuration":{"skipPhases":[],"nodeRegistration":{"name":"x","kubeletExtraArgs":[{"name":"node-ip","value":"x"}]},"timeouts":{}}}`, []string{
		`cluster_configuration.apiServer.certSANs: must be a list of names and addresses`,
		`cluster_configuration.apiServer.extraArgs.authorization-mode: "RBAC": must have Node, without which nodes cannot join`,
		`cluster_configuration.apiServer.extraArgs.secure-port: is set by kubeadm or the driver and must stay so: leave it out`,
		`cluster_configuration.etcd.local.dataDir: is set by kubeadm or the driver and must stay so: leave it out`,
		`cluster_configuration.etcd.local.extraArgs.name: is set by kubeadm or the driver and must stay so: leave it out`,
		`cluster_configuration.kubernetesVersion: is set by kubeadm or the driver and must stay so: give kubernetes_version`,
		`cluster_configuration.networking.podSubnet: is set by kubeadm or the driver and must stay so: give master_node.pod_cidr`,
		`cluster_configuration.proxy.disabled: is set by kubeadm or the driver and must stay so: the driver takes a cluster without kube-proxy for an unfinished one`,
		`cluster_configuration.scheduler.extraArgs: must be a list of objects with name and value, which are strings: [{"name": "v", "value": "2"}]`,
		`cluster_configuration: "a b": is no name of a setting`,
		`init_configuration.nodeRegistration.kubeletExtraArgs.node-ip: is set by kubeadm or the driver and must stay so: leave it out`,
		`init_configuration.nodeRegistration.name: is set by kubeadm or the driver and must stay so: leave it out`,
		`init_configuration.skipPhases: is set by kubeadm or the driver and must stay so: the driver needs every phase; cluster_configuration can turn off CoreDNS by dns.disabled`}},
	{"flag given twice", `{"kubernetes_version":"1.30.14","init_configuration":{"nodeRegistration":{"kubeletExtraArgs":[{"name":"v","value":"1"},{"name":"v","value":"2"}]}}}`, []string{
		`init_configuration.nodeRegistration.kubeletExtraArgs.v: is given twice, which kubeadm accepts from Kubernetes 1.31 on`}},
	{"patches", `{"kubeadm_patches":[{"target":"kubelet","patch":{}},{"target":"kubeproxydaemonset","type":"x"},{"target":"etcd","type":"json","patch":{}},{"target":"etcd","patch":[]},
		{"target":"etcd","patch":{"metadata":{"annotations":{"a":"b"}},"spec":{"containers":[{"name":"etcd","image":"x"}],"hostNetwork":false}}},
		{"target":"kube-scheduler","type":"merge","patch":{"spec":{"containers":[{"name":"kube-scheduler"}]}}},
		{"target":"kube-scheduler","type":"json","patch":[{"op":"test","path":"/spec/containers/0/image","value":"x"},{"op":"add","path":"/spec/containers/0/command/-","value":"--x"},
			{"op":"move","path":"/metadata/labels/x","from":"/metadata/labels/tier"},{"op":"remove","path":""}]},
		{"target":"kubeletconfiguration","patch":{"cgroupDriver":"cgroupfs","maxPods":9}},{"target":"etcd","patch":{"spec":{"$patch":"delete"}}}]}`, []string{
		`kubeadm_patches[0].target: "kubelet": must be one of corednsdeployment, etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubeletconfiguration, kubeproxydaemonset`,
		`kubeadm_patches[1].target: "kubeproxydaemonset": is ignored by kubeadm before Kubernetes 1.37`,
		`kubeadm_patches[1].type: "x": must be strategic, merge or json`,
		`kubeadm_patches[2].patch: must be a list of operations (RFC 6902)`,
		`kubeadm_patches[3].patch: must be an object`,
		`kubeadm_patches[4].patch: "spec.containers.*.image": changes spec.containers.*.image, which kubeadm or the driver sets: give the parameter for it, or leave it out`,
		`kubeadm_patches[4].patch: "spec.hostNetwork": changes spec.hostNetwork, which kubeadm or the driver sets: give the parameter for it, or leave it out`,
		`kubeadm_patches[5].patch: "spec.containers": changes spec.containers.*.args, which kubeadm or the driver sets: give the parameter for it, or leave it out`,
		`kubeadm_patches[6].patch: "metadata.labels.tier": changes metadata.labels.tier, which kubeadm or the driver sets: give the parameter for it, or leave it out`,
		`kubeadm_patches[6].patch: "spec.containers.*.command.*": changes spec.containers.*.command, which kubeadm or the driver sets: give the parameter for it, or leave it out`,
		`kubeadm_patches[6].patch: changes apiVersion, which kubeadm or the driver sets: give the parameter for it, or leave it out`,
		`kubeadm_patches[7].patch: "cgroupDriver": changes cgroupDriver, which kubeadm or the driver sets: give the parameter for it, or leave it out`,
		`kubeadm_patches[8].patch: "spec.$patch": has a directive, which could remove what kubeadm and the driver need: leave it out`}},
	{"files of the control plane", `{"control_plane_files":[{"path":"/etc/kubernetes/pki/ca.crt","content":"hunter2"},{"path":"/etc/kubernetes/audit/../admin.conf","artifact":"Files/none"},
		{"path":"/etc/kubernetes/a/b","artifact":"Scripts/none.sh","content":"hunter2"},{"path":"/etc/kubernetes/a/b"}]}`, []string{
		`control_plane_files[0].path: "/etc/kubernetes/pki/ca.crt": must be a file in a folder below /etc/kubernetes, such as /etc/kubernetes/audit/policy.yaml, but not in manifests, patches, pki, tmp`,
		`control_plane_files[1].artifact: "Files/none": the package has no such file`,
		`control_plane_files[1].path: "/etc/kubernetes/audit/../admin.conf": must be a file in a folder below /etc/kubernetes, such as /etc/kubernetes/audit/policy.yaml, but not in manifests, patches, pki, tmp`,
		`control_plane_files[2].artifact: "Scripts/none.sh": the package has no such file`,
		`control_plane_files[2].content: is given beside artifact: leave one of them out`,
		`control_plane_files[3].artifact: is required without content`, `control_plane_files[3].path: "/etc/kubernetes/a/b": is in the list twice`}},
	{"package source", `{"packages":{"source":"internet","repository_url":"https://x/","containerd_package":"docker","containerd_version":"1.7; id"}}`, []string{
		`packages.containerd_package: "docker": must be containerd or containerd.io`,
		`packages.containerd_version: "1.7; id": must be a version of the package, such as 1.7.27-1 or 1.7.*`,
		"packages.repository_url: has no effect with packages.source internet", `packages.source: "internet": must be image, repository, mirrors or installed`}},
	{"repository without anything", `{"packages":{"source":"repository"}}`, []string{
		"packages.repository_key_path: is required: packages are installed only when their signature is right",
		"packages.repository_url: is required"}},
	{"repository", `{"packages":{"source":"repository","repository_url":"https://a b/\n[trusted=yes]","repository_suite":"$(ARCH)","repository_key_path":"Files/kubernetes/cni.yaml"}}`, []string{
		"packages.repository_components: are required with a suite, such as main",
		"packages.repository_key_path: \"Files/kubernetes/cni.yaml\": is no OpenPGP public key, armored or binary",
		`packages.repository_suite: "$(ARCH)": must be / (a flat repository) or the name of a suite, such as stable`,
		`packages.repository_url: "https://a b/\n[trusted=yes]": must be the address of an apt repository, such as https://pkgs.k8s.io/core:/stable:/v1.36/deb/`}},
	{"repository with a login", `{"packages":{"source":"repository","repository_url":"https://user:hunter2@x/","repository_components":["main","../x"],"repository_key_path":"Files/none.asc"}}`, []string{
		"packages.repository_components: a flat repository has none: name a suite, or leave them out",
		`packages.repository_components[1]: "../x": is no name of a component, such as main`,
		`packages.repository_key_path: "Files/none.asc": the package has no such file`,
		"packages.repository_url: has a login, which every user of the machines could read: use a repository that asks for none"}},
	{"mirrors without anything", `{"packages":{"source":"mirrors","repository_url":"https://x/"}}`, []string{
		"packages.mirrors: is required with packages.source mirrors: the repositories that have the packages of the system and of Kubernetes",
		"packages.repository_url: has no effect with packages.source mirrors"}},
	{"mirrors", `{"packages":{"mirrors":[{}]},"image_repository":"kubernetes"}`, []string{
		`image_repository: "kubernetes": must be a registry, with a path or without, such as registry.example.com:5000/kubernetes`,
		"packages.mirrors: has no effect with packages.source image"}},
	{"mirror of packages", `{"packages":{"source":"mirrors","mirrors":[{"repository_url":"https://x/"}]}}`, []string{
		"packages.mirrors[0].repository_key_path: is required: packages are installed only when their signature is right"}},
	{"mirrors of registries", `{"private_registry_connection_info":[{"connection_type":"1","server":"a.example","username":"u","password":"p"},{"connection_type":"0","server":"b.example"}],
		"registry_mirrors":[{"registry":"ghcr.io","server":"a.example"},{"registry":"GHCR.io","server":"c.example"},{"registry":"b.example","server":"https://u:hunter2@d.example/x"},
			{"server":"b.example","ca_certificate":"x"},{"registry":"a b"}]}`, []string{
		`registry_mirrors[0].server: "a.example": has a login, for which hosts.toml of containerd has no place: let the registry serve these images without one, or give image_repository`,
		`registry_mirrors[1].registry: "GHCR.io": is the one of registry_mirrors[0] too: a registry has one mirror`,
		`registry_mirrors[1].server: "c.example": must be a server of private_registry_connection_info, or a URL such as https://mirror.example.com`,
		`registry_mirrors[2].registry: "b.example": is in private_registry_connection_info, too: a registry has a connection or a mirror`,
		`registry_mirrors[2].server: must be https:// with a host and perhaps a port, and without a login and a path`,
		`registry_mirrors[3].ca_certificate: and certificate_path are for a URL: the certificates of private_registry_connection_info apply`,
		`registry_mirrors[3].registry: is required`,
		`registry_mirrors[4].registry: "a b": must be a registry as image names begin, such as registry.k8s.io or docker.io`,
		`registry_mirrors[4].server: is required`}},
	{"servers of images for a script", `{"script_path":"Scripts/install_k8s_cluster.sh","image_repository":"a.example","registry_mirrors":[{"registry":"ghcr.io","server":"https://a.example"}]}`, []string{
		"image_repository: has no effect with script_path: the script runs kubeadm",
		"registry_mirrors: has no effect with script_path: the script pulls images before nodes know the mirrors"}},
	{"packages that are there", `{"packages":{"source":"installed","containerd_version":"1.7.27-1"}}`, []string{"packages.containerd_version: has no effect with packages.source installed"}},
	{"packages for a script", `{"script_path":"Scripts/install_k8s_cluster.sh","packages":{"source":"installed"}}`, []string{
		`packages.source: "installed": has no effect with script_path: the script installs what it needs`}},
	{"flannel", `{"cni_manifest_path":null,"flannel":{"image":"flannel","cni_plugin_image":"a b:c","backend":"ipip"}}`, []string{
		`flannel.backend: "ipip": must be vxlan or host-gw`,
		`flannel.cni_plugin_image: "a b:c": must be an image with its tag or digest, such as ghcr.io/flannel-io/flannel:v0.28.4`,
		`flannel.image: "flannel": must be an image with its tag or digest, such as ghcr.io/flannel-io/flannel:v0.28.4`}},
	{"flannel beside another network", `{"flannel":{"backend":"vxlan"}}`, []string{"flannel: has no effect with cni_manifest_path or script_path: leave it out, or them"}},
	{"settings for a script", `{"script_path":"Scripts/install_k8s_cluster.sh","api_endpoint":"lb","kubelet_configuration":{"maxPods":1},"ignore_preflight_errors":["Mem"],"certificate_validity":"720h"}`, []string{
		`api_endpoint: "lb": has no effect with script_path: the script sets up the endpoint`, "certificate_validity: has no effect with script_path: the script runs kubeadm",
		"ignore_preflight_errors: has no effect with script_path: the script runs kubeadm", "kubelet_configuration: has no effect with script_path: the script runs kubeadm"}},
	{"account", `{"vim_registration":{"cluster_role":"a/b","token":"file","token_expiration":600}}`, []string{
		`vim_registration.cluster_role: "a/b": is no name of a ClusterRole`, `vim_registration.token: "file": must be "secret" or "request"`}},
	{"account, life of a secret", `{"vim_registration":{"token_expiration":"600"}}`, []string{
		`vim_registration.token_expiration: "600": has no effect on a token in a secret: set token to "request"`}},
	{"account, no life", `{"vim_registration":{"token":"request"}}`, []string{`vim_registration.token_expiration: must be from 600 to 4294967296 seconds with token "request"`}},
	{"account, short life", `{"vim_registration":{"token":"request","token_expiration":599}}`, []string{
		`vim_registration.token_expiration: "599": must be from 600 to 4294967296 seconds with token "request"`}},
	{"an object for a text", `{"vim_name":{"a":"hunter2"}}`, nil},
	{"a masked password", `{"master_node":{"password":"***"}}`, nil},
}

func TestParameterFaults(t *testing.T) {
	t.Parallel()
	for _, c := range parameterFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			_, _, err := l.Begin("instantiate_sandbox.json", with(t, c.patch))
			l.Refused(err)
			want, got := clustertest.Under(param, c.want), mgmttest.Faults(err)
			if want == nil { // package vnflcm tests the text
				if len(got) == 0 || !strings.HasPrefix(got[0], "additionalParams."+param) {
					t.Errorf("faults: %q", got)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAllFaultsAtOnce puts several faults into one request and expects all of them to be reported.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var change []mgmttest.Change
	var want []string
	for _, c := range parameterFaults {
		if slices.Contains([]string{"no user", "no password", "no API connection point", "unknown NIC", "cluster_cidr is text", "script is missing",
			"manifest is missing", "version", "proxy", "Helm", "storage", "labels", "taints"}, c.name) {
			change = append(change, with(t, c.patch))
			want = append(want, clustertest.Under(param, c.want)...)
		}
	}
	_, _, err := l.Begin("instantiate_sandbox.json", change...)
	l.Refused(err)
	slices.Sort(want)
	if diff := cmp.Diff(want, mgmttest.Faults(err)); diff != "" {
		t.Error(diff)
	}
}

func TestLeniency(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Instantiated("instantiate_script.json", with(t, `{"master_node":{"pod_cidr":"192.168.3.0/16","colour":"blue"},"use_helm":"false",
		"proxy":{"http_proxy":"http://proxy:3128"},
		"private_registry_connection_info":{"connection_type":0,"server":"registry.example.com:5000"}}`))
	l.want(1, 1, 0)
	log := l.Log()
	for _, warning := range []string{
		`"attribute":"additionalParams.` + param + `.master_node.colour"`, `"attribute":"additionalParams.` + param + `.use_helm"`,
		`"given":"192.168.3.0/16","used":"192.168.0.0/16"`, `it takes both http_proxy and https_proxy`,
	} {
		if n := strings.Count(log, warning); n != 1 {
			t.Errorf("%d warnings with %s", n, warning)
		}
	}
	for _, r := range l.host("masterNode-0").Commands() {
		if !r.BuiltIn && r.Argv[0] == "kubeadm" && slices.Contains(r.Argv, "--pod-network-cidr") && !slices.Contains(r.Argv, "192.168.0.0/16") {
			t.Errorf("%q", r.Argv)
		}
	}
}

// TestSpecificationRequests validates the sample requests of the specifications against the sample package.
func TestSpecificationRequests(t *testing.T) {
	t.Parallel()
	const notPort = "proxy.http_proxy: the port is not a number"
	for file, want := range map[string][]string{
		"instantiate_cluster_with_registries.json": {
			`private_registry_connection_info[1].certificate_path: "Files/registries/ca.crt": the package has no such file`,
			notPort, "proxy.https_proxy: the port is not a number",
		},
		// The request is for a package with other names, so the sample package lacks them.
		"instantiate_cluster_with_helm.json": {
			`master_node.ssh_cp_name: "CP1": the flavour has no such connection point; VDUs have masterNode_CP1, workerNode_CP2`,
			notPort, "proxy.https_proxy: the port is not a number",
			`script_path: "Scripts/install_k8s_ha.sh": the package has no such file`,
			`worker_node.ssh_cp_name: "CP2": the flavour has no such connection point; VDUs have workerNode_CP2, masterNode_CP1`,
		},
		// The request is for the kubespray driver. Its attributes are unknown here, which is a warning, except for
		// external_lb_param.
		"instantiate_kubespray_cluster.json": {
			`external_lb_param.script_path: "./Scripts/ExternalLB_installation.sh": the package has no such file`,
			`external_lb_param.ssh_cp_name: "externalLB_instance": the flavour has no such connection point; VDUs have masterNode_CP1, workerNode_CP2`,
			notPort, "proxy.https_proxy: the port is not a number",
		},
		// The request is for another driver, so all required attributes are missing.
		"instantiate_private_registry.json": {
			"master_node.cluster_cp_name: is required", "master_node.password: is required, unless there is a private_key", "master_node.ssh_cp_name: is required",
			"master_node.username: is required", "worker_node.password: is required, unless there is a private_key", "worker_node.ssh_cp_name: is required", "worker_node.username: is required",
		},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("../../vnflcm/testdata/requests", file))
			if err != nil {
				t.Fatal(err)
			}
			for _, repaired := range []bool{false, true} {
				var req vnflcm.InstantiateVnfRequest
				if _, err := vnflcm.DecodeRequest(data, &req); err != nil {
					t.Fatal(err)
				}
				mgmttest.OnSandbox(&req)
				req.FlavourID, req.InstantiationLevelID = "simple", ""
				wanted := slices.Clone(want)
				if repaired { // the port of the proxies is the only fault of the sample itself; the package has no load balancer
					with(t, `{"proxy":{"http_proxy":"http://user1:password1@host1:3128","https_proxy":"https://user2:password2@host2:3128"},"external_lb_param":null}`)(&req)
					wanted = slices.DeleteFunc(wanted, func(w string) bool {
						return strings.HasPrefix(w, "proxy.") || strings.HasPrefix(w, "external_lb_param.")
					})
				}
				l := newLab(t)
				opID, err := l.Instantiate(t.Context(), l.Created(), req)
				if len(wanted) == 0 {
					l.Must(opID, err)
					l.want(1, 1, 0)
					continue
				}
				l.Refused(err)
				if diff := cmp.Diff(clustertest.Under(param, wanted), mgmttest.Faults(err)); diff != "" {
					t.Error(diff)
				}
				if err != nil && strings.Contains(err.Error(), "password1") {
					t.Error("a password is in the error")
				}
			}
		})
	}
	t.Run("accepted once what is impossible is gone", func(t *testing.T) {
		t.Parallel()
		data, err := os.ReadFile("../../vnflcm/testdata/requests/instantiate_cluster_with_registries.json")
		if err != nil {
			t.Fatal(err)
		}
		var req vnflcm.InstantiateVnfRequest
		if _, err := vnflcm.DecodeRequest(data, &req); err != nil {
			t.Fatal(err)
		}
		mgmttest.OnSandbox(&req)
		with(t, `{"proxy":{"http_proxy":"http://user1:password1@host1:3128","https_proxy":"https://user2:password2@host2:3128"},
			"private_registry_connection_info":[{"connection_type":"0","server":"192.168.0.10:5000"}],"cni_manifest_path":"Files/kubernetes/cni.yaml"}`)(&req)
		l := newLab(t)
		opID, err := l.Instantiate(t.Context(), l.Created(), req)
		l.Must(opID, err)
		l.want(1, 1, 0)
	})
}

// TestControlPlaneIsNotHealedAlone checks that the operation is refused with advice what to do instead.
func TestControlPlaneIsNotHealedAlone(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: takes}, driver: kubeadm.Config{ConfirmWholeHeal: true}})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0))
	ran := len(l.host("masterNode-0").Commands())
	controlPlaneNode := l.vnfcs(id, "masterNode-0")[0]
	_, err := l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.worker(id).ID, controlPlaneNode}})
	if diff := cmp.Diff([]string{`vnfcInstanceId: "` + controlPlaneNode + `": has the address of the API, which no node could reach while it is replaced: heal the whole VNF, and let cluster_cp_name be a virtual address or a load balancer's`}, mgmttest.Faults(err)); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	_, err = l.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	if faults := mgmttest.Faults(err); len(faults) != 1 || !strings.HasPrefix(faults[0], "additionalParams.all: is required") {
		t.Errorf("a heal of the whole VNF that is not confirmed: %v", err)
	}
	if len(l.host("masterNode-0").Commands()) != ran {
		t.Error("something was touched")
	}
	l.want(3, 1, 0)
}
