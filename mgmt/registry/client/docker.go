package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/sshexec"
)

// daemonFile configures Docker; other programs write it too.
const daemonFile = "/etc/docker/daemon.json"

// insecureKey is the member of daemonFile that lists the registries without TLS.
const insecureKey = "insecure-registries"

// Where root's Docker client has its logins.
const (
	loginDir  = "/root/.docker"
	loginFile = loginDir + "/config.json"
)

// dockerDir is where Docker looks for the CA certificates of a registry, at each use.
func dockerDir(server string) string { return "/etc/docker/certs.d/" + server }

// claimDocker leaves entries of insecure-registries, and logins, that another program has made.
func (c *connector) claimDocker(ctx context.Context, out map[string]claim) error {
	content, _, err := c.Read(ctx, daemonFile)
	if err != nil {
		return err
	}
	listed, err := insecureRegistries(content)
	if err != nil {
		return c.broken(daemonFile, err)
	}
	logins, err := c.claimLogins(ctx, loginFile, func(had claim) bool { return had.DockerLogin })
	faults := []error{err}
	for _, w := range c.wanted {
		if w.Mirror != "" {
			faults = append(faults, fmt.Errorf("registry: %s: %s: Docker knows no mirrors of this kind: use containerd", c.SSH.Name(), w.Server))
		}
		ours := c.old.Registries[w.Server].Insecure || !slices.Contains(listed, w.Server)
		if w.Type == HTTPS && !ours {
			faults = append(faults, fmt.Errorf("registry: %s: %s: %w: Docker would not verify its certificate: take it out of %s of %s",
				c.SSH.Name(), w.Server, ErrForeign, insecureKey, daemonFile))
		}
		owned := out[w.Server]
		owned.DockerCA, owned.DockerLogin = w.ownCA(), logins[w.Server]
		owned.Insecure = w.Type == HTTP && ours
		out[w.Server] = owned
	}
	return errors.Join(faults...)
}

func anyInsecure(claims map[string]claim) bool {
	for _, c := range claims {
		if c.Insecure {
			return true
		}
	}
	return false
}

// insecureRegistries reads the list of a daemon.json.
func insecureRegistries(daemon []byte) ([]string, error) {
	value, err := memberOf(daemon, insecureKey)
	if value == nil || err != nil {
		return nil, err
	}
	var list []string
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, errors.New("has no list of names as " + insecureKey)
	}
	return list, nil
}

// withInsecure changes the list in a daemon.json; the rest stays byte for byte. An empty list stays in the file: a
// reload ignores a missing one (moby, daemon/reload.go).
func withInsecure(daemon []byte, add, remove []string) ([]byte, error) {
	old, err := insecureRegistries(daemon)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(old), func(s string) bool { return slices.Contains(remove, s) })
	for _, s := range add {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	if slices.Equal(old, list) {
		return daemon, nil
	}
	value, err := json.Marshal(append([]string{}, list...))
	if err != nil {
		return nil, err
	}
	return withMember(daemon, insecureKey, value)
}

// withoutEmptyList takes an empty list out of a daemon.json.
func withoutEmptyList(daemon []byte) ([]byte, error) {
	list, err := insecureRegistries(daemon)
	if len(list) > 0 || err != nil {
		return daemon, err
	}
	return withoutMember(daemon, insecureKey)
}

// writeDaemon brings daemon.json up to date and has Docker read it: a reload takes this list over while containers
// run (dockerd, "Configuration reload behavior"). It also reloads when an earlier call may have died before.
func (c *connector) writeDaemon(ctx context.Context) error {
	var add, remove []string
	for server, owned := range c.now {
		if owned.Insecure {
			add = append(add, server)
		}
	}
	for server, owned := range c.old.Registries {
		if owned.Insecure && !c.now[server].Insecure {
			remove = append(remove, server)
		}
	}
	if len(add)+len(remove) == 0 {
		return nil
	}
	slices.Sort(add)
	changed, err := c.update(ctx, daemonFile, 0, func(old []byte) ([]byte, error) { return withInsecure(old, add, remove) })
	if err != nil {
		return err
	}
	if c.runtime == Docker && (changed || c.old.Reload) {
		if err := c.Run(ctx, "systemctl", "reload", "docker"); err != nil {
			return err
		}
		if err := c.awaitDaemon(ctx, add, remove); err != nil {
			return err
		}
	}
	if len(add) == 0 {
		_, err = c.update(ctx, daemonFile, 0, withoutEmptyList)
	}
	return err
}

// awaitDaemon waits until Docker has taken the list over: a reload only sends it a signal.
func (c *connector) awaitDaemon(ctx context.Context, add, remove []string) error {
	stale := retry.Policy{First: 100 * time.Millisecond, Most: 5 * time.Second, Within: time.Minute, If: func(err error) bool { return errors.Is(err, errStale) }}
	return stale.Do(ctx, func() error {
		var known map[string]struct{ Secure bool }
		out, err := c.Output(ctx, sshexec.Command{Argv: []string{"docker", "--config", loginDir, "info", "--format", "{{json .RegistryConfig.IndexConfigs}}"}})
		if err == nil {
			err = json.Unmarshal(out, &known)
		}
		if err != nil {
			return err
		}
		insecure := func(server string) bool {
			index, listed := known[server]
			return listed && !index.Secure
		}
		for _, server := range slices.Concat(add, remove) {
			if insecure(server) != slices.Contains(add, server) {
				return fmt.Errorf("registry: %s: %w %s", c.SSH.Name(), errStale, server)
			}
		}
		return nil
	})
}

var errStale = errors.New("Docker has been told to reload, and has not taken over what daemon.json says of") //nolint:staticcheck // Docker is a name

func (c *connector) writeDocker(ctx context.Context) error {
	for _, w := range c.wanted {
		if ca := c.cas[w.Server]; ca != nil {
			if err := c.Write(ctx, dockerDir(w.Server)+"/"+caFile, ca, 0o644); err != nil {
				return err
			}
		}
	}
	for _, w := range c.wanted {
		if !c.now[w.Server].DockerLogin {
			continue
		}
		err := c.docker(ctx, strings.NewReader(w.Password.Reveal()), "login", "--username="+w.Username, "--password-stdin", w.Server)
		if err != nil {
			return explained(w, err)
		}
	}
	return nil
}

// docker runs the client as root, with root's own configuration: sudo may keep HOME of the login user.
func (m machine) docker(ctx context.Context, stdin io.Reader, args ...string) error {
	return m.Exec(ctx, sshexec.Command{Argv: append([]string{"docker", "--config", loginDir}, args...), Stdin: stdin})
}
