package docs_test

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	registryGuide  = "registry.md"
	registryObject = "private_registry_installation_param"
	registrySample = "../examples/packages/private-registry"
)

// registryWorld is where the examples of registry.md can log in.
var registryWorld = sandbox.Config{User: "debian", Password: "...", PublicImages: []string{"registry:latest"}}

// TestRegistryParameters wants every parameter that the driver decodes in the table of registry.md, and no other.
func TestRegistryParameters(t *testing.T) {
	types := parameterTypes(t)
	var inside []string
	for _, path := range types.paths("registry", "", types["registry.parameters"]) {
		if path, ok := strings.CutPrefix(path, registryObject+"."); ok {
			inside = append(inside, path)
		} else if !strings.Contains(document(t, registryGuide), "`"+path+"`") {
			t.Errorf("registry.md does not name %s", path)
		}
	}
	slices.Sort(inside)
	if len(inside) < 20 {
		t.Errorf("only %d parameters found: are they elsewhere now?", len(inside))
	}
	if diff := cmp.Diff(inside, columns(t, registryGuide, "| parameter | required | default |")); diff != "" {
		t.Errorf("parameters (-code +registry.md):\n%s", diff)
	}
}

// jsonBlocks are the examples of registry.md by their only attribute, "" for what the instance tells.
func jsonBlocks(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, block := range strings.Split(document(t, registryGuide), "```json\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(block), &object); err != nil {
			t.Fatalf("%v:\n%s", err, block)
		}
		kind := ""
		for name := range object {
			if len(object) == 1 {
				kind = name
			}
		}
		out[kind] = append(out[kind], block)
	}
	return out
}

// TestRegistryExamples sends what registry.md has clients send, also the connection of a cluster, and compares what
// the instance tells.
func TestRegistryExamples(t *testing.T) {
	blocks := jsonBlocks(t)
	if len(blocks[registryObject]) < 4 || len(blocks[""]) != 1 || len(blocks["k8s_cluster_installation_param"]) != 1 {
		t.Fatalf("the examples are %d, %d, %d", len(blocks[registryObject]), len(blocks[""]), len(blocks["k8s_cluster_installation_param"]))
	}
	pkg, ca := packageOfRegistry(t)
	told := map[string]client.Connection{}
	for i, block := range blocks[registryObject] {
		t.Run(fmt.Sprint("registry ", i), func(t *testing.T) {
			v := newVNFMWith(t, registryWorld, pkg)
			id := v.registry(t, block)
			if log := v.log.String(); strings.Contains(log, "is not known") {
				t.Errorf("the example has what is no parameter:\n%s", log)
			}
			told[block] = v.connection(t, id)
		})
	}

	var shown client.Connection
	check(t, json.Unmarshal([]byte(blocks[""][0]), &shown))
	if !slices.ContainsFunc(slices.Collect(maps.Values(told)), func(c client.Connection) bool {
		return c.Type == shown.Type && c.Server == shown.Server && c.CACertificate != "" && strings.HasPrefix(c.CACertificate, strings.TrimSuffix(shown.CACertificate, "...")) &&
			c.HostsString == strings.Replace(shown.HostsString, "10.10.0.5", "198.18.0.10", 1)
	}) {
		t.Errorf("registry.md shows %+v, instances tell %+v", shown, told)
	}

	var cluster struct {
		In struct {
			Connections client.Connections `json:"private_registry_connection_info"`
		} `json:"k8s_cluster_installation_param"`
	}
	params, err := vnflcm.ParseParams([]byte(strings.ReplaceAll(blocks["k8s_cluster_installation_param"][0], "-----BEGIN CERTIFICATE-----...", strings.ReplaceAll(ca, "\n", `\n`))))
	check(t, err)
	if unknown, err := params.Decode(&cluster); err != nil || len(unknown) > 0 {
		t.Errorf("%q, %v", unknown, err)
	}
	check(t, cluster.In.Connections.Validate("list", nil))
	at := cluster.In.Connections[0]
	if at.Server != shown.Server || at.HostsString != shown.HostsString || at.Type != shown.Type {
		t.Errorf("the cluster is given %+v, the instance tells %+v", at, shown)
	}
}

// TestRegistrySteps wants the steps of a life in the tables of registry.md, in their order.
func TestRegistrySteps(t *testing.T) {
	pkg, _ := packageOfRegistry(t)
	v := newVNFMWith(t, registryWorld, pkg)
	var life string
	for _, block := range jsonBlocks(t)[registryObject] {
		if strings.Contains(block, `"probe"`) {
			life = block
		}
	}
	id := v.registry(t, life)
	instantiated := v.order
	v.order = nil
	before := v.connection(t, id)
	op, err := v.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{v.last(t, id, "PrivateRegistryVDU")}})
	v.must(t, op, err)
	if diff := cmp.Diff(before, v.connection(t, id)); diff != "" {
		t.Errorf("registry.md says that the connection is the same after a heal:\n%s", diff)
	}
	healed := v.order
	v.order = nil
	op, err = v.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	v.must(t, op, err)

	if diff := cmp.Diff(instantiated, healed); diff != "" || len(v.order) > 0 {
		t.Errorf("heal_end has other steps than instantiate_end, or terminate has %q:\n%s", v.order, diff)
	}
	_, row, _ := strings.Cut(document(t, registryGuide), "\n| `instantiate_end` | ")
	row, _, _ = strings.Cut(row, " |\n")
	if diff := cmp.Diff("`"+strings.Join(instantiated, "`, `")+"`", row); diff != "" {
		t.Errorf("order (-seen +registry.md):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(instantiated)), columns(t, registryGuide, "| step | what it does | limit |")); diff != "" {
		t.Errorf("steps (-seen +registry.md):\n%s", diff)
	}
}

// registry instantiates a registry with these additionalParams.
func (v *vnfm) registry(t *testing.T, params string) (id string) {
	t.Helper()
	var request vnflcm.InstantiateVnfRequest
	_, err := vnflcm.DecodeRequest([]byte(`{"flavourId":"simple","vimConnectionInfo":[{"id":"1","vimId":"sandbox","vimType":"sandbox"}],"additionalParams":`+params+`}`), &request)
	check(t, err)
	id = v.instance(t)
	op, err := v.Instantiate(t.Context(), id, request)
	v.must(t, op, err)
	return id
}

func (v *vnfm) connection(t *testing.T, id string) client.Connection {
	t.Helper()
	inst, err := v.Get(t.Context(), id)
	check(t, err)
	c, err := registry.ConnectionOf(inst.InstantiatedVnfInfo.VnfcResourceInfo[0])
	check(t, err)
	return c
}

// packageOfRegistry is the sample package with the files and the volume that the examples name.
func packageOfRegistry(t *testing.T) (dir, ca string) {
	t.Helper()
	dir = t.TempDir()
	check(t, os.CopyFS(dir, os.DirFS(registrySample)))
	certificate, key := certificateOf(t, "registry.example.org")
	for name, content := range map[string]string{"images/registry.tar": savedImage(t), "tls/registry.crt": certificate, "tls/registry.key": key, "tls/ca.crt": certificate} {
		check(t, os.MkdirAll(filepath.Dir(dir+"/Files/"+name), 0o700))
		check(t, os.WriteFile(dir+"/Files/"+name, []byte(content), 0o600))
	}
	const flavour, machine, after = "/Definitions/private_registry_df_simple.yaml", "\n    PrivateRegistryVDU:\n", "\n    CP1:\n"
	text, err := os.ReadFile(dir + flavour)
	check(t, err)
	with := strings.NewReplacer(after, "\n      requirements:\n        - virtual_storage: images\n"+after,
		machine, "\n    images:\n      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage\n"+
			"      properties: {virtual_block_storage_data: {size_of_storage: 10 GB, rdma_enabled: false}}\n"+machine).Replace(string(text))
	check(t, os.WriteFile(dir+flavour, []byte(with), 0o600))
	return dir, certificate
}

// certificateOf makes a certificate that is its own CA, and its key.
func certificateOf(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, made.Public(), made)
	private, err2 := x509.MarshalPKCS8PrivateKey(made)
	check(t, errors.Join(err1, err2))
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// savedImage is what "docker save" writes of an image without layers.
func savedImage(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	config := `{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/bin/registry","serve"]},"rootfs":{"type":"layers","diff_ids":[]}}`
	digest := fmt.Sprintf("%x.json", sha256.Sum256([]byte(config)))
	for _, file := range [][2]string{{digest, config}, {"manifest.json", `[{"Config":"` + digest + `","RepoTags":["registry:latest"],"Layers":[]}]`}} {
		check(t, w.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1]))}))
		_, err := w.Write([]byte(file[1]))
		check(t, err)
	}
	check(t, w.Close())
	return out.String()
}
