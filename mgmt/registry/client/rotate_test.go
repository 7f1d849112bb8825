package client_test

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// configurations are those of the versions of containerd.
var configurations = map[string]string{
	"1.x": containerdConfig,
	"2.x": "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '/etc/containerd/certs.d:/etc/docker/certs.d'\n",
}

// foreignFiles are files of other programs, in a form in which every change by Connect can be undone byte for byte.
var foreignFiles = map[string]string{
	"/etc/docker/daemon.json":                               "{\n  \"log-driver\" : \"journald\",\n  \"insecure-registries\": [\"other:5000\"],\n  \"x\": 1.50\n}\n",
	"/etc/docker/certs.d/registry.example.com/theirs.crt":   "theirs",
	"/etc/docker/certs.d/other/ca.crt":                      "theirs",
	"/etc/containerd/certs.d/other:5000/hosts.toml":         "# theirs\n",
	"/etc/containerd/certs.d/registry.example.com/more.crt": "theirs",
	"/etc/containerd/certs.d/_default/hosts.toml":           "# theirs\n",
	"/var/lib/kubelet/config.json":                          "{\"auths\": {\"other\": {\"auth\": \"b3RoZXI=\" }},\n \"credHelpers\": {\"gcr.io\": \"gcloud\"}}",
	"/root/.docker/config.json":                             "{\n\t\"auths\": {\n\t\t\"other\": {\n\t\t\t\"auth\": \"b3RoZXI=\"\n\t\t}\n\t}\n}",
}

// yard is a machine, and registries that can be changed.
type yard struct {
	*node
	registries []kubesim.Registry
	cas        [2]string
}

var third = netip.MustParseAddrPort("10.0.9.10:5000")

func newYard(t *testing.T, packages, config string) *yard {
	t.Helper()
	y := &yard{cas: [2]string{newCA(t, true), newCA(t, true)}}
	y.registries = append(registries(y.cas[0]), kubesim.Registry{Address: third, Images: []string{"team/pause:3.10"}})
	y.node = newNode(t, y.registries, packages)
	y.put("/etc/containerd/config.toml", config)
	y.put("/etc/hosts", "127.0.0.1 localhost\n10.0.9.9 registry.example.com Registry.Example.COM\n")
	y.files["ca.crt"], y.files["second.crt"] = y.cas[0], y.cas[1]
	for name, content := range foreignFiles {
		y.put(name, content)
		y.run("chmod 0600 " + name)
	}
	if strings.Contains(packages, "docker") {
		y.run("systemctl restart docker")
	}
	return y
}

// stage is how the registries are, and the list that a request gives then.
type stage struct {
	name   string
	ca     int // of the registry with a login
	tls    int // CA of the registry at plain; -1: HTTP
	user   string
	secret string
	list   []client.Connection
}

func (y *yard) enter(s stage) {
	y.registries[0].CA = ""
	if s.tls >= 0 {
		y.registries[0].CA = y.cas[s.tls]
	}
	y.registries[1].CA, y.registries[1].Username, y.registries[1].Password = y.cas[s.ca], s.user, s.secret
}

func registryOf(kind, server, ca string) client.Connection {
	return client.Connection{Type: kind, Server: server, CertificatePath: ca, ProbeImage: "team/pause:3.10"}
}

func loginOf(c client.Connection, user, secret string) client.Connection {
	c.Username, c.Password = user, vnflcm.NewSecret(secret)
	return c
}

// stages: several registries; each is changed in another way, then one is removed, one comes under another spelling,
// and all go.
func stages() []stage {
	const name, upper = "registry.example.com", "Registry.Example.COM"
	return []stage{
		{"several", 0, -1, "user", password, []client.Connection{registryOf(client.HTTP, plain.String(), ""), registryOf(client.HTTP, third.String(), ""),
			loginOf(registryOf(client.HTTPS, name, "ca.crt"), "user", password)}},
		{"HTTPS, another CA, password and user", 1, 1, "other", rotated, []client.Connection{registryOf(client.HTTPS, plain.String(), "second.crt"),
			registryOf(client.HTTP, third.String(), ""), loginOf(registryOf(client.HTTPS, name, "second.crt"), "other", rotated)}},
		{"another spelling, one less", 1, 1, "other", rotated, []client.Connection{registryOf(client.HTTPS, plain.String(), "second.crt"),
			loginOf(registryOf(client.HTTPS, upper, "second.crt"), "other", rotated)}},
		{"HTTP again, no login", 0, -1, "", "", []client.Connection{registryOf(client.HTTPS, name, "ca.crt"), registryOf(client.HTTP, plain.String(), "")}},
		{"none", 0, -1, "", "", nil},
	}
}

// TestStages: from any list to any other list, the machine ends like one that never had the first. Settings of other
// programs stay byte for byte, also when all of Connect's are removed. Unless VNFKIT_FULL is set, it takes each list and the next one.
func TestStages(t *testing.T) {
	t.Parallel()
	for version, config := range configurations {
		for name, packages := range machines {
			if isDocker(name) && version != "1.x" {
				continue // Docker does not ask containerd
			}
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				want := map[string]map[string]string{}
				var before map[string]string
				var cas [2]string
				for _, s := range stages() {
					y := newYard(t, packages, config)
					if before == nil {
						before, cas = y.told(y.cas), y.cas
					}
					y.enter(s)
					y.must(y.connect(s.list...))
					want[s.name] = y.told(cas)
				}
				if diff := cmp.Diff(before, want["none"]); diff != "" {
					t.Errorf("nothing was to be done:\n%s", diff)
				}
				whole := version == "1.x" && strings.Contains(name, " with ") && fulltest.Enabled() // one of each runtime
				for i, from := range stages() {
					for j, to := range stages() {
						if j != i+1 && !whole {
							continue
						}
						y := newYard(t, packages, config)
						y.enter(from)
						y.must(y.connect(from.list...))
						y.enter(to)
						y.must(y.connect(to.list...))
						if diff := cmp.Diff(want[to.name], y.told(cas)); diff != "" {
							t.Errorf("from %q to %q:\n%s", from.name, to.name, diff)
						}
						y.secret(password)
						y.secret(rotated)
					}
				}
			})
		}
	}
}

var insecureForm = regexp.MustCompile(`\["other:5000".*\]`)

// told is the tree with the CAs of another machine, so that machines can be compared.
func (y *yard) told(cas [2]string) map[string]string {
	out := y.tree()
	for name, content := range out {
		for i := range cas {
			content = strings.ReplaceAll(content, y.cas[i], cas[i])
		}
		content = insecureForm.ReplaceAllStringFunc(content, func(list string) string { // its order tells nothing
			names := strings.Split(strings.Trim(list, "[]"), ",")
			slices.Sort(names)
			return strings.Join(names, ",")
		})
		out[name] = content
	}
	return out
}

// TestCutAndChanged cuts the connection before each command of a change, and then another list comes: the machine
// ends as one that has seen neither. Unless VNFKIT_FULL is set, it takes every eighth command.
func TestCutAndChanged(t *testing.T) {
	t.Parallel()
	all, stride := stages(), 1
	if !fulltest.Enabled() {
		stride = 8
	}
	for _, name := range []string{"containerd with crictl", "Docker with cri-dockerd"} {
		for _, path := range [][3]int{{0, 1, 3}, {1, 2, 4}} {
			from, meanwhile, to := all[path[0]], all[path[1]], all[path[2]]
			t.Run(name+": "+from.name+", "+meanwhile.name+", "+to.name, func(t *testing.T) {
				t.Parallel()
				fresh := newYard(t, machines[name], containerdConfig)
				fresh.enter(to)
				fresh.must(fresh.connect(to.list...))
				want := fresh.told(fresh.cas)
				for at, done := 0, false; !done; at += stride {
					y := newYard(t, machines[name], containerdConfig)
					y.enter(from)
					y.must(y.connect(from.list...))
					y.enter(meanwhile)
					done = y.cut(at, meanwhile.list...)
					y.enter(to)
					y.must(y.connect(to.list...))
					if diff := cmp.Diff(want, y.told(fresh.cas)); diff != "" {
						t.Fatalf("cut at command %d:\n%s", at, diff)
					}
				}
			})
		}
	}
}

// TestAfterReset: "kubeadm reset" empties the kubelet's directory. What of ours was there comes back, or is gone.
func TestAfterReset(t *testing.T) {
	t.Parallel()
	for name, packages := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stages()[0]
			y := newYard(t, packages, containerdConfig)
			y.must(y.connect(s.list...))
			y.run("rm -rf /var/lib/kubelet")
			y.must(y.connect(s.list...))
			contains(t, y.get("/var/lib/kubelet/config.json"), base64.StdEncoding.EncodeToString([]byte("user:"+password)))
			y.run("rm -rf /var/lib/kubelet")
			y.must(y.connect())
			left := slices.DeleteFunc(slices.Collect(maps.Keys(y.tree())), func(name string) bool { return !strings.HasPrefix(name, "/var/lib/") })
			if len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
}

// TestOthersLogins: credentials that another program has set for a registry are neither replaced nor removed.
func TestOthersLogins(t *testing.T) {
	t.Parallel()
	list := stages()[0].list[2:]
	for name, packages := range machines {
		for _, file := range []string{"/var/lib/kubelet/config.json", "/root/.docker/config.json"} {
			if file == "/root/.docker/config.json" && !isDocker(name) {
				continue
			}
			t.Run(name+" "+file, func(t *testing.T) {
				t.Parallel()
				y := newYard(t, packages, containerdConfig)
				entry := func(text string) {
					y.put(file, `{"auths":{"registry.example.com":{"auth":"`+base64.StdEncoding.EncodeToString([]byte(text))+`"}}}`)
				}
				entry("admin:theirs")
				before := y.tree()
				if err := y.connect(list...); !errors.Is(err, client.ErrForeign) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "theirs") {
					t.Errorf("other credentials: %v", err)
				}
				if diff := cmp.Diff(before, y.tree()); diff != "" {
					t.Errorf("something was touched:\n%s", diff)
				}
				entry("user:" + password)
				before = y.tree()
				y.must(y.connect(list...))
				if diff := cmp.Diff(before[file], y.tree()[file]); diff != "" {
					t.Errorf("the same credentials: %s", diff)
				}
				y.must(y.connect())
				if diff := cmp.Diff(before, y.tree()); diff != "" {
					t.Errorf("removed:\n%s", diff)
				}
			})
		}
	}
}

// TestOthersInsecure: Docker would not verify the certificate of a registry that another program has listed as one
// without TLS.
func TestOthersInsecure(t *testing.T) {
	t.Parallel()
	y := newYard(t, "docker.io", containerdConfig)
	y.put("/etc/docker/daemon.json", `{"insecure-registries":["registry.example.com"]}`)
	if err := y.connect(stages()[0].list...); !errors.Is(err, client.ErrForeign) || !strings.Contains(err.Error(), "/etc/docker/daemon.json") {
		t.Errorf("the error is %v", err)
	}
}

// TestReserve: what a script sets up after it is ours; what was there before is not.
func TestReserve(t *testing.T) {
	t.Parallel()
	for name, packages := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const hosts = "[host.\"http://%\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
			y := newYard(t, packages, containerdConfig)
			y.put("/etc/docker/daemon.json", `{"insecure-registries":["`+third.String()+`"]}`)
			file := func(server string) string { return "/etc/containerd/certs.d/" + server + "/hosts.toml" }
			y.put(file(third.String()), strings.Replace(hosts, "%", third.String(), 1))
			before := y.tree()
			list := stages()[0].list
			for range 2 { // the second time the script has run
				y.must(client.Reserve(t.Context(), y.ssh, list))
				y.put(file(plain.String()), strings.Replace(hosts, "%", plain.String(), 1))
				y.put("/etc/docker/daemon.json", `{"insecure-registries":["`+third.String()+`","`+plain.String()+`"]}`)
			}
			if isDocker(name) {
				y.run("systemctl restart docker")
			}
			y.must(y.connect(list...))
			y.must(y.connect())
			after := y.tree()
			if isDocker(name) {
				delete(after, file(plain.String())) // containerd's, where nothing reads it
			} else {
				delete(before, "/etc/docker/daemon.json")
				delete(after, "/etc/docker/daemon.json")
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
		})
	}
}
