package vmhost

import (
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
)

// baseConfig is what sshd of every host is told, unless Spec.Config says otherwise: of two settings of the
// same name sshd takes the first.
var baseConfig = []string{
	"HostKey /etc/ssh/ssh_host_ed25519_key",
	"UsePAM yes",
	"PasswordAuthentication yes",
	"KbdInteractiveAuthentication no",
	"UseDNS no",
	"MaxStartups 100",
}

// configure writes what the host has of its own beyond what init.sh makes.
func (h *Host) configure() error {
	lines := slices.Concat(h.Config, baseConfig)
	if !h.NoSFTP {
		lines = append(lines, "Subsystem sftp /usr/lib/openssh/sftp-server")
	}
	if err := h.write("/etc/ssh/sshd_host_config", strings.Join(lines, "\n")+"\n"); err != nil {
		return err
	}
	for name, content := range h.Files {
		if err := h.write(name, content); err != nil {
			return err
		}
	}
	if len(h.AuthorizedKeys) == 0 {
		return nil
	}
	return h.write("/home/"+h.User+"/.ssh/authorized_keys", strings.Join(h.AuthorizedKeys, "\n")+"\n")
}

func (h *Host) write(name, content string) error {
	if err := h.FS().MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return afero.WriteFile(h.FS(), name, []byte(content), 0o644)
}
