package kubesim_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

const installDocker = "sudo apt-get update && sudo apt-get install -y docker.io"

// runRegistry is the command of a driver; what is in $MORE comes from a test.
const runRegistry = "sudo docker run --detach --name private_registry --restart=always --publish 5000:5000 --volume /srv/registry:/var/lib/registry " +
	"--volume /etc/vnfkit/registry:/etc/vnfkit/registry:ro --env REGISTRY_HTTP_ADDR=0.0.0.0:5000 --env REGISTRY_STORAGE_DELETE_ENABLED=true --label vnfkit.settings=1 $MORE registry:latest"

func registryRun(more ...string) string {
	return strings.ReplaceAll(runRegistry, "$MORE", strings.Join(more, " "))
}

// dockerSite has machines whose Docker finds the registry's image in the public registry.
func dockerSite(t *testing.T, names ...string) *site {
	t.Helper()
	s := newSite(t)
	s.world = kubesim.NewWorld(kubesim.Options{PublicImages: []string{"registry:latest"}, Missing: []string{"nfs-common"}})
	for _, name := range names {
		s.start(name)
		s.must(name, installDocker)
	}
	return s
}

// registryImage is an image whose program is the registry's, as "docker save" writes it, and its id.
func registryImage(t *testing.T, command, tag string) (archive []byte, id string) {
	t.Helper()
	img, err := random.Image(2000, 2)
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.Config(img, v1.Config{Entrypoint: []string{command}, Cmd: []string{"/etc/config.yml"}}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	ref, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.Write(ref, img, &out); err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), config.String()
}

// input runs a program as root with something on its standard input, and returns all that it said.
func (s *site) input(name, text string, stdin []byte) (string, error) {
	s.t.Helper()
	host := s.hosts[name]
	keys, err := sshexec.PinnedHostKeys(host.PublicKey())
	if err != nil {
		s.t.Fatal(err)
	}
	h := s.pool.Host(sshexec.Target{Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys})
	var out, faults bytes.Buffer
	err = h.Exec(s.t.Context(), sshexec.Command{Argv: strings.Fields(text), Root: true, Stdin: bytes.NewReader(stdin), Stdout: &out, Stderr: &faults})
	return out.String() + faults.String(), err
}

// inspected is what "docker container inspect" tells.
type inspected struct {
	ID    string `json:"Id"`
	Image string
	State struct {
		Status, Error       string
		Running, Restarting bool
		ExitCode            int
	}
	Config       struct{ Labels map[string]string }
	RestartCount int
}

func (s *site) inspect(on string) (out inspected) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.must(on, "sudo docker container inspect --format '{{json .}}' private_registry")), &out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// TestDockerInstalled: Debian starts what it installs; Docker's own package needs a source that has it.
func TestDockerInstalled(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m1", "m2")
	s.fails("m1", "docker --version", "command not found")
	s.must("m1", installDocker)
	s.put("m2", "/etc/apt/sources.list.d/docker.list", "deb https://mirror.example.org/ bookworm stable\n")
	s.must("m2", strings.ReplaceAll(installDocker, "docker.io", "docker-ce"))
	for on, want := range map[string]string{"m1": "20.10.24+dfsg1", "m2": "28.5.1"} {
		if got := s.must(on, "docker --version && sudo docker version --format {{.Server.Version}}"); got != "Docker version "+want+", build 297e128\n"+want+"\n" {
			t.Errorf("%s: %s", on, got)
		}
	}
}

func TestDockerLoad(t *testing.T) {
	t.Parallel()
	s := dockerSite(t, "m1")
	archive, id := registryImage(t, "/bin/registry", "team/registry:2.8")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(archive); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"plain": archive, "gzip": packed.Bytes()} {
		out, err := s.input("m1", "docker load --quiet", content)
		if want := "Loaded image: team/registry:2.8\n"; err != nil || out != want {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if got := s.must("m1", "sudo docker image inspect --format {{.Id}} team/registry:2.8"); got != id+"\n" {
		t.Errorf("%q, want %s", got, id)
	}
	other, _ := registryImage(t, "/bin/registry", "team/registry:2.8")
	out, err := s.input("m1", "docker load --quiet", other)
	if err != nil || !strings.Contains(out, "renaming the old one with ID "+id) {
		t.Errorf("%q, %v", out, err)
	}
	if left, err := afero.ReadDir(s.hosts["m1"].FS(), "/var/lib/docker/tmp"); err != nil || len(left) > 0 {
		t.Errorf("%d directories are left, %v", len(left), err)
	}
}

func TestDockerLoadFails(t *testing.T) {
	t.Parallel()
	archive, _ := registryImage(t, "/bin/registry", "registry:2")
	for name, c := range map[string]struct {
		content []byte
		faults  sshtest.Faults
		want    string
	}{
		"nothing":      {nil, sshtest.Faults{}, "repositories: no such file or directory"},
		"no archive":   {bytes.Repeat([]byte("x"), 2000), sshtest.Faults{}, "invalid tar header"},
		"cut short":    {archive[:len(archive)/2], sshtest.Faults{}, "unexpected EOF"},
		"disk is full": {archive, sshtest.Faults{DiskFull: true, DiskLeft: 1000}, "no space left on device"},
		"other layers": {bytes.ReplaceAll(archive, []byte(`"diff_ids":["sha256:`), []byte(`"diff_ids":["sha512:`)), sshtest.Faults{}, "invalid diffID for layer 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dockerSite(t, "m1")
			s.hosts["m1"].SetFaults(c.faults)
			out, err := s.input("m1", "docker load --quiet", c.content)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v: %s", err, out)
			}
			if _, err := s.run("m1", "sudo docker image inspect --format {{.Id}} registry:2"); err == nil {
				t.Error("the image is there")
			}
		})
	}
}

// TestDockerUnknown: what is not simulated fails, and says so. What Docker refuses is in TestDockerContract.
func TestDockerUnknown(t *testing.T) {
	t.Parallel()
	const pull = "sudo docker pull --quiet registry:latest"
	for name, c := range map[string]struct {
		before, text, want string
		code               int
	}{
		"no package":      {text: "sudo apt-get install -y nfs-common", want: "Unable to locate package nfs-common", code: 1},
		"docker-ce":       {text: "sudo apt-get install -y docker-ce", want: "Unable to locate package docker-ce", code: 1},
		"no public image": {text: "sudo docker pull --quiet registry:3", want: "manifest for registry:3 not found", code: 1},
		"no public name":  {text: "sudo docker pull --quiet other", want: "pull access denied for other", code: 1},
		"run no image":    {text: registryRun(), want: "Unable to find image 'registry:latest' locally", code: 125},
		"run flag":        {before: pull, text: registryRun("--privileged"), want: "unknown flag: --privileged", code: 125},
		"run volume":      {before: pull, text: registryRun("--volume here:/there"), want: "not simulated", code: 125},
		"run command":     {before: pull, text: registryRun() + " serve", want: "not simulated", code: 125},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dockerSite(t, "m1")
			if c.before != "" {
				s.must("m1", c.before)
			}
			out, err := s.run("m1", c.text+` 2>&1; echo "code $?"`)
			if err != nil || !strings.Contains(out, c.want) || !strings.HasSuffix(out, fmt.Sprintf("code %d\n", c.code)) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestDockerPortTaken: the container that could not have its port stays behind, and runs once it can.
func TestDockerPortTaken(t *testing.T) {
	t.Parallel()
	s := dockerSite(t, "m1")
	s.must("m1", "sudo docker pull --quiet registry:latest")
	s.world.OccupyPort("m1", 5000, true)
	out, err := s.run("m1", registryRun()+" 2>&1")
	if want := "Error starting userland proxy: listen tcp4 0.0.0.0:5000: bind: address already in use."; err == nil || !strings.Contains(out, want) {
		t.Errorf("%v: %s", err, out)
	}
	got := s.inspect("m1")
	if !strings.HasPrefix(out, got.ID) {
		t.Errorf("Docker tells the id first: %s", out)
	}
	if got.State.Status != "created" || got.State.Running || !strings.Contains(got.State.Error, "address already in use") || got.State.ExitCode != 128 {
		t.Errorf("%+v", got)
	}
	if out, err := s.run("m1", "sudo docker container start private_registry 2>&1"); err == nil || !strings.Contains(out, "failed to start containers: private_registry") {
		t.Errorf("%v: %s", err, out)
	}
	s.world.OccupyPort("m1", 5000, false)
	s.must("m1", "sudo systemctl restart docker")
	if got := s.inspect("m1"); got.State.Status != "created" {
		t.Errorf("what never ran does not come back with Docker: %+v", got)
	}
	s.must("m1", "sudo docker container start private_registry")
	if got := s.inspect("m1"); got.State.Status != "running" || got.State.Error != "" {
		t.Errorf("%+v", got)
	}
}

// TestDockerRestartLoop: a registry that ends at once restarts for ever, and its log tells why.
func TestDockerRestartLoop(t *testing.T) {
	t.Parallel()
	auth := []string{"--env REGISTRY_AUTH=htpasswd", "--env REGISTRY_AUTH_HTPASSWD_REALM=r", "--env REGISTRY_AUTH_HTPASSWD_PATH=/etc/vnfkit/registry/htpasswd"}
	certificate := []string{"--env REGISTRY_HTTP_TLS_CERTIFICATE=/etc/vnfkit/registry/tls.crt", "--env REGISTRY_HTTP_TLS_KEY=/etc/vnfkit/registry/tls.key"}
	for name, c := range map[string]struct {
		more   []string
		before string
		want   string
		code   int
	}{
		"no htpasswd":       {auth, "true", "open /etc/vnfkit/registry/htpasswd: read-only file system", 2},
		"no realm":          {auth[:1], "true", `"realm" must be set for htpasswd access controller`, 2},
		"no certificate":    {certificate, "true", "open /etc/vnfkit/registry/tls.crt: no such file or directory", 1},
		"wrong certificate": {certificate, "sudo mkdir -p /etc/vnfkit/registry && echo x | sudo tee /etc/vnfkit/registry/tls.crt /etc/vnfkit/registry/tls.key", "failed to find any PEM data", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dockerSite(t, "m1")
			s.must("m1", "sudo docker pull --quiet registry:latest && "+c.before)
			s.must("m1", registryRun(c.more...))
			first, second := s.inspect("m1"), s.inspect("m1")
			if !second.State.Restarting || second.State.Status != "restarting" || second.State.ExitCode != c.code || second.RestartCount <= first.RestartCount {
				t.Errorf("%+v, then %+v", first, second)
			}
			if out := s.must("m1", "sudo docker container logs --tail 16 private_registry 2>&1"); !strings.Contains(out, c.want) {
				t.Errorf("%s", out)
			}
			s.silent("m1")
		})
	}
}

// TestDockerInnerPort: a published port that leads to none inside takes connections, and answers nothing.
func TestDockerInnerPort(t *testing.T) {
	t.Parallel()
	s := dockerSite(t, "m1")
	s.must("m1", "sudo docker pull --quiet registry:latest && "+registryRun("--env REGISTRY_HTTP_ADDR=0.0.0.0:5001"))
	s.silent("m1")
}

// silent is a machine on which Docker takes connections for a registry that does not, and drops them.
func (s *site) silent(on string) {
	s.t.Helper()
	conn, err := s.world.Dialer(on)(s.t.Context(), "tcp", "127.0.0.1:5000")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		s.t.Errorf("it is not dropped: %v", err)
	}
}

// TestDockerSaved: images and containers are in the world that is kept.
func TestDockerSaved(t *testing.T) {
	t.Parallel()
	s := dockerSite(t, "m1")
	s.must("m1", "sudo docker pull --quiet registry:latest && "+registryRun())
	before := s.inspect("m1")
	data, err := json.Marshal(s.world)
	if err != nil {
		t.Fatal(err)
	}
	next := newSite(t)
	if err := json.Unmarshal(data, next.world); err != nil {
		t.Fatal(err)
	}
	next.start("m1")
	if after := next.inspect("m1"); after.ID != before.ID || after.State.Status != "running" || after.Config.Labels["vnfkit.settings"] != "1" {
		t.Errorf("%+v, then %+v", before, after)
	}
}

// TestDockerStops: containers end with the daemon and with the machine, and come back with them.
func TestDockerStops(t *testing.T) {
	t.Parallel()
	s := dockerSite(t, "m1")
	s.must("m1", "sudo docker pull --quiet registry:latest && "+registryRun())
	before := s.inspect("m1")
	answers := func() error {
		conn, err := s.world.Dialer("m1")(t.Context(), "tcp", "127.0.0.1:5000")
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		go func() { _, _ = io.WriteString(conn, "GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n") }()
		_, err = io.ReadFull(conn, make([]byte, len("HTTP/1.1 200 OK")))
		return err
	}
	if err := answers(); err != nil {
		t.Error(err)
	}
	s.must("m1", "sudo docker container stop private_registry")
	if got := s.inspect("m1"); answers() == nil || got.State.Status != "exited" || got.State.Running {
		t.Errorf("it is stopped: %+v", got)
	}
	s.must("m1", "sudo systemctl stop docker")
	if err := answers(); err == nil {
		t.Error("it answers without Docker")
	}
	s.must("m1", "sudo systemctl start docker")
	if err := answers(); err != nil || s.inspect("m1").ID != before.ID {
		t.Error(err)
	}
	s.world.SetDown("m1", true)
	if err := answers(); err == nil {
		t.Error("it answers from a dead machine")
	}
	s.world.SetDown("m1", false)
	if err := answers(); err != nil || s.inspect("m1").ID != before.ID {
		t.Error(err)
	}
	s.must("m1", "sudo docker container rm --force private_registry && sudo docker container rm --force private_registry")
	if err := answers(); err == nil {
		t.Error("it answers without a container")
	}
}
