package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cluster returns an instance with a control-plane node and two workers.
func cluster() *vnflcm.VnfInstance {
	cp := func(cpd, address string) vnflcm.VnfcCpInfo {
		return vnflcm.VnfcCpInfo{CpdID: cpd, CpProtocolInfo: []vnflcm.CpProtocolInfo{{LayerProtocol: "IP_OVER_ETHERNET",
			IPOverEthernet: &vnflcm.IPOverEthernetAddressInfo{IPAddresses: []vnflcm.IPAddressInfo{{Type: "IPV4", Addresses: []string{address}}}}}}}
	}
	return &vnflcm.VnfInstance{InstantiatedVnfInfo: &vnflcm.InstantiatedVnfInfo{VnfcResourceInfo: []vnflcm.VnfcResourceInfo{
		{ID: "m-1", Name: "masterNode-0", VduID: "masterNode", VnfcCpInfo: []vnflcm.VnfcCpInfo{cp("masterNode_CP1", "10.0.0.1")}},
		{ID: "w-1", Name: "workerNode-0", VduID: "workerNode", VnfcCpInfo: []vnflcm.VnfcCpInfo{cp("workerNode_CP1", "10.1.0.2"), cp("workerNode_CP2", "10.0.0.2")}},
		{ID: "w-2", Name: "workerNode-1", VduID: "workerNode", VnfcCpInfo: []vnflcm.VnfcCpInfo{cp("workerNode_CP2", "10.0.0.3")}},
	}}}
}

func machines(t *testing.T, params string) []machine {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(params))
	must(t, err)
	list, err := machinesOf(cluster(), p)
	must(t, err)
	return list
}

const logins = `{"k8s_cluster_installation_param": {"master_node": {"ssh_cp_name": "masterNode_CP1", "username": "root"},
	"worker_node": {"ssh_cp_name": "workerNode_CP2", "username": "ubuntu", "private_key": "KEY"}}}`

func TestChoose(t *testing.T) {
	t.Parallel()
	list := machines(t, logins)
	for name, want := range map[string]string{"m-1": "root@10.0.0.1", "masterNode": "root@10.0.0.1", "10.0.0.3": "ubuntu@10.0.0.3", "workerNode-1": "ubuntu@10.0.0.3", "w-1": "ubuntu@10.0.0.2"} {
		if m, err := choose(list, name); err != nil || m.login.User+"@"+m.address != want {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	for _, name := range []string{"workerNode", "w", "x", "10.1.0.2"} {
		if m, err := choose(list, name); err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	must(t, list(machines(t, logins), &out))
	want := "name          VDU         address   VNFC\nmasterNode-0  masterNode  10.0.0.1  m-1\n" +
		"workerNode-0  workerNode  10.0.0.2  w-1\nworkerNode-1  workerNode  10.0.0.3  w-2\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if _, err := machinesOf(&vnflcm.VnfInstance{}, vnflcm.Params{}); err == nil {
		t.Error("a VNF without machines")
	}
}

// TestShell runs a fake ssh, which records its arguments and the key.
func TestShell(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\nstat -c %a \"$2\" >"+dir+"/mode; cat \"$2\" >"+dir+"/key; echo \"$@\" >"+dir+"/args\n"), 0o700)) //nolint:gosec // a program
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	m, err := choose(machines(t, logins), "w-2")
	must(t, err)
	must(t, m.shell(t.Context(), []string{"uptime"}))
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		return string(text)
	}
	args := strings.Fields(read("args"))
	if len(args) != 4 || args[0] != "-i" || args[2] != "ubuntu@10.0.0.3" || args[3] != "uptime" || read("key") != "KEY\n" || read("mode") != "600\n" {
		t.Errorf("%q, key %q, mode %q", args, read("key"), read("mode"))
	}
	if _, err := os.Stat(args[1]); err == nil {
		t.Error("the key is left on the disk")
	}
}

// TestFindings writes the table of check.
func TestFindings(t *testing.T) {
	t.Parallel()
	for want, found := range map[string][]kubeadm.PreflightFinding{
		"nothing is wrong with the machines\n": nil,
		"w0  disk  it is full  free space\nw1  mtu   it differs  -\n": {
			{Check: "disk", Machine: "w0", Problem: "it is full", Remedy: "free space"}, {Check: "mtu", Machine: "w1", Problem: "it differs"}},
	} {
		var out strings.Builder
		if err := writeFindings(&out, found); err != nil || out.String() != want {
			t.Errorf("%v: %q, want %q", err, out.String(), want)
		}
	}
}
