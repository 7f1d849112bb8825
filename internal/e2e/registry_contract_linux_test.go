package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// dockerRegistry starts Debian's docker-registry at an address of this machine, with sections of its configuration and with
// options of its section http. It returns HOST:PORT.
func dockerRegistry(t *testing.T, parts kube.Parts, at netip.Addr, sections, options string) (server string) {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", netip.AddrPortFrom(at, 0).String())
	must(t, err)
	server = free.Addr().String()
	must(t, free.Close())
	config := filepath.Join(t.TempDir(), "config.yml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "version: 0.1\n%shttp: {addr: %q, secret: lab%s}\n", sections, server, options), 0o600))
	program := exec.CommandContext(context.Background(), filepath.Join(strings.Split(parts.NodeTree(), ":")[0], "usr/bin/docker-registry"), "serve", config) //nolint:gosec // a part of the cluster's machines
	var said bytes.Buffer
	program.Stdout, program.Stderr, program.SysProcAttr = &said, &said, &syscall.SysProcAttr{Setpgid: true}
	must(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	await(t, "the registry to listen", func() bool {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", server)
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
	return server
}

// TestRegistryContract: a real registry gives the answers of the simulated one.
func TestRegistryContract(t *testing.T) {
	t.Parallel()
	server := dockerRegistry(t, needParts(t, "registry"), netip.MustParseAddr("127.0.0.1"), fmt.Sprintf("storage: {filesystem: {rootdirectory: %s}, delete: {enabled: true}}\n", t.TempDir()), "")
	proves(t, "internal/kubesim/docker", "^TestRegistryContract$", "VNFKIT_REGISTRY=http://"+server)
}

// TestDockerContract: Docker Engine gives the answers of the simulated one.
func TestDockerContract(t *testing.T) {
	t.Parallel()
	parts := needParts(t, "registry")
	machine, err := site.network.Create(t.Context(), vmhost.Spec{Name: "docker", User: user, Password: password, Tree: parts.NodeTree()})
	must(t, err)
	t.Cleanup(func() { must(t, machine.Close()) })
	host := newPool(t, sshexec.Options{}).Host(targetOf(t, machine))
	must(t, host.Wait(within(t, time.Minute)))
	_, err = asRoot(host, "systemctl", "start", "docker")
	must(t, err)
	key, err := machine.HostKey()
	must(t, err)
	login, err := json.Marshal(map[string]string{"Address": machine.Address.String(), "User": user, "Password": password, "HostKey": key, "Archive": parts.Image("registry")})
	must(t, err)
	proves(t, "internal/kubesim", "^TestDockerContract$", "VNFKIT_DOCKER="+string(login))
}
