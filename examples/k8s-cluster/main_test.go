package main

import (
	gocmp "cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestScaleRequest(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]vnflcm.ScaleVnfRequest{
		"2":  {Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2},
		"-1": {Type: vnflcm.ScaleIn, AspectID: "worker_instance", NumberOfSteps: 1},
	} {
		if got, err := scaleRequest([]string{arg}); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %+v, %v", arg, got, err)
		}
	}
	for _, args := range [][]string{nil, {"0"}, {"many"}, {"1", "2"}} {
		if _, err := scaleRequest(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// TestCommandLine checks that an unknown word is named before the program does anything, and that the default files exist, whatever the
// working directory is.
func TestCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	var o options
	if _, err := commandLine(&o).Parse([]string{"-cloud=lab", "fly"}, os.Stderr); err == nil || !strings.Contains(err.Error(), `unknown command "fly"`) {
		t.Errorf("error %v", err)
	}
	if words, err := commandLine(&o).Parse([]string{"scale", "-2", "-cloud", "after", "-plan"}, os.Stderr); err != nil || o.cloud != "after" || !o.plan || !cmp.Equal(words, []string{"scale", "-2"}) {
		t.Errorf("flags after a command: %q, %+v, %v", words, o, err)
	}
	for _, name := range []string{o.pkg, o.request} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// TestRun runs the program with a cloud that does not answer.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	text := "clouds: {lab: {auth: {auth_url: 'http://127.0.0.1:1/v3', username: u, password: canary, project_name: p}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OS_CLIENT_CONFIG_FILE", file)
	const samples, guides = "../packages/k8s-cluster", "../../internal/guides/testdata/"
	for name, c := range map[string]struct {
		o    options
		want string
	}{
		"no such cloud":      {options{cloud: "other", command: "up"}, `no cloud "other"`},
		"no kubeconfig":      {options{cloud: "lab", command: "kubeconfig"}, "there is no cluster"},
		"no cluster yet":     {options{cloud: "lab", command: "down"}, "there is no cluster"},
		"nothing to check":   {options{cloud: "lab", command: "check"}, "there is no cluster"},
		"no certificates":    {options{cloud: "lab", command: "certificates"}, "there is no cluster"},
		"nothing to renew":   {options{cloud: "lab", command: "renew-certificates", plan: true}, "there is no cluster"},
		"nothing to upgrade": {options{cloud: "lab", command: "upgrade", args: []string{"1.36.3"}, plan: true}, "there is no cluster"},
		"upgrade to nothing": {options{cloud: "lab", command: "upgrade"}, "upgrade takes a version such as 1.36.3"},
		"nothing to save":    {options{cloud: "lab", command: "snapshot"}, "there is no cluster"},
		"no snapshots":       {options{cloud: "lab", command: "snapshot", args: []string{"list"}}, "there is no cluster"},
		"open nothing":       {options{cloud: "other", command: "snapshot", args: []string{"open"}}, "snapshot takes nothing, or list"},
		"no archive":         {options{command: "snapshot", args: []string{"open", "missing.age", "missing.key", "out"}}, "missing.age"},
		"no recovery key":    {options{cloud: "lab", command: "snapshot", recovery: "age1none"}, "is not the public part of a recovery key"},
		"images of none":     {options{command: "images"}, "images takes a version such as 1.36.3"},
		"unknown images":     {options{command: "images", args: []string{"1.36.99"}}, "the images of Kubernetes \"1.36.99\" are not known"},
		"adopt nothing":      {options{cloud: "lab", command: "adopt"}, "adopt takes the name or id of a stack"},
		"up and more":        {options{cloud: "lab", command: "up", args: []string{"again"}}, `unknown word "again": up takes flags only`},
		"scale to nothing":   {options{cloud: "other", command: "scale", args: []string{"0"}}, `"0" is no number of workers`},
		"heal nothing":       {options{cloud: "other", command: "heal"}, "heal takes the VNFCs to replace"},
		"adopt no file":      {options{cloud: "lab", command: "adopt", args: []string{"stack", "missing.json"}}, "missing.json"},
		"adopt":              {options{cloud: "lab", command: "adopt", args: []string{"stack"}, network: "n"}, "cannot be reached"},
		"no plan":            {options{cloud: "lab", command: "show", plan: true}, `there is no plan for the command "show"`},
		"plan":               {options{cloud: "lab", command: "up", network: "n", plan: true}, "cannot be reached"},
		"no answer":          {options{cloud: "lab", command: "up", network: "n"}, "cannot be reached"},
		// The requests of Tacker's guides use the classes KubernetesClusterUserData and SampleUserData.
		"kubeadm guide":   {options{cloud: "lab", command: "up", request: guides + "kubeadm_v1_simple.json"}, "cannot be reached"},
		"kubespray guide": {options{cloud: "lab", command: "up", pkg: samples + "-kubespray", request: guides + "kubespray.json"}, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.pkg, c.o.request, c.o.state = gocmp.Or(c.o.pkg, samples), gocmp.Or(c.o.request, samples+"/requests/instantiate.json"), t.TempDir()
			err := run(t.Context(), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "lcm-operation-user-data") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestHealRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"all"}, `{"additionalParams":{"all":true}}`},
		{[]string{"restore=none", "all"}, `{"additionalParams":{"all":true,"restore":"none"}}`},
		{[]string{"restore=survivor", "confirm_loss=true", "vdu-1"}, `{"vnfcInstanceId":["vdu-1"],"additionalParams":{"confirm_loss":"true","restore":"survivor"}}`},
		{[]string{"restore=none"}, ""},
		{[]string{"vdu-1", "all"}, `{"vnfcInstanceId":["vdu-1","all"]}`},
		{nil, ""},
	} {
		request, err := healRequest(c.args)
		text, _ := vnflcm.RevealJSON(request)
		if got := string(text); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("heal %v: %s (%v), want %q", c.args, got, err, c.want)
		}
	}
}

func TestUpgradeRequest(t *testing.T) {
	t.Parallel()
	more := filepath.Join(t.TempDir(), "more.json")
	if err := os.WriteFile(more, []byte(`{"drain_policy":"Delete","upgrade":{"max_unavailable":4}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"1.36.3"}, `{"task":"upgrade","additionalParams":{"k8s_cluster_installation_param":{"kubernetes_version":"1.36.3"}}}`},
		{[]string{"1.36.3", more}, `{"task":"upgrade","additionalParams":{"k8s_cluster_installation_param":{"drain_policy":"Delete","kubernetes_version":"1.36.3","upgrade":{"max_unavailable":4}}}}`},
		{[]string{"1.36.3", "missing.json"}, ""},
		{[]string{"1.36.3", more, more}, ""},
	} {
		request, err := upgradeRequest(c.args)
		text, _ := vnflcm.RevealJSON(request)
		if got := string(text); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("upgrade %v: %s (%v), want %q", c.args, got, err, c.want)
		}
	}
}

func TestWriteCertificates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var out strings.Builder
	known := func(machine, name string, end, read time.Time) vnflcm.KnownCertificate {
		return vnflcm.KnownCertificate{Certificate: vnflcm.Certificate{Machine: machine, Name: name, NotAfter: end, IsCA: name == "pki/ca.crt"}, Read: read}
	}
	err := writeCertificates(&out, []vnflcm.KnownCertificate{
		known("workerNode-0", "kubelet", now.AddDate(0, 0, -2), now.AddDate(0, 0, -9)),
		known("masterNode-0", "pki/apiserver.crt", now.AddDate(0, 0, 30), now),
		known("masterNode-0", "pki/ca.crt", now.AddDate(10, 0, 0), now),
		known("", "shared", now.AddDate(10, 0, 1), now),
	}, now)
	want := "2026-11-27  -2 days    workerNode-0  kubelet, last read 2026-11-20\n" +
		"2026-12-29  30 days    masterNode-0  pki/apiserver.crt\n" +
		"2036-11-29  3653 days  masterNode-0  pki/ca.crt (CA)\n" +
		"2036-11-30  3654 days  -             shared\n"
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("error %v:\n%s", err, diff)
	}
}
