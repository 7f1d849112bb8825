package e2e_test

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/internal/e2e/vminfra"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestRegistryVNF makes a machine on which nothing is installed, and that is upgrading itself, a registry. Doing all
// of it again changes nothing, and the registry comes back when its process, Docker's or the machine dies.
func TestRegistryVNF(t *testing.T) {
	t.Parallel()
	y := newRegistryYard(t, func(y *yard, spec *vmhost.Spec) {
		upgrading(spec)
		y.intercept = fails("publish", 4)
	})
	ctx := t.Context()
	id, request := y.registry()
	op, err := y.Instantiate(ctx, id, request)
	must(t, err)
	if err := y.failure(op, nil); !strings.Contains(err.Error(), errTest.Error()) {
		t.Fatal(err)
	}
	for _, found := range []struct {
		name   string
		keeps  bool // the container
		change [][]string
	}{
		{"the registry", true, nil},
		{"a stopped one", true, [][]string{{"stop", "--time=1", "private_registry"}}},
		{"another one of that name", false, [][]string{{"rm", "--force", "private_registry"},
			{"run", "--detach", "--name=private_registry", "--publish=5001:5000", "registry:latest"}}},
		{"none", false, [][]string{{"rm", "--force", "private_registry"}}},
	} {
		for _, command := range found.change {
			_, err := asRoot(y.there(id), append([]string{"docker", "container"}, command...)...)
			must(t, err)
		}
		before := ""
		if found.name != "none" {
			before = y.container(id)
		}
		y.forget(op)
		must(t, y.Retry(ctx, op))
		if found.name == "none" {
			y.must(op, nil)
		} else if err := y.failure(op, nil); !strings.Contains(err.Error(), errTest.Error()) {
			t.Fatal(err)
		}
		if after := y.container(id); found.keeps != (after == before) {
			t.Errorf("all done again, with %s there: the container was %s, is %s", found.name, before, after)
		}
	}

	before := y.container(id)
	r := y.from(y.connection(id, "", ""))
	must(t, r.push(ctx, y.parts.Image("pause"), "team/web:1"))
	y.holds(r, "team/web:1", true)
	y.holds(r, "team/web:2", false)

	host := y.there(id)
	started := []string{"docker", "container", "inspect", "--format", "{{.State.StartedAt}}", "private_registry"}
	process := func(unit string) []string {
		return []string{"systemctl", "show", "--property=MainPID", "--value", unit}
	}
	for _, c := range []struct {
		killed        string
		pid, restarts []string
	}{
		{"registry", []string{"docker", "container", "inspect", "--format", "{{.State.Pid}}", "private_registry"}, started},
		{"dockerd", process("docker"), started},
		{"containerd", process("containerd"), process("containerd")},
		{"machine", nil, started},
	} {
		old, err := asRoot(host, c.restarts...)
		must(t, err)
		if c.pid == nil {
			y.rebooted(y.machine(id))
		} else {
			pid, err := asRoot(host, c.pid...)
			must(t, err)
			_, err = asRoot(host, "kill", "-9", strings.TrimSpace(pid))
			must(t, err)
		}
		begin := time.Now()
		await(t, c.killed+" to come back", func() bool {
			now, err := asRoot(host, c.restarts...)
			return err == nil && now != old && now != "0\n"
		})
		y.answers(r)
		t.Logf("%s killed: the registry answers after %s", c.killed, time.Since(begin).Round(10*time.Millisecond))
		if after := y.container(id); after != before {
			t.Errorf("%s killed: another container", c.killed)
		}
		y.holds(r, "team/web:1", true)
	}

	for _, want := range []struct {
		printed string
		argv    []string
	}{
		{"", []string{"dpkg", "--audit"}},
		{"/var/lib/first-upgrade-done\n", []string{"ls", "/var/lib/first-upgrade-done"}},
		{"always\n", []string{"docker", "container", "inspect", "--format", "{{.HostConfig.RestartPolicy.Name}}", "private_registry"}},
		{"private_registry\n", []string{"docker", "container", "ls", "--all", "--format", "{{.Names}}"}},
	} {
		got, err := asRoot(host, want.argv...)
		if diff := cmp.Diff(want.printed, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", want.argv, err, diff)
		}
	}
	y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	if left, err := y.machines.Machines(ctx, id); err != nil || len(left) != 0 {
		t.Errorf("machines are left: %v, %v", left, err)
	}
}

// protected returns the parameters of a registry with a generated certificate and one user, which checks a push and a pull
// at the end.
func protected(t testing.TB, name, password string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"private_registry_installation_param": map[string]any{"server_name": name, "tls": struct{}{},
		"users": []any{map[string]string{"username": registryUser, "password": password}}, "probe": true}})
	must(t, err)
	return string(text)
}

// TestRegistryHeal: a machine dies, and the images of its registry are lost. The CA of the instance stays the same, so that
// clients continue to trust the registry.
func TestRegistryHeal(t *testing.T) {
	t.Parallel()
	newRegistryYard(t, nil).heals(false)
}

// onDisk has a registry keep its images on a disk.
const onDisk = `{"private_registry_installation_param": {"volume": {"device": "/dev/vdb"}}}`

// TestRegistryHealOnDisk: the images stay when they are on a volume that outlives the machine. Docker is in the image of
// the machine, switched off.
func TestRegistryHealOnDisk(t *testing.T) {
	t.Parallel()
	y := newRegistryYard(t, func(y *yard, spec *vmhost.Spec) {
		spec.Tree = y.parts.NodeTree()
		disk, err := site.network.Disk(t.Context(), 256<<20)
		must(t, err)
		spec.Devices = map[string]string{"/dev/vdb": disk}
	})
	y.heals(true, onDisk)
}

// heals lets a registry live and heal, in both forms.
func (y *yard) heals(keeps bool, more ...string) {
	y.t.Helper()
	processes := watchProcesses(y.t, registryCanaries(y.t))
	ctx := y.t.Context()
	id, request := y.registry(append([]string{protected(y.t, registryName, registryPassword)}, more...)...)
	y.must(y.Instantiate(ctx, id, request))
	first := y.connection(id, registryUser, registryPassword)
	address := y.machines.Host(y.machine(id).ComputeResource.ResourceID).Address.String()
	want := client.Connection{Type: client.HTTPS, Server: registryServer, HostsString: address + " " + registryName, CACertificate: first.CACertificate,
		Username: first.Username, Password: first.Password}
	if first != want || first.CACertificate == "" {
		y.t.Fatalf("the instance tells %+v", first)
	}
	r := y.from(first)
	must(y.t, r.push(ctx, y.parts.Image("pause"), "team/web:1"))
	y.holds(r, "team/web:1", true)
	y.strangers(first)

	for _, vnfcs := range [][]string{{y.machine(id).ID}, nil} {
		y.kill(y.machine(id))
		y.must(y.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: vnfcs}))
		healed := y.connection(id, registryUser, registryPassword)
		if diff := cmp.Diff(first.CACertificate, healed.CACertificate); diff != "" {
			y.t.Errorf("another CA after the heal of %q:\n%s", vnfcs, diff)
		}
		again := y.from(healed)
		y.holds(again, "team/web:1", keeps)
		must(y.t, again.push(ctx, y.parts.Image("pause"), "team/web:1"))
		y.holds(again, "team/web:1", true)
		y.strangers(healed)
	}

	machine := y.machine(id)
	if keeps {
		y.rebooted(machine)
		r := y.from(y.connection(id, registryUser, registryPassword))
		y.answers(r)
		y.holds(r, "team/web:1", true)
	}
	if found := grep(y.t, y.host(machine), registryCanaries(y.t)); found != "" {
		y.t.Errorf("the password is in:\n%s", found)
	}
	others, err := y.on(machine, "find", "/etc/vnfkit", "-type", "f", "(", "-perm", "/077", "-o", "!", "-user", "root", ")")
	if others != "" || err != nil {
		y.t.Errorf("others than root may read %s, %v", others, err)
	}
	processes()
	y.keptSecret()
}

// strangers are refused: without a password, with another one; and who does not know the CA does not even ask.
func (y *yard) strangers(c client.Connection) {
	y.t.Helper()
	for _, login := range []struct{ username, password string }{{}, {registryUser, "wrong"}, {"nobody", registryPassword}} {
		stranger := c
		stranger.Username, stranger.Password = login.username, vnflcm.NewSecret(login.password)
		if code, err := y.from(stranger).ask(y.t.Context()); code != http.StatusUnauthorized || err != nil {
			y.t.Errorf("as %q with the password %q: %d, %v", login.username, login.password, code, err)
		}
	}
	stranger := c
	stranger.CACertificate = ""
	if _, err := y.from(stranger).ask(y.t.Context()); !errors.As(err, new(x509.UnknownAuthorityError)) {
		y.t.Errorf("without the CA: %v", err)
	}
}

// TestRegistryFaults: what is wrong is told at once, and by its cause. What can be made good is gone on with.
func TestRegistryFaults(t *testing.T) {
	t.Parallel()
	y := newRegistryYard(t, func(y *yard, _ *vmhost.Spec) {
		y.others[registryVNFD] = packageWith(t, y.others[registryVNFD], map[string][]byte{"Files/images/files.tar": tarOf(t, "README", "no image at all\n")})
	})
	ctx, ops, began := t.Context(), map[string]string{}, time.Now()
	busy, request := y.registry()
	y.machines.Change = func(m vminfra.Machine, spec *vmhost.Spec) {
		if m.Instance != busy {
			return
		}
		spec.Files = maps.Clone(spec.Files)
		spec.Files["/etc/systemd/system/other.service"] = "[Service]\nExecStart=/usr/bin/python3 -m http.server 5000\n"
		spec.Files["/etc/systemd/system/multi-user.target.d/other.conf"] = "[Unit]\nWants=other.service\n"
	}
	var err error
	ops["port taken"], err = y.Instantiate(ctx, busy, request)
	must(t, err)
	for name, params := range map[string]string{
		"no image":       `{"private_registry_installation_param": {"image_path": "Files/images/files.tar"}}`,
		"wrong password": `{"private_registry_installation_param": {"ssh_password": "wrong"}}`,
	} {
		id, request := y.registry(params)
		ops[name], err = y.Instantiate(ctx, id, request)
		must(t, err)
	}
	for _, c := range []struct{ name, want string }{
		{"port taken", "5000: bind: address already in use"},
		{"no image", "Files/images/files.tar"},
		{"wrong password", "authentication refused"},
	} {
		err := y.failure(ops[c.name], nil) // long before the limit of the driver for a machine that does not boot
		t.Logf("%s: refused after %s: %v", c.name, time.Since(began).Round(10*time.Millisecond), err)
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q", c.name, c.want)
		}
	}
	_, err = asRoot(y.there(busy), "systemctl", "stop", "other")
	must(t, err)
	must(t, y.Retry(ctx, ops["port taken"]))
	y.must(ops["port taken"], nil)
	y.answers(y.from(y.connection(busy, "", "")))
}

// tarOf is an archive with one file.
func tarOf(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
	_, err := w.Write([]byte(content))
	must(t, errors.Join(err, w.Close()))
	return out.Bytes()
}
