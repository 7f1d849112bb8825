package kubeadm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
)

// yamlKinds returns the kinds of the documents of a YAML file in order, and the last document.
func yamlKinds(t *testing.T, file []byte) (kinds []string, last map[string]any) {
	t.Helper()
	for d := yaml.NewDecoder(bytes.NewReader(file)); ; {
		var doc map[string]any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return kinds, last
		} else if err != nil {
			t.Fatalf("%v in %s", err, file)
		}
		kind, _ := doc["kind"].(string)
		kinds, last = append(kinds, kind), doc
	}
}

// FuzzComponents: accepted settings are rendered as one document of the right kind, with the values of the request.
func FuzzComponents(f *testing.F) {
	for _, seed := range []string{`{}`, `{"maxPods":110}`, `{"cgroupDriver":"cgroupfs","featureGates":{"A":true}}`, `{"kind":"Pod"}`,
		`{"a":"\n---\nkind: Pod\n"}`, `{"a":[1,2.5,1e400,{"b":null}]}`, `{"a":"@","b":"yes","c":"0x1","d":"\u0000"}`, `{"A":9223372036854775808}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, settings string) {
		var tree map[string]any
		if json.Unmarshal([]byte(settings), &tree) != nil || tree == nil {
			return
		}
		s, err := kubeadm.NewSite(`{"master_node":{"cluster_cp_name":"M"},"kubelet_configuration":`+settings+`}`, oneControlPlane, worker, nil)
		if err != nil || len(s.Faults()) > 0 {
			return
		}
		file, err := s.Init()
		if err != nil {
			t.Fatal(err)
		}
		kinds, last := yamlKinds(t, file)
		want := []string{"InitConfiguration", "ClusterConfiguration"}
		if len(tree) > 0 {
			want = append(want, "KubeletConfiguration")
			if len(last) > len(tree)+2 {
				t.Errorf("%v has more than was asked for: %s", last, settings)
			}
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzMarks: accepted labels and taints are rendered unchanged.
func FuzzMarks(f *testing.F) {
	for _, seed := range [][3]string{{"a", "b", "c:NoSchedule"}, {"a,b=c", "d", "a=b:NoExecute"}, {"example.org/x", "", "x"}, {"a", "b,c=d", ":NoSchedule"}, {"kubernetes.io/x", "y", "a=b=c:NoExecute"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, key, value, taint string) {
		param, err := json.Marshal(map[string]any{"master_node": map[string]any{"cluster_cp_name": "M"},
			"worker_node": map[string]any{"labels": map[string]string{key: value}, "taints": []string{taint}}})
		if err != nil {
			return
		}
		s, err := kubeadm.NewSite(string(param), oneControlPlane, worker, nil)
		if err != nil || len(s.Faults()) > 0 {
			return
		}
		file, err := s.Join(worker[0], false)
		if err != nil {
			t.Fatal(err)
		}
		_, doc := yamlKinds(t, file)
		registration, _ := doc["nodeRegistration"].(map[string]any)
		args, _ := registration["kubeletExtraArgs"].([]any)
		for _, a := range args {
			if arg, _ := a.(map[string]any); arg["name"] == "node-labels" && arg["value"] != key+"="+value {
				t.Errorf("%q=%q became %v", key, value, arg["value"])
			}
		}
		taints, _ := registration["taints"].([]any)
		if len(taints) != 1 || strings.ContainsAny(key+value+taint, " \n,\"'$") {
			t.Errorf("%q, %q and %q were accepted: %v", key, value, taint, taints)
		}
	})
}

// FuzzEndpoint: an accepted endpoint has one host and one port.
func FuzzEndpoint(f *testing.F) {
	for _, seed := range []string{"lb", "lb:1", "lb.example.org:6443", "[::1]:6443", "::1", "[::1]", "a:b", "[lb]:1", "10.0.0.1:06443", "fe80::1%eth0", "a b", "x\ny", "[::", "0.0.0.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		param, err := json.Marshal(map[string]any{"api_endpoint": text})
		if err != nil || text == "" {
			return
		}
		s, err := kubeadm.NewSite(string(param), oneControlPlane, worker, nil)
		if err != nil || len(s.Faults()) > 0 {
			return
		}
		file, err := s.Join(worker[0], false)
		if err != nil {
			t.Fatal(err)
		}
		_, doc := yamlKinds(t, file)
		discovery, _ := doc["discovery"].(map[string]any)
		token, _ := discovery["bootstrapToken"].(map[string]any)
		endpoint, _ := token["apiServerEndpoint"].(string)
		if _, err := netip.ParseAddrPort(endpoint); err != nil && strings.ContainsAny(endpoint, "[] \n/$%") {
			t.Errorf("%q became %q", text, endpoint)
		}
	})
}

// FuzzContainerd: for every output of the machine, the configuration is an error, or TOML with the values of the output.
func FuzzContainerd(f *testing.F) {
	f.Add("containerd x 1.7.1 y", "registry.k8s.io/pause:3.10.1\n", "CapBnd:\t000001ffffffffff\n")
	f.Add("containerd x v2.1.0-rc.1 y", "a/pause:\"\n'''\n", "CapBnd:\tffffffffffffffffff\n")
	f.Fuzz(func(t *testing.T, version, images, status string) {
		s, err := kubeadm.NewSite(`{"master_node":{"cluster_cp_name":"M"}}`, oneControlPlane, worker, nil)
		if err != nil {
			t.Fatal(err)
		}
		config, err := s.ContainerdConfig(version, images, status)
		if err != nil {
			return
		}
		var back struct {
			Version int            `toml:"version"`
			Plugins map[string]any `toml:"plugins"`
		}
		if err := toml.Unmarshal(config, &back); err != nil || len(back.Plugins) != back.Version-1 {
			t.Errorf("%v: %s", err, config)
		}
	})
}

// FuzzAddresses: FindPlace accepts every output of ip, and returns only an interface that the output has.
func FuzzAddresses(f *testing.F) {
	f.Add("2: eth0    inet 10.10.0.10/16 scope global eth0\n")
	f.Add("2: eth0@if3    inet 10.10.0.200/32 scope global eth0\n2: x inet 0.0.0.0/0\n")
	f.Fuzz(func(t *testing.T, text string) {
		device, bits, found := kubeadm.FindPlace(text, netip.MustParseAddr("10.10.0.200"))
		if found && (bits < 0 || bits > 31 || strings.ContainsAny(device, " \n\t")) {
			t.Errorf("%q, %d", device, bits)
		}
	})
}
