package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// asProgram is the environment variable that makes this test binary run the program.
const asProgram = "VNFKIT_TEST_VNFM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  string
		flags []string
		want  []string // texts of the faults
	}{
		"sandbox":        {"", []string{"-sandbox"}, nil},
		"nothing":        {"", nil, []string{"packages: is required", "data: is required"}},
		"unknown key":    {"listn: x", nil, []string{"field listn not found"}},
		"no YAML":        {"{", nil, []string{"vnfm.yaml"}},
		"local":          {"packages: p\ndata: d", nil, nil},
		"empty sandbox":  {"packages: p\ndata: d\nsandbox: {vims: {}, floating: {}, ansible: []}", nil, nil},
		"flags go first": {"listen: nonsense", []string{"-packages=p", "-data=d", "-listen=[::1]:1"}, nil},
		"reachable":      {"listen: :9890", []string{"-sandbox"}, []string{"listen: :9890 can be reached from other machines"}},
		"like OpenStack": {"sandbox: {vims: {a: openstack, b: ETSINFV.OPENSTACK_KEYSTONE.V_3}, floating: {f: cp}, ansible: [{address: 10.0.0.1}]}", []string{"-sandbox"}, nil},
		"no sandbox":     {"packages: p\ndata: d\nsandbox: {floating: {f: cp}}", nil, []string{"sandbox: needs the flag"}},
		"two of a type": {"vims: [{id: a, type: openstack}]\nsandbox: {vims: {b: openstack, c: kubernetes}}", []string{"-sandbox"}, []string{
			"vims[0]: has a type that sandbox.vims gives", "sandbox.vims.c: must be openstack or ETSINFV.OPENSTACK_KEYSTONE.V_3"}},
		"shared":             {"packages: p\ndata: d\nvims: [{id: a, type: openstack, share: [north]}, {id: b, type: openstack, share: all}, {id: c, share: []}]", nil, nil},
		"shared with a word": {"packages: p\ndata: d\nvims: [{id: a, type: openstack, share: none}]", nil, []string{"share must be all, or a list of tenants"}},
		"many": {"listen: x\ntls: {certificate: c, clients: {CN=a: ''}}\ntokens: {issuer: i}\nvims: [{id: a}]", nil, []string{
			"packages: ", "data: ", "listen: must be", "tls: needs both certificate and key", "tls: needs both client_ca and clients", "tokens: needs key_set", "vims[0]: needs id and type"}},
		"retention":         {"packages: p\ndata: d\nretention: {operations: 2160h, failures: 8760h}", nil, nil},
		"no retention":      {"packages: p\ndata: d\nretention: {operations: 2160h, failures: 1h}", nil, []string{"retention: operations and failures must be times such as 90d or 2160h"}},
		"retention, days":   {"packages: p\ndata: d\nretention: {operations: 90d, failures: 365d}", nil, nil},
		"snapshots":         {"packages: p\ndata: d\nsnapshots: {folder: s, every: 1d, keep: 3, keep_before: 10d}", nil, nil},
		"snapshots nowhere": {"packages: p\ndata: d\nsnapshots: {every: 1d, recovery_keys: [age1none]}", nil, []string{"snapshots.folder: is required", "snapshots.recovery_keys: "}},
		"for ever":          {"packages: p\ndata: d\nretention: {operations: 0, failures: 0s}", nil, nil},
		"few days":          {"packages: p\ndata: d\nretention: {operations: 90d, failures: 89d}", nil, []string{"failures not less than operations"}},
		"retention of":      {"packages: p\ndata: d\nretention: {operations: 90x}", nil, []string{"line 3", "90x"}},
		"Helm":              {"packages: p\ndata: d\nhelm: cli", nil, nil},
		"Helm of whom":      {"packages: p\ndata: d\nhelm: me", nil, []string{"helm: must be auto, cli or sdk"}},
		"Helm of sandbox":   {"helm: cli", []string{"-sandbox"}, []string{"helm: cli needs the program helm on machines"}},
		"networks":          {"packages: p\ndata: d\nallow: [10.0.0.0/8, 127.0.0.1, x]", nil, []string{`allow[1]: "127.0.0.1" must be a network`, `allow[2]: "x" must be a network`}},
		"TLS and tokens":    {"listen: 0.0.0.0:9890\npackages: p\ndata: d\ntls: {certificate: c, key: k}\ntokens: {key_set: s, issuer: i, audience: a}", nil, nil},
		"certificates":      {"listen: 0.0.0.0:9890\npackages: p\ndata: d\ntls: {certificate: c, key: k, client_ca: a, clients: {CN=a: north}}", nil, nil},
		"roles": {"packages: p\ndata: d\ntls: {certificate: c, key: k, client_ca: a, clients: {CN=a: {tenant: north, role: reader}, CN=b: {role: admin}}}\n" +
			"tokens: {key_set: s, issuer: i, audience: a, role_claim: r, roles: {x: operator}}", nil, nil},
		"lacking roles": {"packages: p\ndata: d\ntls: {certificate: c, key: k, client_ca: a, clients: {CN=a: {tenant: north, role: root}, CN=b: south}}\n" +
			"tokens: {key_set: s, issuer: i, audience: a, role_claim: r}", nil, []string{`tls.clients["CN=a"].role: must be reader, operator or admin`,
			`tls.clients["CN=b"]: needs a role`, "tokens: needs both role_claim and roles", "tokens: needs role_claim and roles, because"}},
		"unknown of a client": {"packages: p\ndata: d\ntls: {clients: {CN=a: {tenant: north, rule: reader}}}", nil, []string{"line 3: field rule not found"}},
		"Keystone":            {"listen: :1\npackages: p\ndata: d\ntls: {certificate: c, key: k}\nkeystone: {auth_url: 'https://k/v3', user: u, project: service, password: {env: PATH}, roles: {member: operator}, recheck: 30s}", nil, nil},
		"credential":          {"packages: p\ndata: d\nkeystone: {auth_url: 'https://k/v3', application_credential_id: c, password: s, roles: {member: operator}}", nil, nil},
		"half a Keystone": {"packages: p\ndata: d\nkeystone: {user: u, roles: {member: Operator}}", nil, []string{
			"keystone: needs auth_url and roles", "keystone: needs either user and project", "keystone: needs password", "keystone.roles.member: must be"}},
		"NFVO":             {"data: d\nnfvo: {url: 'https://n', sol003: 2.6.1, token_url: 'https://n/t', client_id: vnfm, client_secret: s, packages: p}", nil, nil},
		"half a NFVO":      {"packages: p\ndata: d\nnfvo: {url: 'ftp://n', sol003: 1.0, token_url: 'http://n/t', certificate: c}", nil, []string{"nfvo: needs both certificate and key", "nfvo.certificate: ", "Config.URL", "Config.SOL003", "Config.TokenURL"}},
		"grants":           {"data: d\napi_root: https://v\nnfvo: {url: 'https://n', packages: p}\ngrant: {operations: [HEAL], when_unreachable: proceed, within: 5m}", nil, nil},
		"wrong grants":     {"packages: p\ndata: d\ngrant: {operations: [MODIFY_INFO], when_unreachable: never, within: -1s}", nil, []string{"grant: needs nfvo", "grant: needs api_root", "grant.operations[0]: must be one of", "grant.when_unreachable: must be wait", "grant.within: must be"}},
		"NFVO without URL": {"packages: p\ndata: d\nnfvo: {client_id: vnfm}", nil, []string{"nfvo.url: is required"}},
		"Keystone needs roles of all": {"packages: p\ndata: d\ntls: {certificate: c, key: k, client_ca: a, clients: {CN=a: north}}\nkeystone: {auth_url: 'https://k/v3', user: u, project: p, password: s, roles: {member: operator}}", nil,
			[]string{`tls.clients["CN=a"]: needs a role`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := c.flags
			if c.file != "" {
				file := filepath.Join(t.TempDir(), "vnfm.yaml")
				must(t, os.WriteFile(file, []byte(c.file), 0o600))
				flags = append([]string{"-config", file}, flags...)
			}
			_, err := readConfig(flags)
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("faults: %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
		})
	}
}

// program is the VNFM as a process.
type program struct {
	*exec.Cmd
	t     *testing.T
	api   string // http://.../vnflcm/v2
	log   *output
	http  *http.Client
	token string // bearer token of requests; "": requests have no token
}

// output is the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// newProgram prepares a process, which ends at the end of the test.
func newProgram(t *testing.T, flags ...string) *program {
	t.Helper()
	p := &program{t: t, log: new(output), http: http.DefaultClient}
	p.Cmd = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], flags...) //nolint:gosec // this test binary
	p.Env = append(os.Environ(), asProgram+"=1")
	p.Stderr = p.log
	t.Cleanup(func() {
		if p.Process != nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return p
}

// start starts the VNFM on a sandbox whose state is in a folder.
func start(t *testing.T, data string, flags ...string) *program {
	t.Helper()
	p := newProgram(t, append([]string{"-sandbox", "-listen=127.0.0.1:0", "-data=" + data}, flags...)...)
	out, err := p.StdoutPipe()
	must(t, err)
	must(t, p.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = p.Wait()
		t.Fatalf("the VNFM does not serve: %v\n%s", err, p.log)
	}
	p.api = strings.TrimSuffix(strings.Fields(line)[5], ".")
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return p
}

// request sends a request.
func (p *program) request(method, uri string, body any) (*http.Response, error) {
	p.t.Helper()
	text, err := json.Marshal(body)
	must(p.t, err)
	request, err := http.NewRequestWithContext(p.t.Context(), method, uri, bytes.NewReader(text))
	must(p.t, err)
	request.Header.Set("Content-Type", "application/json")
	if p.token != "" {
		request.Header.Set("Authorization", "Bearer "+p.token)
	}
	return p.http.Do(request)
}

// send sends a request. It returns the Location of the answer, and the document.
func (p *program) send(method, uri string, body any, want int) (location string, document map[string]any) {
	p.t.Helper()
	response, err := p.request(method, uri, body)
	must(p.t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	must(p.t, err)
	if response.StatusCode != want {
		p.t.Fatalf("%s %s: %s, want %d\n%s\n%s", method, uri, response.Status, want, answer, p.log)
	}
	_ = json.Unmarshal(answer, &document)
	return response.Header.Get("Location"), document
}

// create creates an instance and returns its URI.
func (p *program) create(vnfdID string) string {
	p.t.Helper()
	instance, _ := p.send("POST", p.api+"/vnf_instances", map[string]any{"vnfdId": vnfdID}, 201)
	return instance
}

// await waits until an operation is in a state.
func (p *program) await(operation, want string) {
	p.t.Helper()
	var document map[string]any
	eventually(p.t, func() bool {
		_, document = p.send("GET", operation, nil, 200)
		return document["operationState"] == want
	}, func() string { return fmt.Sprintf("not %s: %v\n%s", want, document, p.log) })
}

// eventually waits up to a minute until holds returns true, and fails the test with a text after that.
func eventually(t *testing.T, holds func() bool, failure func() string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(failure())
		}
	}
}

// do starts an operation and waits for its end.
func (p *program) do(uri string, body any) {
	p.t.Helper()
	operation, _ := p.send("POST", uri, body, 202)
	p.await(operation, "COMPLETED")
}

// restOfLife runs all operations of an instantiated cluster, and deletes it.
func (p *program) restOfLife(instance string) {
	p.t.Helper()
	for _, task := range []string{"scale_out", "heal", "terminate"} {
		kind, _, _ := strings.Cut(task, "_")
		p.do(instance+"/"+kind, request(p.t, task+".json"))
	}
	p.send("DELETE", instance, nil, 204)
	p.send("GET", instance, nil, 404)
}

// request reads a sample request of the cluster.
func request(t *testing.T, name string) map[string]any {
	t.Helper()
	return sample(t, "k8s-cluster", name)
}

// sample reads a sample request of a package.
func sample(t *testing.T, pkg, name string) (out map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(samples.Package(pkg), "requests", name))
	must(t, err)
	must(t, json.Unmarshal(text, &out))
	return out
}

// TestLife runs all operations of a cluster. The program is killed while it instantiates.
func TestLife(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := start(t, data)
	instance := p.create(sampleVNFD)
	operation, _ := p.send("POST", instance+"/instantiate", request(t, "instantiate_sandbox.json"), 202)
	p.await(operation, "PROCESSING")
	must(t, p.Process.Kill())
	_ = p.Wait()

	p2 := start(t, data)
	moved := func(uri string) string { return strings.Replace(uri, p.api, p2.api, 1) }
	instance = moved(instance)
	p2.await(moved(operation), "COMPLETED")
	p2.restOfLife(instance)
	p2.send("POST", instance+"/heal", map[string]any{}, 404)
	p2.send("POST", p2.api+"/vnf_instances", map[string]any{"vnfdId": "unknown"}, 422)

	root := strings.TrimSuffix(p2.api, "/vnflcm/v2")
	for _, path := range []string{"/healthz", "/readyz"} {
		p2.send("GET", root+path, nil, 200)
	}
	must(t, p2.Process.Signal(syscall.SIGTERM))
	if err := p2.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, p2.log)
	}
}

// TestMigrateOnly checks that a migration of a database that has the newest format changes nothing: it neither continues an operation
// whose process was killed, nor registers the VIMs of the configuration.
func TestMigrateOnly(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := start(t, data)
	operation, _ := p.send("POST", p.create(sampleVNFD)+"/instantiate", request(t, "instantiate_sandbox.json"), 202)
	p.await(operation, "PROCESSING")
	must(t, p.Process.Kill())
	_ = p.Wait()
	settings := filepath.Join(t.TempDir(), "vnfm.yaml")
	must(t, os.WriteFile(settings, []byte("vims: [{id: added, type: openstack}]\nmaintenance: {days: [sunday], from: '02:00', to: '05:00'}\n"), 0o600))
	before := storedVersions(t, data)
	for flag, planned := range map[string]string{"-plan-migration": "planned=true", "-migrate": "planned=false"} {
		migration := exec.CommandContext(t.Context(), os.Args[0], "-config="+settings, "-sandbox", "-data="+data, flag) //nolint:gosec // this test
		migration.Env = append(os.Environ(), asProgram+"=1")
		out, err := migration.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "msg=migration "+planned+" from=") {
			t.Errorf("%s: %v\n%s", flag, err, out)
		}
		if diff := cmp.Diff(before, storedVersions(t, data)); diff != "" {
			t.Errorf("%s has changed the database:\n%s\n%s", flag, diff, out)
		}
	}
}

// storedVersions returns the versions of records in a database that no process uses.
func storedVersions(t *testing.T, data string) map[string]int64 {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(data, "vnfm.db"))
	must(t, err)
	defer func() { must(t, db.Close()) }()
	out := map[string]int64{}
	for _, kind := range []string{"instance", "operation", "claim", "step", "process", "lease", "vim", "vim-default", "certificates", "meta"} {
		list, err := db.List(t.Context(), store.Query{Kind: kind})
		must(t, err)
		for _, r := range list {
			out[kind+" "+r.ID] = r.Version
		}
	}
	return out
}

// TestGreeting runs the lines that the program prints in a shell.
func TestGreeting(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("this machine has no curl, which the printed commands call")
	}
	p := start(t, t.TempDir())
	script := strings.Join(strings.Split(greeting(strings.TrimPrefix(strings.TrimSuffix(p.api, "/vnflcm/v2"), "http://")), "\n")[2:], "\n")
	out, err := exec.CommandContext(t.Context(), "sh", "-ec", script).Output() //nolint:gosec // the test checks these commands
	for _, want := range []string{`"phase":"instantiate_end","name":"init"`, "202 Accepted", `"operation":"INSTANTIATE"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s", want)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestOnlyOneProcess checks that a second VNFM with the same state is refused.
func TestOnlyOneProcess(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	start(t, data)
	second := exec.CommandContext(t.Context(), os.Args[0], "-sandbox", "-listen=127.0.0.1:0", "-data="+data) //nolint:gosec // this test
	second.Env = append(os.Environ(), asProgram+"=1")
	out, err := second.CombinedOutput()
	if diff := cmp.Diff(fmt.Sprintf("vnfm: data: another process uses %s\n", data), string(out)); err == nil || diff != "" {
		t.Errorf("%v:\n%s", err, diff)
	}
}

// TestReadableKey checks that a key that every user can read is refused if the program has created it. For a file of the operator the
// program logs a warning. A file that a group can read is valid, because Kubernetes mounts files with this mode.
func TestReadableKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, given, shared := filepath.Join(dir, "key"), filepath.Join(dir, "given"), filepath.Join(dir, "shared")
	begin := func(key string) (string, error) {
		t.Helper()
		var log bytes.Buffer
		v, err := compose(t.Context(), &config{onSandbox: true, Packages: filepath.Dir(samples.Package("k8s-cluster")), Data: dir, Key: secret{File: key}}, slog.New(slog.NewTextHandler(&log, nil)))
		if err == nil {
			v.close()
		}
		return log.String(), err
	}
	log, err := begin("")
	must(t, err)
	if !strings.Contains(log, "there is no database") || strings.Contains(log, "not protected") {
		t.Errorf("the first start logs\n%s", log)
	}
	key, err := os.ReadFile(made) //nolint:gosec // a file of this test
	must(t, err)
	for name, mode := range map[string]os.FileMode{given: 0o644, shared: 0o440} {
		must(t, os.WriteFile(name, key, 0o600))
		must(t, os.Chmod(name, mode))
		log, err := begin(name)
		if warned := strings.Contains(log, "chmod o-rwx "+name); err != nil || warned != (name == given) || strings.Contains(log, "there is no database") {
			t.Errorf("%s: %v\n%s", name, err, log)
		}
	}
	must(t, os.Chmod(made, 0o644)) //nolint:gosec // the mode that must be refused
	if _, err := begin(""); err == nil || !strings.Contains(err.Error(), "chmod o-rwx "+made) {
		t.Errorf("the program accepts its readable key: %v", err)
	}
}

// TestClusterEndsBeforeCNF terminates a cluster with a CNF on it, and then the CNF.
func TestClusterEndsBeforeCNF(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := start(t, data)
	cluster, cnf := p.create(sampleVNFD), p.create("5f0c2b7e-93d4-4a68-b1c5-7d2e9a4f6081")
	p.do(cluster+"/instantiate", request(t, "instantiate_sandbox.json"))
	chart := sample(t, "cnf", "instantiate_chart.json")
	chart["vimConnectionInfo"] = map[string]any{"cluster": map[string]any{"vimId": kubeadm.VIMID(path.Base(cluster)), "vimType": "kubernetes"}}
	p.do(cnf+"/instantiate", chart)

	graceful := map[string]any{"terminationType": "GRACEFUL"}
	for _, uri := range []string{cluster + "/terminate", strings.Replace(cluster, "/vnflcm/v2/", "/preview/v1/", 1) + "/terminate"} {
		_, refused := p.send("POST", uri, graceful, 422)
		if text := fmt.Sprint(refused["detail"]); !strings.Contains(text, "additionalParams.with_cnfs") || !strings.Contains(text, path.Base(cnf)) {
			t.Errorf("%s: %s", uri, text)
		}
	}
	graceful["additionalParams"] = map[string]any{"with_cnfs": true}
	_, preview := p.send("POST", strings.Replace(cluster, "/vnflcm/v2/", "/preview/v1/", 1)+"/terminate", graceful, 200)
	if diff := cmp.Diff([]any{path.Base(cnf)}, preview["cnfInstanceIds"]); diff != "" {
		t.Errorf("preview:\n%s", diff)
	}
	p.do(cluster+"/terminate", graceful)
	p.send("DELETE", cluster, nil, 204)
	if text := p.log.String(); strings.Contains(text, "with_cnfs") {
		t.Errorf("the attribute is reported as unknown:\n%s", text)
	}

	_, refused := p.send("POST", cnf+"/heal", map[string]any{}, 422)
	if text := fmt.Sprint(refused["detail"]); !strings.Contains(text, "can only be terminated") {
		t.Errorf("heal: %s", text)
	}
	p.do(cnf+"/terminate", map[string]any{"terminationType": "GRACEFUL"})
	if text := p.log.String(); !strings.Contains(text, "the resources of the VNF on it are not removed") {
		t.Errorf("no warning:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(data, "helm", path.Base(cnf))); !os.IsNotExist(err) {
		t.Errorf("files of Helm: %v", err)
	}
	p.send("DELETE", cnf, nil, 204)
}

// TestMaintenance renews the certificates of a cluster.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	cluster := p.create(sampleVNFD)
	p.do(cluster+"/instantiate", request(t, "instantiate_sandbox.json"))
	task := func(kind string) string {
		return strings.Replace(cluster, "/vnflcm/v2/", kind, 1) + "/renew_certificates"
	}
	if _, preview := p.send("POST", task("/preview/v1/"), map[string]any{}, 200); !strings.Contains(fmt.Sprint(preview["tasks"]), "restart-etcd") {
		t.Errorf("preview: %v", preview)
	}
	p.do(task("/maintenance/v1/"), map[string]any{})
}
