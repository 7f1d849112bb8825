package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
)

// containerName is Tacker's.
const containerName = "private_registry"

// settingsLabel holds a digest of what the container was made from.
const settingsLabel = "vnfkit.settings"

// container is Docker's description of a container (docker container inspect).
type container struct {
	Image string
	State struct {
		Status   string
		Running  bool
		ExitCode int
		Error    string
	}
	RestartCount int
	Config       struct{ Labels map[string]string }
}

// inspect returns the container, nil when there is none.
func (s *site) inspect(ctx context.Context) (*container, error) {
	said, err := s.docker(ctx, "container", "inspect", "--format", "{{json .}}", containerName)
	if exit, failed := errors.AsType[*sshexec.ExitError](err); failed && strings.Contains(exit.Stderr, "No such container") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var c container
	if err := json.Unmarshal([]byte(said), &c); err != nil {
		return nil, fmt.Errorf("registry: docker container inspect on %s: %w", s.node.Label(), err)
	}
	return &c, nil
}

// runContainer runs the container with the settings of the request. It replaces any container of this name with other
// settings: the name is Tacker's for this purpose, and the images are on the volume.
func (s *site) runContainer(ctx context.Context, image string) error {
	args, err := s.settings(ctx, image)
	if err != nil {
		return err
	}
	found, err := s.inspect(ctx)
	switch {
	case err != nil:
		return err
	case found == nil:
	case found.Image != image || found.Config.Labels[settingsLabel] != args.digest:
		if _, err := s.docker(ctx, "container", "rm", "--force", containerName); err != nil {
			return err
		}
	case found.State.Running:
		return nil
	default:
		_, err := s.docker(ctx, "container", "start", containerName)
		return err
	}
	_, err = s.docker(ctx, append([]string{"run", "--detach", "--name", containerName, "--restart=always",
		"--label", settingsLabel + "=" + args.digest}, args.argv...)...)
	return err
}

// settings are the arguments of docker run, and a digest of them and of the files that the container reads when it
// starts.
type settings struct {
	argv   []string
	digest string
}

// The port and the directories inside the container (distribution, "Deploy a registry server").
const (
	innerPort   = "5000"
	innerVolume = "/var/lib/registry"
)

func (s *site) settings(ctx context.Context, image string) (settings, error) {
	var out settings
	out.argv = []string{"--publish", strconv.Itoa(s.p.Port) + ":" + innerPort, "--volume", s.p.Volume.Path + ":" + innerVolume}
	env := []string{"REGISTRY_HTTP_ADDR=0.0.0.0:" + innerPort, "REGISTRY_STORAGE_DELETE_ENABLED=true"}
	if s.p.TLS != nil {
		env = append(env, "REGISTRY_HTTP_TLS_CERTIFICATE="+certificateFile, "REGISTRY_HTTP_TLS_KEY="+keyFile)
	}
	if len(s.p.Users) > 0 {
		env = append(env, "REGISTRY_AUTH=htpasswd", "REGISTRY_AUTH_HTPASSWD_REALM=registry", "REGISTRY_AUTH_HTPASSWD_PATH="+usersFile)
	}
	files := s.p.files()
	if len(files) > 0 {
		out.argv = append(out.argv, "--volume", filesDir+":"+filesDir+":ro")
	}
	for _, variable := range env {
		out.argv = append(out.argv, "--env", variable)
	}
	out.argv = append(out.argv, image)

	h := sha256.New()
	_, _ = io.WriteString(h, strings.Join(out.argv, "\x00"))
	for _, name := range files {
		content, _, err := s.machine.Read(ctx, name)
		if err != nil {
			return out, err
		}
		_, _ = fmt.Fprintf(h, "\x00%s %d ", name, len(content))
		_, _ = h.Write(content)
	}
	out.digest = hex.EncodeToString(h.Sum(nil))
	return out, nil
}
