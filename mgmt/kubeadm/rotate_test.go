package kubeadm_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const rotatedPassword = "canary-registry-2"

// The lists of the requests. The second list has a registry with the first one's name, but with another address, CA, user
// and password. It has no registry without TLS.
const (
	firstList  = registryParams
	secondList = `{"private_registry_connection_info":[
	{"connection_type":"1","server":"registry.example.com","username":"other","password":"` + rotatedPassword + `","certificate_path":"Files/registries/second.crt",
	 "hosts_string":"198.18.9.10 registry.example.com","probe_image":"team/pause:3.10"}]}`
	noList = `{"private_registry_connection_info":[]}`
)

// rotationSetup returns registrySetup with the registry of secondList.
func rotationSetup(t testing.TB) setup {
	t.Helper()
	s, ca := registrySetup(t), registryCA(t)
	if err := os.WriteFile(filepath.Join(s.pkg, "Files/registries/second.crt"), []byte(ca), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sandbox.Registries = append(s.sandbox.Registries, sandbox.Registry{Address: netip.MustParseAddrPort("198.18.9.10:443"), CA: ca,
		Username: "other", Password: rotatedPassword, Images: []string{"team/pause:3.10"}})
	return s
}

// The registries of a machine with each list, in the form of registriesOn.
var (
	firstOn = []string{"/etc/hosts: 198.18.9.9 registry.example.com", "certs.d/198.18.9.8:5000: http://198.18.9.8:5000",
		"certs.d/registry.example.com: https://registry.example.com, Files/registries/ca.crt", "kubelet: registry.example.com user:" + registryPassword}
	secondOn = []string{"/etc/hosts: 198.18.9.10 registry.example.com",
		"certs.d/registry.example.com: https://registry.example.com, Files/registries/second.crt", "kubelet: registry.example.com other:" + rotatedPassword}
)

// registriesOn returns the configuration of registries on a machine.
func (l *lab) registriesOn(fsys afero.Fs) (out []string) {
	l.t.Helper()
	read := func(name string) string {
		data, err := afero.ReadFile(fsys, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.t.Fatal(err)
		}
		return string(data)
	}
	for line := range strings.Lines(read("/etc/hosts")) {
		if strings.Contains(line, "registry") {
			out = append(out, "/etc/hosts: "+strings.TrimSpace(line))
		}
	}
	dirs, _ := afero.ReadDir(fsys, "/etc/containerd/certs.d")
	for _, dir := range dirs {
		name := "/etc/containerd/certs.d/" + dir.Name()
		_, url, _ := strings.Cut(read(name+"/hosts.toml"), "server = '")
		url, _, _ = strings.Cut(url, "'")
		text := "certs.d/" + dir.Name() + ": " + url
		for _, ca := range []string{"Files/registries/ca.crt", "Files/registries/second.crt"} {
			want, err := os.ReadFile(filepath.Join(l.Package, ca))
			if err == nil && read(name+"/vnfkit-ca.crt") == string(want) {
				text += ", " + ca
			}
		}
		out = append(out, text)
	}
	var kubelet struct {
		Auths map[string]struct{ Auth []byte }
	}
	if text := read("/var/lib/kubelet/config.json"); text != "" {
		if err := json.Unmarshal([]byte(text), &kubelet); err != nil {
			l.t.Fatal(err)
		}
	}
	for _, server := range slices.Sorted(maps.Keys(kubelet.Auths)) {
		out = append(out, "kubelet: "+server+" "+string(kubelet.Auths[server].Auth))
	}
	return out
}

// wantRegistries compares the registries of every machine.
func (l *lab) wantRegistries(when string, want []string) {
	l.t.Helper()
	for _, h := range l.World.Hosts() {
		if diff := cmp.Diff(want, l.registriesOn(h.FS())); diff != "" {
			l.t.Errorf("%s: %s:\n%s", when, h.Name(), diff)
		}
	}
}

// scaling returns a request to add or remove one worker.
func scaling(t testing.TB, kind vnflcm.ScaleType, list string) vnflcm.ScaleVnfRequest {
	t.Helper()
	req := vnflcm.ScaleVnfRequest{Type: kind, AspectID: "worker_instance"}
	if list != "" {
		req.AdditionalParams = params(t, list)
	}
	return req
}

// TestRotate: the list of a scale or heal request is in effect for the whole cluster until another request has a list.
func TestRotate(t *testing.T) {
	t.Parallel()
	for _, sample := range []string{"instantiate_sandbox.json", "instantiate_script.json"} {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			if sample == "instantiate_script.json" {
				fulltest.SkipVariant(t)
			}
			ctx := t.Context()
			l := openLab(t, rotationSetup(t))
			id := l.Instantiated(sample, clustertest.Sized("simple", 0), with(t, firstList))
			l.wantRegistries("instantiated", firstOn)
			scale := func(kind vnflcm.ScaleType, list string) { l.Must(l.Scale(t.Context(), id, scaling(t, kind, list))) }
			heal := func(list string, targets ...string) {
				if list == "" {
					list = "{}"
				}
				req := vnflcm.HealVnfRequest{VnfcInstanceID: targets, AdditionalParams: mustParams(`{"restore": "none", "` + param + `": ` + list + `}`)}
				l.Must(l.Heal(t.Context(), id, req))
			}
			for _, step := range []struct {
				name string
				do   func()
				want []string
			}{
				{"scale out with another", func() { scale(vnflcm.ScaleOut, secondList) }, secondOn},
				{"scale out", func() { scale(vnflcm.ScaleOut, "") }, secondOn},
				{"heal", func() { heal("", l.worker(id).ID) }, secondOn},
				{"heal with the first", func() { heal(firstList, l.worker(id).ID) }, firstOn},
				{"scale in with another", func() { scale(vnflcm.ScaleIn, secondList) }, secondOn},
				{"heal the whole VNF", func() { heal("") }, secondOn},
				{"scale in with none", func() { scale(vnflcm.ScaleIn, noList) }, nil},
				{"scale out with none before", func() { scale(vnflcm.ScaleOut, "") }, nil},
				{"heal the whole VNF with the first", func() { heal(firstList) }, firstOn},
				{"scale out after that", func() { scale(vnflcm.ScaleOut, "") }, firstOn},
				{"scale in with null", func() { scale(vnflcm.ScaleIn, `{"private_registry_connection_info":null}`) }, nil},
			} {
				step.do()
				l.wantRegistries(step.name, step.want)
			}
			l.want(1, 2, 0)
			encoded := base64.StdEncoding.EncodeToString([]byte("other:" + rotatedPassword))
			for where, text := range map[string]string{"log": l.Log(), "events": fmt.Sprintf("%+v", l.Events()), "store": l.Stored()} {
				if strings.Contains(text, "canary") || strings.Contains(text, encoded) {
					t.Errorf("a password is in the %s", where)
				}
			}
			l.notOnMachines([]string{"canary", encoded}, true)
			l.Must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			if kept := l.Records("state"); len(kept) > 0 {
				t.Errorf("state is left: %v", kept)
			}
		})
	}
}

// TestRotateDead: the machine that a heal replaces is never contacted. A dead machine that stays fails the operation, and
// the error names it. It gets the list when it is healed.
func TestRotateDead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := openLab(t, rotationSetup(t))
	changes := append(virtual(t), clustertest.Sized("complex", 1), with(t, firstList))
	id := l.Instantiated("instantiate_sandbox.json", changes...)
	dead := []string{"masterNode-0", "workerNode-0"}
	l.stop(dead...)
	workers := l.vnfcs(id, "workerNode-1")
	opID, err := l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: workers, AdditionalParams: params(t, secondList)})
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "registries on ") {
		t.Errorf("the error is %v", err)
	}
	if err := l.Fail(ctx, opID); err != nil {
		t.Fatal(err)
	}
	l.isolate(dead...)
	l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: append(l.vnfcs(id, dead...), workers...), AdditionalParams: params(t, secondList)}))
	l.dials.watch(nil)
	l.want(3, 2, 0)
	l.wantRegistries("healed", secondOn)
}

// TestRotateRefused: a fault of the list is found before anything is changed.
func TestRotateRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := openLab(t, rotationSetup(t))
	id := l.Instantiated("instantiate_sandbox.json", with(t, firstList))
	bad := `{"private_registry_connection_info":[{"connection_type":"2","server":"a b"},{"connection_type":"1","server":"c","certificate_path":"Files/none.crt"}]}`
	ran := 0
	for _, h := range l.World.Hosts() {
		ran += len(h.Commands())
	}
	_, err1 := l.Scale(ctx, id, scaling(t, vnflcm.ScaleIn, bad))
	_, err2 := l.Heal(ctx, id, vnflcm.HealVnfRequest{AdditionalParams: params(t, bad)})
	for _, err := range []error{err1, err2} {
		for _, part := range []string{"[0].connection_type", "[0].server", "[1].certificate_path"} {
			if _, ok := errors.AsType[*vnflcm.ParamError](err); !ok || !strings.Contains(err.Error(), "k8s_cluster_installation_param.private_registry_connection_info"+part) {
				t.Errorf("no fault of %s: %v", part, err)
			}
		}
	}
	for _, h := range l.World.Hosts() {
		ran -= len(h.Commands())
	}
	if ran != 0 {
		t.Error("something ran on the machines")
	}
	l.Must(l.Scale(ctx, id, scaling(t, vnflcm.ScaleOut, "")))
	l.wantRegistries("after the refusals", firstOn)
}

// TestRotateFails: whatever fails the operation, the cluster works. Rolling back restores the list; giving up keeps the
// list that the nodes have.
func TestRotateFails(t *testing.T) {
	t.Parallel()
	wrong := strings.Replace(secondList, rotatedPassword, "canary-wrong", 1)
	for name, c := range map[string]struct {
		list, step string // step that fails
		is         error
		rollback   bool
		then, kept []string // registries of the nodes that stay; of all nodes after another scale-out
	}{
		"wrong password, rollback":    {list: wrong, is: client.ErrLogin, rollback: true, then: firstOn, kept: firstOn},
		"wrong password, given up":    {list: wrong, is: client.ErrLogin, then: firstOn},
		"join, rollback":              {list: secondList, step: "join", rollback: true, then: firstOn, kept: firstOn},
		"join, given up":              {list: secondList, step: "join", then: secondOn},
		"first of all, rolled back":   {list: secondList, step: "registries", rollback: true, then: firstOn, kept: firstOn},
		"join with none, rolled back": {list: noList, step: "join", rollback: true, then: firstOn, kept: firstOn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l := openLab(t, rotationSetup(t))
			id := l.Instantiated("instantiate_sandbox.json", with(t, firstList))
			broken := l.Process(func(cfg *vnflcm.Config) {
				cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
					if s.Name == c.step && s.Phase == "scale_end" {
						return errors.New("broken")
					}
					return next(ctx)
				}
			})
			opID, err := broken.Scale(ctx, id, scaling(t, vnflcm.ScaleOut, c.list))
			err = l.Fails(opID, err, broken)
			if c.is != nil && !errors.Is(err, c.is) || strings.Contains(err.Error(), "canary") {
				t.Fatalf("the error is %v", err)
			}
			if err := broken.Close(ctx); err != nil {
				t.Fatal(err)
			}
			for _, n := range l.World.Nodes() {
				if !n.Ready || n.Unschedulable {
					t.Errorf("%+v", n)
				}
			}
			if c.rollback {
				l.RollBack(opID)
			} else if err := l.Fail(ctx, opID); err != nil {
				t.Fatal(err)
			}
			if c.then != nil {
				for _, name := range []string{"masterNode-0", "workerNode-0"} {
					if name == "masterNode-0" && !c.rollback && c.is != nil {
						continue // the first node; the other nodes did not get the wrong password
					}
					if diff := cmp.Diff(c.then, l.registriesOn(l.host(name).FS())); diff != "" {
						t.Errorf("%s:\n%s", name, diff)
					}
				}
			}
			if c.kept != nil {
				l.Must(l.Scale(ctx, id, scaling(t, vnflcm.ScaleOut, "")))
				l.wantRegistries("scaled out again", c.kept)
			}
			l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.worker(id).ID}, AdditionalParams: params(t, secondList)}))
			for _, name := range []string{"masterNode-0", "workerNode-0"} {
				if diff := cmp.Diff(secondOn, l.registriesOn(l.host(name).FS())); diff != "" {
					t.Errorf("another try: %s:\n%s", name, diff)
				}
			}
		})
	}
}

// TestRotateBack: rolling back does not depend on dead machines, or on registries that refuse the old password.
func TestRotateBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l := openLab(t, rotationSetup(t))
	// No program uses this password: containerd does not log in, and there is no probe image.
	old := `{"private_registry_connection_info":[{"connection_type":"1","server":"registry.example.com","username":"user","password":"canary-old",
		"certificate_path":"Files/registries/ca.crt","hosts_string":"198.18.9.9 registry.example.com"}]}`
	oldOn := []string{firstOn[0], firstOn[2], "kubelet: registry.example.com user:canary-old"}
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 2), with(t, old))
	for _, line := range []string{"apt-get install -y docker.io", "apt-get install -y cri-dockerd", "systemctl start docker", "systemctl start cri-docker"} {
		l.runRoot(l.host("workerNode-0"), strings.Fields(line)...)
	}
	broken := l.Process(func(cfg *vnflcm.Config) {
		cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name == "join" {
				return errors.New("broken")
			}
			return next(ctx)
		}
	})
	opID, err := broken.Scale(ctx, id, scaling(t, vnflcm.ScaleOut, secondList))
	_ = l.Fails(opID, err, broken)
	if err := broken.Close(ctx); err != nil {
		t.Fatal(err)
	}
	l.stop("workerNode-1")
	l.RollBack(opID)
	for _, name := range []string{"masterNode-0", "workerNode-2"} {
		if diff := cmp.Diff(oldOn, l.registriesOn(l.host(name).FS())); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if n := strings.Count(l.Log(), "could not be set back"); n != 2 {
		t.Errorf("%d warnings of two nodes", n)
	}
	l.Must(l.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "workerNode-0", "workerNode-1")}))
	l.wantRegistries("healed", oldOn)
}

// healWithList heals a worker and changes the registries of all nodes.
var healWithList = scenario{name: "heal", begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
	return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "workerNode-0"), AdditionalParams: params(l.t, secondList)})
}}

// TestRotateCrash kills the process at every point where the registries of a running cluster change. The process that
// resumes, and the next operation, must reach the same end state.
func TestRotateCrash(t *testing.T) {
	t.Parallel()
	out := func(list string) func(context.Context, *vnflcm.Manager, *lab, string) (string, error) {
		return func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
			return m.Scale(ctx, id, scaling(l.t, vnflcm.ScaleOut, list))
		}
	}
	var cases []crashCase
	for _, c := range []struct {
		s     scenario
		steps []string
		want  []string
	}{
		{scenario{name: "scale out", begin: out(secondList)}, []string{"registries", "cluster"}, secondOn},
		{scenario{name: "scale in with none", begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
			return m.Scale(ctx, id, scaling(l.t, vnflcm.ScaleIn, noList))
		}}, []string{"registries"}, nil},
		{healWithList, []string{"registries"}, secondOn},
	} {
		labSetup := rotationSetup(t)
		labSetup.sandbox.Takes = takes
		l := openLab(t, labSetup)
		p := prepared{setup: &labSetup, instance: l.Instantiated("instantiate_sandbox.json", clustertest.Sized("simple", 1), with(t, firstList)), from: l.Snapshot()}
		p.check = func(l *lab) {
			l.wantRegistries("resumed", c.want)
			if c.s.name != "scale out" {
				return // the first scenario tests the code that stores the list
			}
			l.Must(l.Scale(t.Context(), p.instance, scaling(t, vnflcm.ScaleOut, "")))
			l.wantRegistries("scaled out after that", c.want)
			l.Must(l.Scale(t.Context(), p.instance, scaling(t, vnflcm.ScaleIn, "")))
		}
		steps, want := c.s.undisturbed(t, p)
		slices.Sort(steps)
		var cuts []cut
		for _, step := range steps {
			part := strings.Split(step, "/")
			if !slices.Contains(c.steps, part[1]) || !strings.HasSuffix(part[0], "_end") {
				continue
			}
			cuts = append(cuts, cutsAt(step, cutPointsOf(step))...)
		}
		cases = append(cases, c.s.dying(p, cuts, want)...)
	}
	crash(t, cases)
}
