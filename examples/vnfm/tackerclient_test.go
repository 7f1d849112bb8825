package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

// tackerClient runs python3-tackerclient, which is independent of this project.
type tackerClient struct {
	*program
	t       *testing.T
	version string // version of the API: 1 or 2
	dir     string // folder with the files for the client
}

// try runs a command of the client and returns its output and its errors. Only version 1 of the client has "vnf package" and "vim".
func (c *tackerClient) try(args ...string) (out []byte, faults string, err error) {
	c.t.Helper()
	version := c.version
	if args[0] != "vnflcm" {
		version = "1"
	}
	root := strings.TrimSuffix(c.api, "/vnflcm/v2")
	command := exec.CommandContext(c.t.Context(), "openstack", append([]string{"--os-auth-type", "none", "--os-endpoint", root, "--os-tacker-api-version", version}, args...)...) //nolint:gosec // this test
	command.Env = append(os.Environ(), "no_proxy=127.0.0.1")
	var text bytes.Buffer
	command.Stderr = &text
	out, err = command.Output()
	return out, text.String(), err
}

// command runs a command of the client, which must succeed, and returns its output.
func (c *tackerClient) command(args ...string) string {
	c.t.Helper()
	out, faults, err := c.try(args...)
	// Version 1.12 of the client reports that a cancel is accepted, and then fails because the answer has no body.
	if accepted := strings.HasPrefix(string(out), "Cancel request"); err != nil && !accepted {
		c.t.Fatalf("%s: %v\n%s%s\n%s", strings.Join(args, " "), err, out, faults, c.log)
	}
	return string(out)
}

// run runs a vnflcm command and returns its output.
func (c *tackerClient) run(args ...string) string {
	c.t.Helper()
	return c.command(append([]string{"vnflcm"}, args...)...)
}

// shown runs a command that shows an object.
func (c *tackerClient) shown(args ...string) (out map[string]any) {
	c.t.Helper()
	text := c.command(append(args, "-f", "json")...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		c.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return out
}

// object runs a vnflcm command that shows an object.
func (c *tackerClient) object(args ...string) map[string]any {
	c.t.Helper()
	return c.shown(append([]string{"vnflcm"}, args...)...)
}

// list runs a command that shows a list, and returns the objects in which a column has a value.
func (c *tackerClient) list(column, value string, args ...string) (out []map[string]any) {
	c.t.Helper()
	text := c.run(append(args, "-f", "json")...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		c.t.Fatalf("vnflcm %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return slices.DeleteFunc(out, func(o map[string]any) bool { return o[column] != value })
}

// file writes a file for the client.
func (c *tackerClient) file(name string, content any) string {
	c.t.Helper()
	text, err := json.Marshal(content)
	must(c.t, err)
	name = filepath.Join(c.dir, name)
	must(c.t, os.WriteFile(name, text, 0o600))
	return name
}

// latest returns the newest operation of an instance. It does not use the client, which takes a second for each command.
func (c *tackerClient) latest(instance string) (id, uri string) {
	c.t.Helper()
	var list []struct{ ID string }
	response, err := http.Get(c.api + "/vnf_lcm_op_occs?filter=(eq,vnfInstanceId," + instance + ")") //nolint:noctx // the timeout of the test is enough
	must(c.t, err)
	defer func() { _ = response.Body.Close() }()
	must(c.t, json.NewDecoder(response.Body).Decode(&list))
	if len(list) == 0 {
		c.t.Fatal("the instance has no operation")
	}
	id = list[len(list)-1].ID
	return id, c.api + "/vnf_lcm_op_occs/" + id
}

// ends waits for the newest operation of an instance.
func (c *tackerClient) ends(instance, state string) (id string) {
	c.t.Helper()
	id, uri := c.latest(instance)
	c.await(uri, state)
	return id
}

// notified counts notifications.
type notified struct {
	mu  sync.Mutex
	got map[string]bool
}

func (n *notified) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var document struct{ NotificationType, Operation, OperationState string }
	if json.NewDecoder(r.Body).Decode(&document) == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.got[document.Operation+document.OperationState+" "+r.Header.Get("Version")] = true
	}
	w.WriteHeader(http.StatusNoContent)
}

// packagesWithBrokenCNI returns the sample package of a cluster with a CNI manifest that every cluster refuses. An operation that applies
// the manifest retries until it is cancelled.
func packagesWithBrokenCNI(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "k8s-cluster"), os.DirFS(samples.Package("k8s-cluster"))))
	digest := func(name, content string) string {
		if content != "" {
			must(t, os.WriteFile(name, []byte(content), 0o600))
		}
		text, err := os.ReadFile(name) //nolint:gosec // a file that the test has copied
		must(t, err)
		sum := sha256.Sum256(text)
		return hex.EncodeToString(sum[:])
	}
	manifest, meta := filepath.Join(dir, "k8s-cluster/Files/kubernetes/cni.yaml"), filepath.Join(dir, "k8s-cluster/TOSCA-Metadata/TOSCA.meta")
	before, after := digest(manifest, ""), digest(manifest, "apiVersion: v1\nkind: Unknown\nmetadata: {name: x}\n")
	text, err := os.ReadFile(meta) //nolint:gosec // a file that the test has copied
	must(t, err)
	must(t, os.WriteFile(meta, bytes.Replace(text, []byte(before), []byte(after), 1), 0o600))
	return dir
}

// needSOL003Part skips a test that was not requested.
func needSOL003Part(t *testing.T) {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("VNFKIT_E2E"), ","), "sol003") {
		t.Skip("VNFKIT_E2E does not name sol003")
	}
}

// needTackerClient skips a test that was not requested, or if the client is missing.
func needTackerClient(t *testing.T) {
	t.Helper()
	needSOL003Part(t)
	if _, err := exec.LookPath("openstack"); err != nil {
		t.Skip("packages are missing: python3-tackerclient python3-openstackclient")
	}
}

// TestTackerClient runs all operations in both versions of the API with the client of OpenStack Tacker.
func TestTackerClient(t *testing.T) {
	needTackerClient(t)
	p := start(t, t.TempDir(), "-packages="+packagesWithBrokenCNI(t))
	told := &notified{got: map[string]bool{}}
	subscriber := httptest.NewServer(told)
	t.Cleanup(subscriber.Close)
	for version, header := range map[string]string{"1": "1.3.0", "2": "2.0.0"} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			own := *p
			own.t = t
			c := &tackerClient{program: &own, t: t, version: version, dir: t.TempDir()}
			subscription := c.object("subsc", "create", c.file("subscription.json", map[string]any{"callbackUri": subscriber.URL + "/" + version}))
			c.life()
			c.troubles()
			id := fmt.Sprint(subscription["ID"])
			if shown := c.object("subsc", "show", id); shown["Callback URI"] != subscriber.URL+"/"+version {
				t.Errorf("the subscription: %v", shown)
			}
			if len(c.list("ID", id, "subsc", "list")) != 1 {
				t.Error("the subscription is not listed")
			}
			c.run("subsc", "delete", id)
			told.mu.Lock()
			defer told.mu.Unlock()
			for _, change := range []string{"", "INSTANTIATESTARTING", "SCALECOMPLETED", "HEALCOMPLETED", "MODIFY_INFOCOMPLETED", "INSTANTIATEFAILED_TEMP", "INSTANTIATEROLLED_BACK", "TERMINATECOMPLETED"} {
				if !told.got[change+" "+header] {
					t.Errorf("no notification of %q in version %s", change, version)
				}
			}
		})
	}
}

// create creates an instance.
func (c *tackerClient) create() (instance string) {
	c.t.Helper()
	return fmt.Sprint(c.object("create", sampleVNFD, "--name", "toy")["ID"])
}

// instantiate returns a request for a cluster with a CNI manifest of the package, or for "" with the driver's default manifest.
func (c *tackerClient) instantiate(manifest string) map[string]any {
	c.t.Helper()
	out := request(c.t, "instantiate_sandbox.json")
	parameters := out["additionalParams"].(map[string]any)["k8s_cluster_installation_param"].(map[string]any)
	if parameters["cni_manifest_path"] = manifest; manifest == "" {
		delete(parameters, "cni_manifest_path")
	}
	return out
}

// life runs all operations of a VNF.
func (c *tackerClient) life() {
	c.t.Helper()
	if versions := c.object("versions"); len(versions["apiVersions"].([]any)) != 2 {
		c.t.Errorf("versions: %v", versions)
	}
	instance := c.create()
	c.run("instantiate", instance, c.file("instantiate.json", c.instantiate("")))
	c.ends(instance, "COMPLETED")
	c.run("scale", "--type", "SCALE_OUT", "--aspect-id", "worker_instance", "--number-of-steps", "1", instance)
	c.ends(instance, "COMPLETED")
	c.run("heal", instance, "--cause", "alarm", "--vnfc-instance", c.worker(instance))
	c.ends(instance, "COMPLETED")
	c.run("update", instance, "--I", c.file("update.json", map[string]any{"vnfInstanceName": "renamed", "metadata": map[string]string{"site": "north"}}))
	c.ends(instance, "COMPLETED")
	shown := c.object("show", instance)
	if diff := cmp.Diff([]any{"renamed", "INSTANTIATED"}, []any{shown["VNF Instance Name"], shown["Instantiation State"]}); diff != "" {
		c.t.Errorf("the instance:\n%s", diff)
	}
	if operations := c.list("VNF Instance ID", instance, "op", "list"); len(operations) != 4 {
		c.t.Errorf("the operations: %v", operations)
	}
	c.run("terminate", instance, "--termination-type", "GRACEFUL")
	c.ends(instance, "COMPLETED")
	c.run("delete", instance)
	if len(c.list("ID", instance, "list")) != 0 {
		c.t.Error("the instance is still listed")
	}
}

// worker returns a VNFC of an instance that is a worker.
func (c *tackerClient) worker(instance string) string {
	c.t.Helper()
	_, document := c.send("GET", c.api+"/vnf_instances/"+instance, nil, 200)
	info, _ := document["instantiatedVnfInfo"].(map[string]any)
	for _, v := range info["vnfcResourceInfo"].([]any) {
		if v := v.(map[string]any); v["vduId"] == "workerNode" {
			return fmt.Sprint(v["id"])
		}
	}
	c.t.Fatal("the instance has no worker")
	return ""
}

// troubles cancels an operation that does not end, and retries, rolls back and fails operations.
func (c *tackerClient) troubles() {
	c.t.Helper()
	file := c.file("endless.json", c.instantiate("Files/kubernetes/cni.yaml"))
	instance := c.create()
	c.run("instantiate", instance, file)
	operation := c.ends(instance, "PROCESSING")
	cancel := func() {
		if c.version == "1" {
			c.run("op", "cancel", operation, "--cancel-mode", "FORCEFUL")
		} else { // the client has no such command for version 2
			c.send("POST", c.api+"/vnf_lcm_op_occs/"+operation+"/cancel", map[string]string{"cancelMode": "FORCEFUL"}, 202)
		}
		c.ends(instance, "FAILED_TEMP")
	}
	cancel()
	if shown := c.object("op", "show", operation); shown["Operation State"] != "FAILED_TEMP" || shown["Error"] == "" {
		c.t.Errorf("the operation: %v", shown)
	}
	c.run("op", "retry", operation)
	c.ends(instance, "PROCESSING")
	cancel()
	c.run("op", "rollback", operation)
	c.ends(instance, "ROLLED_BACK")

	c.run("instantiate", instance, file)
	operation = c.ends(instance, "PROCESSING")
	cancel()
	if failed := c.object("op", "fail", operation); failed["Operation State"] != "FAILED" {
		c.t.Errorf("op fail: %v", failed)
	}
}
