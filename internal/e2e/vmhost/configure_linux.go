package vmhost

import (
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
)

// baseConfig holds the lines of sshd_config of every host. Spec.Config comes before them: sshd uses the first of two lines
// with the same keyword.
var baseConfig = []string{
	"HostKey /etc/ssh/ssh_host_ed25519_key",
	"UsePAM yes",
	"PasswordAuthentication yes",
	"KbdInteractiveAuthentication no",
	"UseDNS no",
	"MaxStartups 100",
}

// configure writes the files that depend on the Spec, and that init.sh does not write.
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
