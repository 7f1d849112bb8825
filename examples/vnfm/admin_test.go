package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// operating runs commands of the operator in processes beside a VNFM.
type operating struct {
	t     *testing.T
	flags []string
}

// run runs "vnfm admin" and returns what it prints, and its exit code.
func (o operating) run(words ...string) (out, log string, code int) {
	o.t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(o.t.Context(), os.Args[0], slices.Concat([]string{"admin"}, o.flags, words)...) //nolint:gosec // this test binary
	command.Env = append(os.Environ(), asProgram+"=1")
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run()
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

// want runs a command that must succeed and print these texts.
func (o operating) want(words []string, texts ...string) string {
	o.t.Helper()
	out, log, code := o.run(words...)
	if code != 0 {
		o.t.Errorf("%v: exit code %d\n%s", words, code, log)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			o.t.Errorf("%v lacks %q:\n%s", words, text, out)
		}
	}
	return out
}

// refused runs a command that must end with a code and an error that has a text.
func (o operating) refused(code int, text string, words ...string) {
	o.t.Helper()
	out, log, got := o.run(words...)
	if got != code || !strings.Contains(log, text) {
		o.t.Errorf("%v: exit code %d, want %d and %q\n%s%s", words, got, code, text, out, log)
	}
}

// rows returns the list that a command prints as JSON.
func (o operating) rows(words ...string) (list []map[string]any) {
	o.t.Helper()
	must(o.t, json.Unmarshal([]byte(o.want(append(words, "-json"))), &list))
	return list
}

const passwordCanary = "ubuntu-canary-Xq7"

// TestAdmin runs the commands beside a VNFM on a sandbox, whose world the commands cannot reach.
func TestAdmin(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	folder := filepath.Join(dir, "packages")
	must(t, os.CopyFS(filepath.Join(folder, "k8s-cluster"), os.DirFS(samples.Package("k8s-cluster"))))
	must(t, os.WriteFile(filepath.Join(folder, "broken.csar"), []byte("no zip"), 0o600))
	settings, audit := filepath.Join(dir, "vnfm.yaml"), filepath.Join(dir, "audit.json")
	text := "audit: " + audit + "\n" +
		"vims: [{id: cloud, type: openstack, interface_info: {endpoint: 'https://127.0.0.1:1/v3'}, access_info: {username: u, password: " + passwordCanary + ", project: p}}]\n"
	must(t, os.WriteFile(settings, []byte(text), 0o600))
	p := start(t, data, "-config="+settings, "-packages="+folder)
	must(t, os.WriteFile(settings, []byte(text+"retention: {operations: 1ns, failures: 8760h}\n"), 0o600)) // for the commands alone
	o := operating{t, []string{"-config=" + settings, "-sandbox", "-data=" + data, "-packages=" + folder}}
	cluster := p.create(sampleVNFD)
	id := path.Base(cluster)
	p.do(cluster+"/instantiate", request(t, "instantiate_sandbox.json"))
	bare := path.Base(p.create(sampleVNFD))

	for _, text := range []string{"vnfd=" + sampleVNFD, `msg="a package cannot be used"`, "name=broken.csar"} {
		if !strings.Contains(p.log.String(), text) {
			t.Errorf("the log of the VNFM lacks %s:\n%s", text, p.log)
		}
	}
	o.want([]string{"instances"}, id, bare, "INSTANTIATED", "INSTANTIATE", "COMPLETED")
	for _, row := range o.rows("instances") {
		if row["id"] == id && (row["operationState"] != "COMPLETED" || row["locked"] != false || row["product"] == "") {
			t.Errorf("instances: %v", row)
		}
	}
	o.want([]string{"packages"}, sampleVNFD, "broken.csar", "UNREADABLE")
	for _, row := range o.rows("packages") {
		if row["vnfdId"] == sampleVNFD && row["inUse"] != 2.0 {
			t.Errorf("packages: %v", row)
		}
	}
	if out := o.want([]string{"vims"}, "cloud", "sandbox", kubeadm.VIMID(id), "VNF instance "+id, settings); strings.Contains(out, passwordCanary) || strings.Contains(out, "token") {
		t.Errorf("a secret:\n%s", out)
	}
	for _, of := range []string{id, kubeadm.VIMID(id)} {
		config, err := clientcmd.RESTConfigFromKubeConfig([]byte(o.want([]string{"kubeconfig", of})))
		if err != nil || config.BearerToken == "" || !strings.HasPrefix(config.Host, "https://") || len(config.CAData) == 0 {
			t.Errorf("kubeconfig: %v, %v", config, err)
		}
	}
	o.refused(1, "has no cluster in the registry of VIMs", "kubeconfig", bare)
	o.refused(1, "no VNF instance and no cluster", "kubeconfig", "cloud")
	o.refused(1, "the machines of a sandbox are inside the process", "ssh", id)
	o.refused(1, "the machines of a sandbox are inside the process", "diagnose", "-all")
	o.want([]string{"reseal"}, "All records are sealed under the current key")

	o.want([]string{"purge"}, "These are removed: completed operations", ": 1; failed", "Nothing was changed")
	if len(o.rows("instances")) != 2 || o.rows("instances")[0]["operation"] == nil && o.rows("instances")[1]["operation"] == nil {
		t.Error("without -yes purge has removed an operation")
	}
	o.want([]string{"purge", "-yes"}, "Removed: completed operations")
	o.want([]string{"abandon", id}, "The VNF instance "+id, "machine", "masterNode-0", "VIM entry", "Nothing was changed")
	p.send("GET", cluster, nil, 200)
	o.want([]string{"-yes", "abandon", id}, "The VNF instance "+id)
	p.send("GET", cluster, nil, 404)
	o.refused(1, "not found", "abandon", id, "-yes")
	o.refused(1, "can be read", "forget", "instance", bare, "-yes")

	me := operator()
	if diff := cmp.Diff([]string{
		me + " vnfm admin kubeconfig " + id + " accepted", me + " vnfm admin kubeconfig " + kubeadm.VIMID(id) + " accepted", me + " vnfm admin reseal accepted",
		me + " vnfm admin purge accepted", me + " vnfm admin abandon " + id + " accepted",
	}, slices.DeleteFunc(readAudit(t, audit), func(text string) bool { return !strings.Contains(text, "vnfm admin") })); diff != "" {
		t.Errorf("audit records:\n%s", diff)
	}
}

// TestAdminRefuses checks command lines and settings that must be refused, before a database is opened or made.
func TestAdminRefuses(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	o := operating{t, []string{"-sandbox", "-data=" + data}}
	for _, c := range []struct {
		code  int
		text  string
		words []string
	}{
		{2, "a command is missing", nil},
		{2, `unknown command "frob"`, []string{"frob"}},
		{2, "vnfm admin kubeconfig ID", []string{"kubeconfig"}},
		{2, "is empty: the command is: vnfm admin kubeconfig ID", []string{"kubeconfig", ""}},
		{2, "is empty: the command is: vnfm admin ssh ID", []string{"ssh", "x", "", "--", "reboot"}},
		{2, "vnfm admin forget KIND ID", []string{"forget", "instance"}},
		{2, "vnfm admin instances", []string{"instances", "x"}},
		{2, "-yes has no effect with instances", []string{"instances", "-yes"}},
		{2, "-json has no effect with purge", []string{"purge", "-json"}},
		{2, "-all has no effect with purge", []string{"purge", "-all"}},
		{2, "diagnose needs either", []string{"diagnose"}},
		{2, "diagnose needs either", []string{"diagnose", "x", "-all"}},
		{2, "flag provided but not defined", []string{"instances", "-frob"}},
		{2, "Try vnfm admin -h", []string{"instances", "-frob"}},
		{1, "there is nothing to administer", []string{"instances"}},
	} {
		o.refused(c.code, c.text, c.words...)
	}
	if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
		t.Errorf("a refused command has made %v, %v", left, err)
	}
	operating{t, []string{"-sandbox"}}.refused(1, "data: is required", "instances")
	if out, _, code := (operating{t, nil}).run("-h"); code != 0 || !strings.Contains(out, "diagnose -all") {
		t.Errorf("help: %d\n%s", code, out)
	}
}

// TestAdminForgets forgets a damaged record beside a VNFM.
func TestAdminForgets(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := start(t, data)
	damaged := path.Base(p.create(sampleVNFD))
	db, err := sqlite.Open(t.Context(), filepath.Join(data, "vnfm.db"))
	must(t, err)
	record, err := db.Get(t.Context(), "instance", damaged)
	must(t, err)
	record.Body = []byte("damaged")
	must(t, db.Apply(t.Context(), store.Batch{Put: []store.Record{record}}))
	must(t, db.Close())
	o := operating{t, []string{"-sandbox", "-data=" + data}}
	o.refused(1, "instance "+damaged, "instances")
	o.want([]string{"forget", "instance", damaged}, "which cannot be read, is removed", "Nothing was changed")
	o.refused(1, "instance "+damaged, "instances")
	o.want([]string{"forget", "instance", damaged, "-yes"})
	o.want([]string{"instances"})
	o.want([]string{"purge"}, "The configuration has no retention")
	p.send("GET", p.api+"/vnf_instances/"+damaged, nil, 404)
}

// TestRetention checks that a VNFM removes by itself what its retention does not keep.
func TestRetention(t *testing.T) {
	t.Parallel()
	data, settings := t.TempDir(), filepath.Join(t.TempDir(), "vnfm.yaml")
	p := start(t, data)
	p.create(sampleVNFD)
	must(t, p.Process.Kill())
	_ = p.Wait()
	must(t, os.WriteFile(settings, []byte("retention: {operations: 1ns}\n"), 0o600))
	p = start(t, data, "-config="+settings)
	eventually(t, func() bool { return strings.Contains(p.log.String(), "msg=purged operations=0 failures=0 changes=1") },
		func() string { return "nothing was purged:\n" + p.log.String() })
}

// TestOldKeys opens a database under another key, and seals its records under that key.
func TestOldKeys(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	p := start(t, data)
	p.create(sampleVNFD)
	must(t, p.Process.Kill())
	_ = p.Wait()
	settings, key := filepath.Join(dir, "vnfm.yaml"), filepath.Join(dir, "new")
	must(t, os.WriteFile(key, bytes.Repeat([]byte{7}, 32), 0o600))
	must(t, os.WriteFile(settings, []byte("key: "+key+"\nold_keys: ["+filepath.Join(data, "key")+"]\n"), 0o600))
	start(t, data, "-config="+settings)
	o := operating{t, []string{"-config=" + settings, "-sandbox", "-data=" + data}}
	o.want([]string{"reseal"}, "not needed any more")
	must(t, os.WriteFile(settings, []byte("key: "+key+"\n"), 0o600))
	if len(o.rows("instances")) != 1 {
		t.Error("without the old key the instance is missing")
	}
	must(t, os.WriteFile(settings, []byte("key: "+key+"\nold_keys: [/does/not/exist]\n"), 0o600))
	o.refused(1, "old_keys[0]", "instances")
}
