package kubeadm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// userParams configure audit, encryption at rest, OIDC, feature gates and the kubelet.
const userParams = `{"api_endpoint":"api.example.org",
	"cluster_configuration":{"clusterName":"tenant","featureGates":{"RootlessControlPlane":false},"etcd":{"local":{"extraArgs":[{"name":"quota-backend-bytes","value":"4294967296"}]}},
		"networking":{"dnsDomain":"example.org"},
		"apiServer":{"certSANs":["api.tenant.example.org"],
			"extraArgs":[{"name":"audit-policy-file","value":"/etc/kubernetes/audit/policy.yaml"},{"name":"encryption-provider-config","value":"/etc/kubernetes/encryption/keys.yaml"},
				{"name":"oidc-issuer-url","value":"https://login.example.org"},{"name":"v","value":2}],
			"extraVolumes":[{"name":"audit","hostPath":"/etc/kubernetes/audit/policy.yaml","mountPath":"/etc/kubernetes/audit/policy.yaml","readOnly":true,"pathType":"File"},
				{"name":"encryption","hostPath":"/etc/kubernetes/encryption/keys.yaml","mountPath":"/etc/kubernetes/encryption/keys.yaml","readOnly":true,"pathType":"File"}]}},
	"init_configuration":{"nodeRegistration":{"imagePullPolicy":"IfNotPresent","kubeletExtraArgs":[{"name":"v","value":"4"}]}},
	"kubeadm_patches":[{"target":"kube-apiserver","patch":{"spec":{"containers":[{"name":"kube-apiserver","resources":{"requests":{"memory":"1Gi"}}}]}}},
		{"target":"kubeletconfiguration","type":"json","patch":[{"op":"add","path":"/maxPods","value":60}]}],
	"control_plane_files":[{"path":"/etc/kubernetes/audit/policy.yaml","content":"kind: Policy"},
		{"path":"/etc/kubernetes/encryption/keys.yaml","content":"kind: EncryptionConfiguration # hunter2"}]}`

// patchParams have a patch for every node.
const patchParams = `{"kubeadm_patches":[{"target":"kubeletconfiguration","patch":{"maxPods":60}}]}`

// wantUserFiles checks that every node has the settings of userParams.
func (l *lab) wantUserFiles(controlPlane, workers int) {
	l.t.Helper()
	var machines []string
	for i := range controlPlane {
		machines = append(machines, fmt.Sprintf("masterNode-%d", i))
	}
	for i := range workers {
		machines = append(machines, fmt.Sprintf("workerNode-%d", i))
	}
	for i, m := range machines {
		if got := l.file(m, "/var/lib/kubelet/config.yaml"); !strings.Contains(got, "kubesim/patches: kubeletconfiguration001+json.json") {
			l.t.Errorf("%s: the kubelet has %s", m, got)
		}
		if i >= controlPlane {
			continue
		}
		manifest := l.file(m, "/etc/kubernetes/manifests/kube-apiserver.yaml")
		for _, part := range []string{"--encryption-provider-config=/etc/kubernetes/encryption/keys.yaml", "--oidc-issuer-url=https://login.example.org", "kubesim/patches: kube-apiserver000+strategic.json"} {
			if !strings.Contains(manifest, part) {
				l.t.Errorf("%s: the API server has no %s: %s", m, part, manifest)
			}
		}
		if got := l.file(m, "/etc/kubernetes/encryption/keys.yaml"); !strings.Contains(got, "hunter2") {
			l.t.Errorf("%s: the keys are %q", m, got)
		}
	}
}

// TestUserConfiguration: every node has the settings, patches and files, also one that is healed, one that joins, and every node after an upgrade.
func TestUserConfiguration(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	user := with(t, strings.NewReplacer(`"api_endpoint":"api.example.org",`, "", `"content":"kind: Policy"`, `"artifact":"Files/kubernetes/cni.yaml"`).Replace(userParams))
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0), oldVersion(t), user)...)
	l.wantUserFiles(3, 1)
	info, err := l.host("masterNode-1").FS().Stat("/etc/kubernetes/encryption/keys.yaml")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the keys have the mode %v, %v", info, err)
	}
	l.stop("masterNode-0")
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-0")}))
	l.wantUserFiles(3, 1)
	if err := l.host("masterNode-1").FS().RemoveAll("/etc/kubernetes/patches"); err != nil {
		t.Fatal(err)
	}
	l.upgrade(id, `{"kubernetes_version":"1.36.3"}`)
	l.wantUserFiles(3, 1)
	l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
	l.wantUserFiles(3, 2)
	if strings.Contains(l.Log(), "hunter2") {
		t.Error("a key is in the log")
	}
}

// TestUserConfigurationRefused: kubeadm of the version refuses settings that it does not know, before it makes a cluster.
func TestUserConfigurationRefused(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	id := l.Created()
	opID, err := l.Instantiate(t.Context(), id, l.Request("instantiate_sandbox.json", clustertest.Sized("simple", 0), with(t, `{"cluster_configuration":{"colour":"red"}}`)))
	if _, err = l.End(opID, err); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("an unknown setting: %v", err)
	}
	ran := func(arg string) bool {
		return slices.ContainsFunc(l.host("masterNode-0").Commands(), func(r sshtest.Record) bool { return slices.Contains(r.Argv, "kubeadm") && slices.Contains(r.Argv, arg) })
	}
	if !ran("validate") || ran("init") {
		t.Error("kubeadm init has run, or the configuration was not validated")
	}
}
