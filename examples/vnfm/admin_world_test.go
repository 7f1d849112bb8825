package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/examples/vnfm/internal/admin"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// lab is a VNFM in this process, whose commands reach the world of the sandbox.
type lab struct {
	*vnfm
	t   *testing.T
	dir string
}

func openLab(t *testing.T, dir string) *lab {
	t.Helper()
	v, err := compose(t.Context(), &config{onSandbox: true, Packages: filepath.Dir(samples.Package("k8s-cluster")), Data: dir, Audit: filepath.Join(dir, "audit.json")}, slog.New(slog.DiscardHandler))
	must(t, err)
	return &lab{v, t, dir}
}

// instantiated returns a cluster.
func (l *lab) instantiated() string {
	l.t.Helper()
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD})
	must(l.t, err)
	text, err := os.ReadFile(filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"))
	must(l.t, err)
	var req vnflcm.InstantiateVnfRequest
	must(l.t, json.Unmarshal(text, &req))
	opID, err := l.Instantiate(l.t.Context(), inst.ID, req)
	must(l.t, err)
	_, err = l.Wait(l.t.Context(), opID)
	must(l.t, err)
	return inst.ID
}

// run runs a command of the operator.
func (l *lab) run(o admin.Options, in string, words ...string) (string, error) {
	l.t.Helper()
	must(l.t, admin.Check(words, o))
	var out bytes.Buffer
	commands := l.commands(o)
	commands.In, commands.Out, commands.Err = strings.NewReader(in), &out, &out
	err := commands.Run(l.t.Context(), words)
	return out.String(), err
}

// found returns kind, resource and name of what diagnose finds.
func (l *lab) found(words ...string) (out []string) {
	l.t.Helper()
	text, err := l.run(admin.Options{JSON: true, All: len(words) == 1}, "", words...)
	must(l.t, err)
	var list []vnflcm.Finding
	must(l.t, json.Unmarshal([]byte(text), &list))
	for _, f := range list {
		out = append(out, strings.Join([]string{string(f.Kind), f.Resource, f.Name}, " "))
	}
	if strings.Contains(text, "ubuntu") {
		l.t.Errorf("the login of the machines:\n%s", text)
	}
	return out
}

// changeWorld changes the file with the machines of a sandbox that is closed.
func (l *lab) changeWorld(change func(machines []any) []any) {
	l.t.Helper()
	name := filepath.Join(l.dir, "world", "world.json")
	text, err := os.ReadFile(name) //nolint:gosec // a file of this test
	must(l.t, err)
	var world map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	must(l.t, decoder.Decode(&world))
	world["Machines"] = change(world["Machines"].([]any))
	text, err = json.Marshal(world)
	must(l.t, err)
	must(l.t, os.WriteFile(name, text, 0o600))
}

// TestVIMStates logs in at VIMs.
func TestVIMStates(t *testing.T) {
	t.Parallel()
	l := openLab(t, t.TempDir())
	defer l.close()
	id := l.instantiated()
	const password = "canary-Xq7-password"
	at, err1 := vnflcm.NewParams(map[string]string{"endpoint": "https://127.0.0.1:1/v3"})
	who, err2 := vnflcm.NewParams(map[string]string{"username": "u", "password": password, "project": "p"})
	must(t, errors.Join(err1, err2, l.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "dead", VimType: "openstack", InterfaceInfo: at, AccessInfo: who})))
	text, err := l.run(admin.Options{JSON: true}, "", "vims")
	must(t, err)
	var list []map[string]any
	must(t, json.Unmarshal([]byte(text), &list))
	got := map[string]any{}
	for _, row := range list {
		got[row["id"].(string)] = row["state"]
	}
	if diff := cmp.Diff(map[string]any{"dead": "unreachable", "sandbox": "unchecked", kubeadm.VIMID(id): "reachable"}, got); diff != "" || strings.Contains(text, password) {
		t.Errorf("%s\n%s", diff, text)
	}
}

// TestDiagnose plants a difference of each kind between the records and the sandbox.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	l := openLab(t, t.TempDir())
	id := l.instantiated()
	if text, err := l.run(admin.Options{All: true}, "", "diagnose"); err != nil || text != "The records and what exists agree.\n" {
		t.Errorf("%v: %s", err, text)
	}
	must(t, l.VIMs().Remove(t.Context(), "", kubeadm.VIMID(id)))
	if diff := cmp.Diff([]string{"missing vim "}, l.found("diagnose", id)); diff != "" {
		t.Errorf("the entry was removed:\n%s", diff)
	}
	l.close()

	l.changeWorld(func(machines []any) []any {
		for _, m := range machines {
			if machine := m.(map[string]any); machine["Name"] == "workerNode-0" {
				machine["Instance"] = "another-instance"
			}
		}
		return machines
	})
	l = openLab(t, l.dir)
	defer l.close()
	if diff := cmp.Diff([]string{"missing machine workerNode-0", "missing vim "}, l.found("diagnose", id)); diff != "" {
		t.Errorf("a machine belongs to another instance:\n%s", diff)
	}
	all := l.found("diagnose")
	if diff := cmp.Diff([]string{"missing machine workerNode-0", "missing vim ", "stray machine workerNode-0"}, all); diff != "" {
		t.Errorf("all:\n%s", diff)
	}
	text, err := l.run(admin.Options{}, "", "diagnose", id)
	if err != nil || !strings.HasPrefix(text, "finding") || !strings.Contains(text, "workerNode-0") {
		t.Errorf("%v\n%s", err, text)
	}
	_, err = l.run(admin.Options{}, "", "diagnose", "unknown")
	if !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("an unknown instance: %v", err)
	}
}

// TestAdminEvidence prints what is kept of a failure.
func TestAdminEvidence(t *testing.T) {
	t.Parallel()
	l := openLab(t, t.TempDir())
	defer l.close()
	inst, err := l.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: sampleVNFD})
	must(t, err)
	var req vnflcm.InstantiateVnfRequest
	text, err := os.ReadFile(filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"))
	must(t, errors.Join(err, json.Unmarshal(text, &req)))
	over, err1 := vnflcm.ParseParams([]byte(`{"k8s_cluster_installation_param":{"private_registry_connection_info":[{"connection_type":"0","server":"198.18.9.8:5000","probe_image":"pause:1"}],"preflight":{"pass_over":["registries"]}}}`))
	req.AdditionalParams, err = req.AdditionalParams.Merge(over)
	must(t, errors.Join(err, err1))
	opID, err := l.Instantiate(t.Context(), inst.ID, req)
	must(t, err)
	if _, err := l.Wait(t.Context(), opID); err == nil {
		t.Fatal("the operation has not failed")
	}
	for _, c := range []struct {
		words []string
		wants []string
	}{
		{[]string{"diagnose", inst.ID}, []string{"evidence of", opID, "registries", "workerNode-0", "vnfm admin evidence OPERATION"}},
		{[]string{"evidence", opID}, []string{"==> registries on workerNode-0 at ", ": containers <==\nNAME", ": error <=="}},
	} {
		got, err := l.run(admin.Options{}, "", c.words...)
		must(t, err)
		for _, want := range c.wants {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q is not in\n%s", c.words, want, got)
			}
		}
	}
	if records := readAudit(t, filepath.Join(l.dir, "audit.json")); !slices.Contains(records, operator()+" vnfm admin evidence "+opID+" accepted") {
		t.Errorf("audit records: %v", records)
	}
	_, err = l.run(admin.Options{}, "", "evidence", "unknown")
	if !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("an unknown operation: %v", err)
	}
}

// TestSSH runs commands on machines.
func TestSSH(t *testing.T) {
	t.Parallel()
	l := openLab(t, t.TempDir())
	defer l.close()
	id := l.instantiated()
	text, err := l.run(admin.Options{}, "", "ssh", id)
	if err != nil || !strings.Contains(text, "masterNode-0") || !strings.Contains(text, "workerNode-0") || strings.Contains(text, "ubuntu") {
		t.Fatalf("%v\n%s", err, text)
	}
	var address, vnfc string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); fields[0] == "workerNode-0" {
			address, vnfc = fields[2], fields[4]
		}
	}
	host, err := l.run(admin.Options{}, "", "ssh", id, "workerNode-0", "hostname")
	must(t, err)
	for _, name := range []string{address, vnfc, vnfc[:8], strings.TrimSpace(host)} {
		if again, err := l.run(admin.Options{}, "", "ssh", id, name, "hostname"); err != nil || again != host {
			t.Errorf("%s: %q, %v", name, again, err)
		}
	}
	if text, err := l.run(admin.Options{}, "hostname\n", "ssh", id, "workerNode-0"); err != nil || text != host {
		t.Errorf("commands of standard input: %q, %v", text, err)
	}
	_, err = l.run(admin.Options{}, "", "ssh", id, "workerNode-0", "cat", "/no/such/file")
	if failed, is := errors.AsType[cli.Explained](err); !is || failed.Code == 0 {
		t.Errorf("a command that fails: %v", err)
	}
	_, err = l.run(admin.Options{}, "", "ssh", id, "other")
	if err == nil || !strings.Contains(err.Error(), `0 machines have the name, address or VNFC id "other"`) {
		t.Errorf("an unknown machine: %v", err)
	}
	if records := readAudit(t, filepath.Join(l.dir, "audit.json")); !slices.Contains(records, operator()+" vnfm admin ssh "+id+" workerNode-0 accepted") ||
		slices.ContainsFunc(records, func(text string) bool { return strings.Contains(text, "hostname") }) {
		t.Errorf("audit records: %v", records)
	}
}
