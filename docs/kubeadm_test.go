package docs_test

import (
	"crypto/x509"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// structs are the types of the packages that parameters are decoded into, by package and name.
type structs map[string]ast.Expr

// parameterTypes reads the sources of the drivers and of the packages whose types they decode into.
func parameterTypes(t *testing.T) structs {
	t.Helper()
	out := structs{}
	for pkg, dir := range map[string]string{"kubeadm": "../mgmt/kubeadm", "mgmt": "../mgmt", "linux": "../mgmt/linux",
		"client": "../mgmt/registry/client", "registry": "../mgmt/registry", "kubernetes": "../infra/kubernetes",
		"nodeprep":  "../mgmt/kubeadm/internal/nodeprep",
		"kubespray": "../mgmt/kubespray", "vimentry": "../mgmt/internal/vimentry", "vnfbalancer": "../mgmt/internal/vnfbalancer",
		"clusterparam": "../mgmt/internal/clusterparam", "login": "../internal/login"} {
		files, err := filepath.Glob(dir + "/*.go")
		check(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			check(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					out[pkg+"."+spec.Name.Name] = spec.Type
				}
				return true
			})
		}
	}
	return out
}

// paths lists what is decoded into an expression of a type that a package names: path itself if it is a value, and the
// attributes below it if it is an object.
func (s structs) paths(pkg, path string, e ast.Expr) (out []string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return s.paths(pkg, path, e.X)
	case *ast.ArrayType:
		if below := s.paths(pkg, path+"[]", e.Elt); len(below) > 1 {
			return below
		}
	case *ast.MapType:
		if below := s.paths(pkg, path+".*", e.Value); below[0] != path+".*" {
			return below
		}
	case *ast.Ident:
		if t := s[pkg+"."+e.Name]; t != nil {
			return s.paths(pkg, path, t)
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && s[x.Name+"."+e.Sel.Name] != nil {
			return s.paths(x.Name, path, s[x.Name+"."+e.Sel.Name])
		}
	case *ast.StructType:
		for _, field := range e.Fields.List {
			if field.Tag == nil && len(field.Names) > 0 && !field.Names[0].IsExported() {
				continue
			}
			at := path
			if field.Tag != nil {
				tag, _ := strconv.Unquote(field.Tag.Value)
				name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
				if name == "-" {
					continue
				}
				at = strings.TrimPrefix(path+"."+name, ".")
			}
			out = append(out, s.paths(pkg, at, field.Type)...)
		}
		return out
	}
	return []string{path}
}

// kubeadmParameters are the attributes of k8s_cluster_installation_param, and those beside it.
func kubeadmParameters(t *testing.T) (cluster, beside []string) {
	t.Helper()
	types := parameterTypes(t)
	for _, path := range types.paths("kubeadm", "", types["kubeadm.parameters"]) {
		if inside, ok := strings.CutPrefix(path, "k8s_cluster_installation_param."); ok {
			cluster = append(cluster, inside)
		} else {
			beside = append(beside, path)
		}
	}
	slices.Sort(cluster)
	slices.Sort(beside)
	return cluster, beside
}

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	check(t, err)
	return string(text)
}

// columns are the names in backquotes in the first column of the table of a document whose head begins so.
func columns(t *testing.T, name, head string) (out []string) {
	t.Helper()
	_, table, found := strings.Cut(document(t, name), "\n"+head)
	if !found {
		t.Fatalf("%s has no table %q", name, head)
	}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "|---") || out == nil && !strings.HasPrefix(line, "|") {
			continue
		}
		first, isRow := strings.CutPrefix(line, "|")
		if !isRow {
			break
		}
		first, _, _ = strings.Cut(first, "|")
		for i, code := range strings.Split(first, "`") {
			if i%2 == 1 {
				out = append(out, code)
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestKubeadmParameters wants every parameter that the driver decodes in the tables of kubeadm.md, and no other.
func TestKubeadmParameters(t *testing.T) {
	cluster, beside := kubeadmParameters(t)
	if len(cluster) < 50 {
		t.Errorf("only %d parameters found: are they elsewhere now?", len(cluster))
	}
	if diff := cmp.Diff(cluster, columns(t, "kubeadm.md", "| path | required | default |")); diff != "" {
		t.Errorf("parameters (-code +kubeadm.md):\n%s", diff)
	}
	if diff := cmp.Diff(beside, columns(t, "kubeadm.md", "| path | meaning | from |")); diff != "" {
		t.Errorf("parameters beside the object (-code +kubeadm.md):\n%s", diff)
	}
}

// kubeadmSettings matches the path of a setting in a document of kubeadm.
var kubeadmSettings = regexp.MustCompile(`^([a-z_]+_configuration|kubeadm_patches\[\]\.patch)\..*$`)

// TestKubeadmExamples has the parts of requests in kubeadm.md, and the request in offline.md, name parameters that there are.
func TestKubeadmExamples(t *testing.T) {
	known, _ := kubeadmParameters(t)
	blocks := slices.Concat(strings.Split(document(t, "kubeadm.md"), "```json\n")[1:], strings.Split(document(t, "offline.md"), "```json\n")[1:])
	if len(blocks) < 3 {
		t.Errorf("only %d examples found", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		var object any
		if err := json.Unmarshal([]byte(block), &object); err != nil {
			t.Errorf("%v:\n%s", err, block)
		}
		for _, path := range leaves("", object) {
			path = kubeadmSettings.ReplaceAllString(strings.TrimPrefix(path, "k8s_cluster_installation_param."), "$1")
			if !slices.Contains(known, strings.TrimSuffix(path, "[]")) { // of a list, the table has the list
				t.Errorf("an example has %s, which is no parameter", path)
			}
		}
	}
}

// leaves lists the paths of the values in a decoded document.
func leaves(path string, v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			out = append(out, leaves(strings.TrimPrefix(path+"."+name, "."), value)...)
		}
	case []any:
		for _, value := range v {
			out = append(out, leaves(path+"[]", value)...)
		}
	default:
		out = []string{path}
	}
	return out
}

// endCertificates replaces the certificate and the key in a file of a machine by others that have ended.
func (v *vnfm) endCertificates(t *testing.T, machine, file string) {
	t.Helper()
	read := func(h *sshtest.Host, name string) string {
		text, err := afero.ReadFile(h.FS(), name)
		check(t, err)
		return string(text)
	}
	master, host := v.world.Host("masterNode-0"), v.world.Host(machine)
	was, err := pki.Parse([]byte(read(host, file)))
	check(t, err)
	authority := "/etc/kubernetes/pki/ca"
	if strings.Contains(file, "/etcd/") {
		authority = "/etc/kubernetes/pki/etcd/ca"
	}
	signer := pki.Pair{Cert: read(master, authority+".crt"), Key: read(master, authority+".key")}
	pair, err := pki.Issue(&signer, &x509.Certificate{Subject: was.Subject, DNSNames: was.DNSNames, IPAddresses: was.IPAddresses,
		ExtKeyUsage: was.ExtKeyUsage, NotAfter: time.Now().Add(-time.Hour)}, time.Now().AddDate(-1, 0, 0))
	check(t, err)
	check(t, afero.WriteFile(host.FS(), file, []byte(pair.Cert+pair.Key), 0o600))
	if base, alone := strings.CutSuffix(file, ".crt"); alone {
		check(t, afero.WriteFile(host.FS(), base+".key", []byte(pair.Key), 0o600))
	}
}

// atVersion is the end of the names of steps that upgrade a cluster.
var atVersion = regexp.MustCompile(`-[0-9]+[.][0-9]+[.][0-9]+$`)

// TestKubeadmSteps runs lifecycles and wants exactly their steps in the table of kubeadm.md.
func TestKubeadmSteps(t *testing.T) {
	steps := map[string]bool{}
	for _, life := range []struct{ request, flavour, patch string }{
		{"instantiate_script.json", "simple", `{}`},
		{"instantiate_sandbox.json", "complex", `{"master_node":{"cluster_cp_name":"vip_CP"},"worker_node":{"labels":{"node-role.kubernetes.io/edge":""}},
			"kubeadm_patches":[{"target":"kubeletconfiguration","patch":{"maxPods":60}}],
			"helm_installation_script_path":"Scripts/helm.sh","private_registry_connection_info":[{"connection_type":"0","server":"198.18.9.9:5000"}],
			"storage_server":{"ssh_cp_name":"storage_CP","username":"ubuntu","password":"ubuntu","nfs_server_setup_params":[{"export_dir":"/srv/nfs","export_to":"198.18.0.0/16"}]},
			"pv_registration_params":[{"pv_manifest_file_path":"Files/pv.yaml","nfs_server_cp":"storage_CP"}]}`},
		{"instantiate_sandbox.json", "complex", `{"external_lb_param":{"ssh_cp_name":"externalLB_CP1","ssh_username":"ubuntu","ssh_password":"ubuntu"}}`},
	} {
		v, ctx := newVNFMWith(t, sandbox.Config{Virtual: []string{"vip_CP"}}, packageWithMore(t)), t.Context()
		id, request := v.instance(t), sample(t, life.request, life.patch)
		request.FlavourID = life.flavour
		op, err := v.Instantiate(ctx, id, request)
		v.must(t, op, err)
		for _, to := range []vnflcm.ScaleType{vnflcm.ScaleOut, vnflcm.ScaleIn} {
			op, err = v.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: to, AspectID: "worker_instance"})
			v.must(t, op, err)
		}
		if strings.Contains(life.patch, "vip_CP") {
			for _, to := range []vnflcm.ScaleType{vnflcm.ScaleIn, vnflcm.ScaleOut} {
				op, err = v.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: to, AspectID: "master_instance"})
				v.must(t, op, err)
			}
		}
		if life.flavour == "complex" {
			check(t, v.world.Stop("masterNode-2"))                                              // the last one
			for _, vdu := range []string{"masterNode", "masterNode", "storage", "externalLB"} { // a dead control-plane node, then a live one
				op, err = v.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{v.last(t, id, vdu)}})
				v.must(t, op, err)
			}
			op, err = v.Heal(ctx, id, v.restore(t, id))
			v.must(t, op, err)
		}
		if life.flavour == "simple" {
			v.endCertificates(t, "masterNode-0", "/etc/kubernetes/pki/etcd/server.crt")
			v.endCertificates(t, "workerNode-0", "/var/lib/kubelet/pki/kubelet-client-current.pem")
		}
		op, err = v.Maintain(ctx, id, vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates})
		v.must(t, op, err)
		if life.request != "instantiate_script.json" {
			to, err := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param":{"kubernetes_version":"1.37.2"}}`))
			check(t, err)
			op, err = v.Maintain(ctx, id, vnflcm.MaintainVnfRequest{Task: vnflcm.Upgrade, AdditionalParams: to})
			v.must(t, op, err)
		}
		op, err = v.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful})
		v.must(t, op, err)
		for name := range v.steps {
			if rest, ok := strings.CutPrefix(name, "balance-"); ok && len(rest) == 8 {
				name = "balance" // followed by a digest
			}
			name = atVersion.ReplaceAllString(name, "")
			switch base := strings.TrimSuffix(strings.TrimSuffix(name, "-etcd"), "-kubelet"); {
			case strings.HasPrefix(base, "lead-"):
				name = strings.TrimRight(base, "0123456789") + "N" // the number of a control-plane node
			case base == "members", base == "move-leader":
				name = base
			}
			steps[name] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(steps)), columns(t, "kubeadm.md", "| step | what it does | limit |")); diff != "" {
		t.Errorf("steps (-seen +kubeadm.md):\n%s", diff)
	}
	_, order, _ := strings.Cut(document(t, "kubeadm.md"), "\n| hook |")
	order, _, _ = strings.Cut(order, "\n\n")
	for name := range steps {
		if !strings.Contains(order, "`"+name+"`") {
			t.Errorf("kubeadm.md does not say where the step %s comes", name)
		}
	}
}

// packageWithMore is the sample package with a script that installs the sandbox's Helm, a storage server and a machine for a
// load balancer.
func packageWithMore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	check(t, os.CopyFS(dir, os.DirFS(samples)))
	check(t, os.WriteFile(dir+"/Scripts/helm.sh", []byte("mkdir -p /usr/local/bin && echo helm >/usr/local/bin/helm\n"), 0o600))
	check(t, os.WriteFile(dir+"/Files/pv.yaml", []byte("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: data}\n"+
		"spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {path: /srv/nfs, server: 0.0.0.0}}\n"), 0o600))
	const flavour, before = "/Definitions/k8s_cluster_df_complex.yaml", "\n    masterNode_CP1:\n"
	text, err := os.ReadFile(dir + flavour)
	check(t, err)
	for vdu, cp := range map[string]string{"storage": "storage_CP", "externalLB": "externalLB_CP1"} {
		text = []byte(strings.Replace(string(text), before, "\n    "+vdu+":\n      type: tosca.nodes.nfv.Vdu.Compute\n      properties:\n        name: "+vdu+"\n"+
			"        description: beside the nodes\n        vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}\n"+
			"    "+cp+":\n      type: tosca.nodes.nfv.VduCp\n      properties: {layer_protocols: [ ipv4 ]}\n"+
			"      requirements: [{virtual_binding: "+vdu+"}]\n"+before, 1))
	}
	check(t, os.WriteFile(dir+flavour, text, 0o600))
	return dir
}

// restore stops all control-plane nodes but one, and returns the request that restores etcd from this one.
func (v *vnfm) restore(t *testing.T, instance string) (request vnflcm.HealVnfRequest) {
	t.Helper()
	inst, err := v.Get(t.Context(), instance)
	check(t, err)
	for _, c := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		if c.VduID == "masterNode" && c.ID != v.last(t, instance, "masterNode") {
			request.VnfcInstanceID = append(request.VnfcInstanceID, c.ID)
			check(t, v.world.Stop(c.ComputeResource.ResourceID))
		}
	}
	request.AdditionalParams, err = vnflcm.ParseParams([]byte(`{"restore": "survivor", "confirm_loss": true}`))
	check(t, err)
	return request
}

// last is the VNFC of a VDU that was made last.
func (v *vnfm) last(t *testing.T, instance, vdu string) (id string) {
	t.Helper()
	inst, err := v.Get(t.Context(), instance)
	check(t, err)
	for _, c := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		if c.VduID == vdu {
			id = c.ID
		}
	}
	return id
}
