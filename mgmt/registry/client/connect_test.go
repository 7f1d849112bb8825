package client_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// machines are the packages of the kinds of machines that there are.
var machines = map[string]string{
	"containerd with crictl":       "containerd kubeadm",
	"Docker with cri-dockerd":      "containerd docker.io cri-dockerd",
	"Docker without containerd's":  "docker.io",
	"Docker beside containerd/CRI": "containerd docker.io kubeadm",
}

func isDocker(name string) bool { return strings.HasPrefix(name, "Docker w") }

// TestConnect: both kinds of registries can be pulled from, a second time changes nothing, and removing them
// leaves the machine as it was.
func TestConnect(t *testing.T) {
	t.Parallel()
	for name, packages := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca := newCA(t, true)
			n := newNode(t, registries(ca), packages)
			n.files["ca.crt"] = "some text\n" + ca
			before := n.tree()
			n.must(n.connect(httpConnection(), httpsConnection(password)))
			after := n.tree()
			n.must(n.connect(httpConnection(), httpsConnection(password)))
			if diff := cmp.Diff(after, n.tree()); diff != "" {
				t.Errorf("the second time:\n%s", diff)
			}
			contains(t, n.get("/var/lib/kubelet/config.json"), `"registry.example.com": {"auth":"`+base64.StdEncoding.EncodeToString([]byte("user:"+password)))
			if isDocker(name) != (n.get("/etc/docker/certs.d/registry.example.com/vnfkit-ca.crt") == ca) {
				t.Errorf("CA for Docker: %v", after)
			}
			if isDocker(name) == (n.get("/etc/containerd/certs.d/registry.example.com/vnfkit-ca.crt") == ca) {
				t.Errorf("CA for containerd: %v", after)
			}
			n.secret(password)
			n.must(n.connect())
			if isDocker(name) {
				before["/root/.docker/config.json"] = "-rw------- {\n\t\"auths\": {}\n}" // docker logout leaves it
			}
			if diff := cmp.Diff(before, n.tree()); diff != "" {
				t.Errorf("it is left behind:\n%s", diff)
			}
		})
	}
}

// TestHostsTOML holds the file against what containerd's documentation says of it.
func TestHostsTOML(t *testing.T) {
	t.Parallel()
	ca := newCA(t, true)
	n := newNode(t, registries(ca), "containerd kubeadm")
	n.files["ca.crt"] = ca
	n.must(n.connect(httpConnection(), httpsConnection(password)))
	got := []string{n.get("/etc/containerd/certs.d/10.0.9.8:5000/hosts.toml"), n.get("/etc/containerd/certs.d/registry.example.com/hosts.toml")}
	want := []string{`# Written by vnfkit: changes will be lost.
server = 'http://10.0.9.8:5000'

[host]
[host.'http://10.0.9.8:5000']
capabilities = ['pull', 'resolve']
`, `# Written by vnfkit: changes will be lost.
server = 'https://registry.example.com'
ca = '/etc/containerd/certs.d/registry.example.com/vnfkit-ca.crt'

[host]
[host.'https://registry.example.com']
capabilities = ['pull', 'resolve']
ca = '/etc/containerd/certs.d/registry.example.com/vnfkit-ca.crt'
`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestChange: a new CA and password, one registry less, another in another way.
func TestChange(t *testing.T) {
	t.Parallel()
	for name, packages := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newCA(t, true), newCA(t, true)
			list := registries(first)
			n := newNode(t, list, packages)
			n.files["ca.crt"] = first
			n.must(n.connect(httpConnection(), httpsConnection(password)))

			list[1].CA, list[1].Password = second, rotated // the registry gets them first
			// Docker finds out when it logs in, containerd when it pulls.
			if err := n.connect(httpsConnection(password)); !errors.Is(err, client.ErrUnknownAuthority) {
				t.Errorf("the old CA: %v", err)
			}
			n.files["ca.crt"] = second
			if err := n.connect(httpsConnection(password)); !errors.Is(err, client.ErrLogin) || strings.Contains(fmt.Sprintf("%+v", err), password) {
				t.Errorf("the old password: %v", err)
			}
			n.must(n.connect(httpsConnection(rotated)))
			n.secret(rotated)
			for path, content := range n.tree() {
				if strings.Contains(content, plain.String()) || strings.Contains(content, first) {
					t.Errorf("%s has something of the registry that is gone, or the old CA: %s", path, content)
				}
			}

			// Without the CA, and without a login, nothing of them stays.
			list[1].Username, list[1].CA = "", ""
			open := client.Connection{Type: client.HTTP, Server: "registry.example.com:443", ProbeImage: "team/pause:3.10"}
			n.must(n.connect(open))
			for path, content := range n.tree() {
				if strings.Contains(content, `registry.example.com"`) || strings.Contains(content, second) || strings.HasPrefix(path, "/var/lib/kubelet") {
					t.Errorf("%s has %s", path, content)
				}
			}
		})
	}
}

// TestForeign: settings of other programs stay unchanged, byte for byte.
func TestForeign(t *testing.T) {
	t.Parallel()
	const (
		daemon  = "{\n  \"log-driver\" : \"journald\",\n  \"insecure-registries\": [\"10.0.9.8:5000\", \"other:5000\"],\n  \"x\": 1.50\n}\n"
		kubelet = "{\"auths\": {\"other\": {\"auth\": \"b3RoZXI=\" }},\n \"credHelpers\": {\"gcr.io\": \"gcloud\"}}"
		hosts   = "[host.\"http://10.0.9.8:5000\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
	)
	for name, packages := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca := newCA(t, true)
			n := newNode(t, registries(ca), packages)
			n.files["ca.crt"] = ca
			foreign := map[string]string{"/etc/docker/daemon.json": daemon, "/var/lib/kubelet/config.json": kubelet,
				"/etc/containerd/certs.d/10.0.9.8:5000/hosts.toml":            hosts,
				"/etc/containerd/certs.d/registry.example.com/more.crt":       "theirs",
				"/etc/docker/certs.d/registry.example.com/theirs.crt":         "theirs",
				"/etc/containerd/certs.d/another.example.com:5000/hosts.toml": "theirs"}
			for path, content := range foreign {
				n.put(path, content)
			}
			n.must(n.ssh.Run(t.Context(), []string{"sudo", "chmod", "0600", "/etc/docker/daemon.json"}, nil, nil, nil))
			if strings.Contains(packages, "docker") {
				n.run("systemctl restart docker")
			}
			n.must(n.connect(httpConnection(), httpsConnection(password)))
			contains(t, n.get("/var/lib/kubelet/config.json"), `"other": {"auth": "b3RoZXI=" }`, ` "credHelpers": {"gcr.io": "gcloud"}}`, `"registry.example.com"`)
			second := httpConnection()
			second.Server, second.ProbeImage = "10.0.9.8:5001", ""
			n.must(n.connect(second))
			if isDocker(name) {
				contains(t, n.tree()["/etc/docker/daemon.json"], "-rw------- ", `"insecure-registries": ["10.0.9.8:5000","other:5000","10.0.9.8:5001"],`, "\n  \"x\": 1.50\n}")
			}
			n.must(n.connect())
			if isDocker(name) {
				foreign["/etc/docker/daemon.json"] = strings.Replace(daemon, `", "`, `","`, 1) // within our key
			}
			for path, content := range foreign {
				if diff := cmp.Diff(content, n.get(path)); diff != "" {
					t.Errorf("%s:\n%s", path, diff)
				}
			}
		})
	}
}

// TestConfigurations: wherever a version of containerd keeps config_path, and whatever else it has in it.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"1.x":               containerdConfig,
		"2.x":               "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '/etc/containerd/certs.d'\n[plugins.'io.containerd.cri.v1.runtime']\nenable_selinux = false\n",
		"2.x, its defaults": "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '/etc/containerd/certs.d:/etc/docker/certs.d'\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, registries(""), "containerd kubeadm")
			n.put("/etc/containerd/config.toml", config)
			n.must(n.connect(httpConnection()))
		})
	}
}

// TestDetect: what the kubelet uses, not what is installed.
func TestDetect(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil, "containerd docker.io kubeadm")
	for _, c := range []struct {
		config string
		want   client.Runtime
	}{{containerdConfig, client.Containerd}, {"disabled_plugins = [\"cri\"]\n", client.Docker}} {
		n.put("/etc/containerd/config.toml", c.config)
		if got, err := client.Detect(t.Context(), n.ssh); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", c.config, got, err)
		}
	}
}

// TestRefused: a call that cannot do its work returns the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		packages string
		prepare  func(n *node)
		is       error
		says     []string
	}{
		"no config_path": {"containerd kubeadm", func(n *node) { n.put("/etc/containerd/config.toml", "version = 2\n") }, client.ErrNotConfigured, []string{"config_path", "/etc/containerd/certs.d", "restart"}},
		"another path": {"containerd kubeadm", func(n *node) {
			n.put("/etc/containerd/config.toml", strings.Replace(containerdConfig, "certs.d", "x", 1))
		}, client.ErrNotConfigured, []string{`"/etc/containerd/x"`}},
		"foreign hosts":  {"containerd kubeadm", func(n *node) { n.put("/etc/containerd/certs.d/10.0.9.8:5000/hosts.toml", "server = \"x\"\n") }, client.ErrForeign, []string{"/etc/containerd/certs.d/10.0.9.8:5000/hosts.toml", "remove"}},
		"shadowed":       {"containerd kubeadm", func(n *node) { n.put("/etc/containerd/certs.d/10.0.9.8_5000_/hosts.toml", "") }, client.ErrForeign, []string{"10.0.9.8_5000_"}},
		"nothing runs":   {"kubeadm", func(*node) {}, client.ErrNoRuntime, []string{"node"}},
		"broken daemon":  {"docker.io", func(n *node) { n.put("/etc/docker/daemon.json", "{") }, nil, []string{"/etc/docker/daemon.json", "is not a JSON object", "mend or remove"}},
		"no list":        {"docker.io", func(n *node) { n.put("/etc/docker/daemon.json", `{"insecure-registries":"x"}`) }, nil, []string{"has no list of names as insecure-registries"}},
		"broken kubelet": {"containerd kubeadm", func(n *node) { n.put("/var/lib/kubelet/config.json", "[]") }, nil, []string{"/var/lib/kubelet/config.json"}},
		"broken record":  {"containerd kubeadm", func(n *node) { n.put("/var/lib/vnfkit/registries.json", "x") }, nil, []string{"/var/lib/vnfkit/registries.json"}},
		"record of paths": {"containerd kubeadm", func(n *node) {
			n.put("/var/lib/vnfkit/registries.json", `{"registries":{"../../x":{"containerd":true}}}`)
		}, nil, []string{"../../x"}},
		"reserved paths": {"containerd kubeadm", func(n *node) {
			n.put("/var/lib/vnfkit/registries.json", `{"reserved":{"../../x":{"containerd":true}}}`)
		}, nil, []string{"../../x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca := newCA(t, true)
			n := newNode(t, registries(ca), c.packages)
			n.files["ca.crt"] = ca
			c.prepare(n)
			err := n.connect(httpConnection(), httpsConnection(password))
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("the error is %v", err)
			}
			contains(t, err.Error(), c.says...)
		})
	}
}

// TestWhy: what a runtime says is put into words that name the parameter.
func TestWhy(t *testing.T) {
	t.Parallel()
	for name, packages := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, registries(newCA(t, true)), packages)
			n.files["ca.crt"] = newCA(t, true) // another one
			tls := httpConnection()
			tls.Type = client.HTTPS
			missing := httpConnection()
			missing.ProbeImage = "no/such:image"
			for _, c := range []struct {
				client.Connection
				is   error
				says string
			}{{httpsConnection(password), client.ErrUnknownAuthority, "certificate_path"}, {tls, client.ErrPlainHTTP, "connection_type must be 0"}, {missing, nil, "not found"}} {
				err := n.connect(c.Connection)
				if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", c.Server, err)
				}
			}
		})
	}
}

// TestProbeWithoutCrictl: ctr pulls, and no password is on its command line or left behind.
func TestProbeWithoutCrictl(t *testing.T) {
	t.Parallel()
	ca := newCA(t, true)
	n := newNode(t, registries(ca), "containerd", "crictl")
	n.files["ca.crt"] = ca
	n.must(n.connect(httpConnection(), httpsConnection(password)))
	if err := n.connect(httpsConnection(rotated)); !errors.Is(err, client.ErrLogin) {
		t.Errorf("the wrong password: %v", err)
	}
	for _, secret := range []string{password, rotated, base64.StdEncoding.EncodeToString([]byte("user:" + password))} {
		n.secret(secret)
	}
	if _, err := n.FS().Stat("/run/vnfkit-registry-probe"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the probe has left something: %v", err)
	}
}

// TestCut cuts the connection before each command in turn: whatever was done by then, the next call ends where an
// undisturbed one does, and removing ends where it began. Unless VNFKIT_FULL is set, it takes every eighth command.
func TestCut(t *testing.T) {
	t.Parallel()
	stride := 1
	if !fulltest.Enabled() {
		stride = 8
	}
	for _, name := range []string{"containerd with crictl", "Docker with cri-dockerd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packages := machines[name]
			ca := newCA(t, true)
			whole := newNode(t, registries(ca), packages)
			whole.files["ca.crt"] = ca
			empty := whole.tree()
			whole.must(whole.connect(httpConnection(), httpsConnection(password)))
			want := whole.tree()
			for at, done := 0, false; !done; at += stride {
				n := newNode(t, registries(ca), packages)
				n.files["ca.crt"] = ca
				done = n.cut(at, httpConnection(), httpsConnection(password))
				n.must(n.connect(httpConnection(), httpsConnection(password)))
				if diff := cmp.Diff(want, n.tree()); diff != "" {
					t.Fatalf("cut at command %d:\n%s", at, diff)
				}
				n.cut(at)
				n.must(n.connect())
				got := n.tree()
				delete(got, "/root/.docker/config.json")
				if diff := cmp.Diff(empty, got); diff != "" {
					t.Fatalf("cut at command %d of removing:\n%s", at, diff)
				}
			}
		})
	}
}

// cut connects and cuts the connection before the command of that number, for good. It reports whether there was
// no such command.
func (n *node) cut(at int, c ...client.Connection) (whole bool) {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	defer cancel()
	count := 0
	n.OnCommand(func(r sshtest.Record) {
		if r.Argv[0] != "sudo" {
			return
		}
		if count == at {
			cancel()
			n.CutConnections()
		}
		count++
	})
	defer n.OnCommand(nil)
	return n.connectCtx(ctx, c...) == nil
}

// TestRecordHasNoSecrets: it says what is ours, and nothing else.
func TestRecordHasNoSecrets(t *testing.T) {
	t.Parallel()
	ca := newCA(t, true)
	n := newNode(t, registries(ca), "containerd kubeadm")
	n.files["ca.crt"] = ca
	n.must(n.connect(httpConnection(), httpsConnection(password)))
	var got any
	n.must(json.Unmarshal([]byte(n.get("/var/lib/vnfkit/registries.json")), &got))
	want := map[string]any{"registries": map[string]any{"10.0.9.8:5000": map[string]any{"containerd": true},
		"registry.example.com": map[string]any{"containerd": true, "kubelet": true}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
