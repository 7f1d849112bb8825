package sandbox_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestMachineWithRegistry: a machine runs a registry with Docker, unless its port is taken; Dial reaches it as it
// reaches the machine, until it is replaced.
func TestMachineWithRegistry(t *testing.T) {
	t.Parallel()
	s := open(t, sandbox.Config{PublicImages: []string{"registry:latest"}, Missing: []string{"haproxy"}})
	id := s.instance(0)
	m := s.machines(id)["workerNode-0"]
	host := s.login(m.Address, "ubuntu", "ubuntu")
	run := func(line string) (string, error) {
		var out bytes.Buffer
		err := host.Exec(t.Context(), sshexec.Command{Argv: strings.Fields(line), Root: true, Stderr: &out})
		return out.String(), err
	}
	for _, line := range []string{"apt-get update", "apt-get install -y docker.io", "docker pull --quiet registry:latest"} {
		if out, err := run(line); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if out, err := run("apt-get install -y haproxy"); err == nil || !strings.Contains(out, "Unable to locate package haproxy") {
		t.Errorf("%v: %s", err, out)
	}
	if err := s.world.OccupyPort("nobody", 5000, true); err == nil {
		t.Error("a port of no machine was taken")
	}
	if err := s.world.OccupyPort(m.Name, 5000, true); err != nil {
		t.Fatal(err)
	}
	out, err := run("docker run --detach --name private_registry --restart=always --publish 5000:5000 --volume /srv:/var/lib/registry registry:latest")
	if err == nil || !strings.Contains(out, "address already in use") {
		t.Errorf("%v: %s", err, out)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: s.world.Dial}}
	ask := func() (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.Address+":5000/v2/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return "", err
		}
		return response.Status, response.Body.Close()
	}
	if got, err := ask(); err == nil {
		t.Error(got)
	}
	if err := s.world.OccupyPort(m.Resource, 5000, false); err != nil {
		t.Fatal(err)
	}
	if out, err := run("docker container start private_registry"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	clone, err := s.world.Clone()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clone.Close() })
	if got, err := ask(); err != nil || got != "200 OK" {
		t.Errorf("%s, %v", got, err)
	}
	s.must(s.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{m.VNFC}}))
	if got, err := ask(); err == nil {
		t.Errorf("the new machine has none: %s", got)
	}
	client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: clone.Dial}
	if got, err := ask(); err != nil || got != "200 OK" {
		t.Errorf("of the clone: %s, %v", got, err)
	}
}
