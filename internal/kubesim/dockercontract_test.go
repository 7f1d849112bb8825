package kubesim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/sshexec"
)

// dockerMachine is a machine with Docker and the image registry:latest. Default: a simulated one.
type dockerMachine struct {
	// Address, User, Password and HostKey log in to a real machine.
	Address, User, Password, HostKey string
	// Archive is the file of an image registry:latest, as "docker save" writes it.
	Archive string

	host    *sshexec.Host
	address string // at which the machine reaches itself
}

// askedMachine returns the machine that VNFKIT_DOCKER describes in JSON, or a simulated one.
func askedMachine(t *testing.T) dockerMachine {
	t.Helper()
	var m dockerMachine
	var archive []byte
	if text := os.Getenv("VNFKIT_DOCKER"); text != "" {
		err := json.Unmarshal([]byte(text), &m)
		if err == nil {
			m.address = m.Address
			archive, err = os.ReadFile(m.Archive)
		}
		if err != nil {
			t.Fatal(err)
		}
	} else {
		s := dockerSite(t)
		s.world = kubesim.NewWorld(kubesim.Options{})
		s.start("m1")
		s.must("m1", installDocker)
		m = dockerMachine{Address: s.hosts["m1"].Addr(), User: "ubuntu", Password: "ubuntu", HostKey: s.hosts["m1"].PublicKey(),
			address: addressOf("m1").String()}
		archive, _ = registryImage(t, "/bin/registry", "registry:latest")
	}
	keys, err := sshexec.PinnedHostKeys(m.HostKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{})
	t.Cleanup(func() { _ = pool.Close() })
	m.host = pool.Host(sshexec.Target{Addr: m.Address, User: m.User, Auth: []sshexec.Auth{sshexec.Password(m.Password)}, HostKeys: keys,
		Sudo: sshexec.SudoPassword(m.Password)})
	if said, code := m.ask(t, "docker load --quiet", archive); code != 0 {
		t.Fatal(said)
	}
	return m
}

// ask runs a command, as root unless it begins with "user", and returns all that it printed and its exit code.
func (m dockerMachine) ask(t *testing.T, command string, stdin []byte) (said string, code int) {
	t.Helper()
	shell, plain := strings.CutPrefix(command, "user ")
	var out bytes.Buffer
	shell = strings.ReplaceAll(shell, "ADDRESS", m.address)
	err := m.host.Exec(t.Context(), sshexec.Command{Shell: sshexec.Shell(shell + " 2>&1"), Root: !plain, Stdin: bytes.NewReader(stdin), Stdout: &out})
	said = strings.ReplaceAll(out.String(), m.address, "ADDRESS")
	var shown inspected
	if json.Unmarshal([]byte(said), &shown) == nil && shown.ID != "" { // only what drivers read
		text, _ := json.Marshal(shown)
		said = string(text) + "\n"
	}
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok {
		return said, exit.Code
	}
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return said, 0
}

const (
	noImage = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	// runs makes the container own, whose registry listens at port 5000 of the machine.
	runs = "docker run --detach --name own --publish 5000:5000 --restart=always registry:latest"
)

// shows is what "docker container inspect" tells of a container in a state, as far as drivers read it.
func shows(state string) string {
	return `\{"Id":"[0-9a-f]{64}","Image":"sha256:[0-9a-f]{64}","State":\{` + state + `\},"Config":\{"Labels":\{\}\},"RestartCount":0\}\n`
}

// TestDockerContract asks Docker 20.10 what drivers ask it, and what they must not: how it ends, and what drivers read of its answers.
// Each case begins with the image and without containers.
func TestDockerContract(t *testing.T) {
	m := askedMachine(t)
	atSSH := strings.ReplaceAll(runs, "5000:5000", "22:5000")
	for _, c := range []struct {
		name   string
		before []string // commands that succeed
		ask    string
		stdin  string
		code   int
		said   string // a regular expression for a part of the answer
	}{
		{name: "version of the client", ask: "user docker --version", said: `Docker version \d+\.\d+\.\d+`},
		{name: "version of the server", ask: "docker version --format {{.Server.Version}}", said: `^\d+\.\d+\.\d+\S*\n$`},
		{name: "not root", ask: "user docker version --format {{.Server.Version}}", code: 1},
		{name: "no command", ask: "docker frobnicate", code: 1},
		{name: "registries", ask: "docker info --format '{{json .RegistryConfig.IndexConfigs}}'", said: `^\{"docker\.io":\{.*"Secure":true.*\}\}\n$`},

		{name: "image", ask: "docker image inspect --format {{.Id}} registry:latest", said: `^sha256:[0-9a-f]{64}\n$`},
		{name: "image without tag", ask: "docker image inspect --format {{.Id}} registry", said: `^sha256:[0-9a-f]{64}\n$`},
		{name: "no image", ask: "docker image inspect --format {{.Id}} other", code: 1},
		{name: "no id", ask: "docker image inspect --format {{.Id}} " + noImage, code: 1},
		{name: "load nothing", ask: "docker load --quiet", code: 1},
		{name: "load no archive", ask: "docker load --quiet", stdin: strings.Repeat("x", 2000), code: 1},

		{name: "no container", ask: "docker container inspect --format '{{json .}}' own", code: 1, said: `No such container`},
		{name: "start none", ask: "docker container start own", code: 1},
		{name: "logs of none", ask: "docker container logs --tail 20 own", code: 1},
		{name: "remove none", ask: "docker container rm own", code: 1},
		{name: "remove none by force", ask: "docker container rm --force own"},

		{name: "run", ask: runs},
		{name: "run an image that is missing", ask: strings.ReplaceAll(runs, "registry:latest", noImage), code: 125},
		{name: "run with a wrong name", ask: strings.ReplaceAll(runs, "own", "o/wn"), code: 125},
		{name: "run twice", before: []string{runs}, ask: runs, code: 125},
		{name: "run with a port that is taken", before: []string{runs}, ask: strings.ReplaceAll(runs, "--name own", "--name other"), code: 125, said: "port is already allocated"},
		{name: "run at the port of sshd", ask: atSSH, code: 125, said: "address already in use"},
		{name: "run with a wrong port", ask: strings.ReplaceAll(runs, "5000:5000", "70000:5000"), code: 125},
		{name: "run with an unknown flag", ask: "docker run --frobnicate registry:latest", code: 125},

		{name: "running", before: []string{runs}, ask: "docker container inspect --format '{{json .}}' own",
			said: shows(`"Status":"running","Error":"","Running":true,"Restarting":false,"ExitCode":0`)},
		{name: "start a running one", before: []string{runs}, ask: "docker container start own"},
		{name: "remove a running one", before: []string{runs}, ask: "docker container rm own", code: 1},
		{name: "remove a running one by force", before: []string{runs}, ask: "docker container rm --force own"},
		{name: "stopped", before: []string{runs, "docker container stop own"}, ask: "docker container inspect --format '{{json .}}' own",
			said: shows(`"Status":"exited","Error":"","Running":false,"Restarting":false,"ExitCode":\d+`)},
		{name: "remove a stopped one", before: []string{runs, "docker container stop own"}, ask: "docker container rm own"},
		{name: "without its port", before: []string{atSSH + " || true"}, ask: "docker container inspect --format '{{json .}}' own",
			said: `"Status":"created","Error":"driver failed programming external connectivity on endpoint own.*address already in use"`},
		{name: "start without its port", before: []string{atSSH + " || true"}, ask: "docker container start own", code: 1, said: "address already in use"},
		{name: "labels", before: []string{strings.ReplaceAll(runs, "--name own", "--name own --label a=b")}, ask: "docker container inspect --format '{{json .}}' own",
			said: `"Labels":\{"a":"b"\}`},
		{name: "a daemon that starts again", before: []string{runs, "systemctl restart docker"}, ask: "docker container inspect --format '{{json .}}' own", said: `"Status":"running"`},
		{name: "a stopped one when the daemon starts again", before: []string{runs, "docker container stop own", "systemctl restart docker"}, ask: "docker container inspect --format '{{json .}}' own",
			said: `"Status":"running"`},

		{name: "log in without a name", ask: "docker login --password-stdin ADDRESS:5999", stdin: "x", code: 1},
		{name: "log in at a closed port", ask: "docker login --username u --password-stdin ADDRESS:5999", stdin: "x", code: 1, said: "connection refused"},
		{name: "log out of nothing", ask: "docker logout registry.example:5000"},
		{name: "pull at a closed port", ask: "docker pull --quiet ADDRESS:5999/a:1", code: 1, said: "connection refused"},
		{name: "pull without a network", ask: "docker pull --quiet other", code: 1, said: `registry-1\.docker\.io`},
		{name: "daemon stopped, socket open", before: []string{"systemctl stop docker"}, ask: "docker version --format {{.Server.Version}}", said: `^\d+\.\d+\.\d+\S*\n$`},
		{name: "daemon stopped", before: []string{"systemctl stop docker.socket docker"}, ask: "docker container inspect --format '{{json .}}' own", code: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Debian's unit may start three times a minute; reset-failed begins to count again.
			for _, clean := range []string{"systemctl start docker", "systemctl reset-failed docker docker.socket", "docker container rm --force own", "docker container rm --force other"} {
				if said, code := m.ask(t, clean, nil); code != 0 {
					t.Fatalf("%s: %d: %s", clean, code, said)
				}
			}
			for _, before := range c.before {
				if said, code := m.ask(t, before, nil); code != 0 {
					t.Fatalf("%s: %d: %s", before, code, said)
				}
			}
			said, code := m.ask(t, c.ask, []byte(c.stdin))
			if code != c.code || !regexp.MustCompile(c.said).MatchString(said) {
				t.Errorf("%s: exit code %d, want %d; said\n%q, want\n%s", c.ask, code, c.code, said, c.said)
			}
		})
	}
}

const installDocker = "sudo apt-get update && sudo apt-get install -y docker.io"

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
