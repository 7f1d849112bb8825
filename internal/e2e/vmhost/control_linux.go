package vmhost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Exec runs a program on the host as root, without SSH, and returns its output. The program also has the capabilities that
// the host's user root lacks.
func (h *Host) Exec(ctx context.Context, argv ...string) (string, error) {
	pid, err := h.first()
	if err != nil {
		return "", fmt.Errorf("vmhost: %s: %w", h.Name, err)
	}
	args := append([]string{"--target", strconv.Itoa(pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--"}, argv...)
	cmd := exec.CommandContext(ctx, "nsenter", args...) //nolint:gosec // our own arguments
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("vmhost: %s: %s: %w: %s", h.Name, strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// first returns the process id, on the machine, of the host's process 1.
func (h *Host) first() (int, error) {
	pid, below := h.init.Process.Pid, 0
	switch {
	case h.Tree != "":
		below = 3 // bash, systemd-nspawn, systemd
	case h.Systemd:
		below = 2 // unshare, systemd
	}
	for range below {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			return 0, err
		}
		if pid, err = strconv.Atoi(strings.TrimSpace(string(children))); err != nil {
			return 0, errors.New("systemd does not run")
		}
	}
	return pid, nil
}

// Listening waits until sshd listens.
func (h *Host) Listening(ctx context.Context) error {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(h.Address.String(), "22"))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("vmhost: %s: %w: %w", h.Name, context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// RestartSSH restarts sshd like a restart of its service: the listening process is replaced, sessions continue.
func (h *Host) RestartSSH(ctx context.Context) error {
	if h.Systemd {
		_, err := h.Exec(ctx, "systemctl", "restart", "ssh")
		return err
	}
	// Right after another restart the file with the process id may not exist yet.
	if _, err := h.Exec(ctx, "sh", "-c", `until p=$(cat /run/sshd.pid 2>/dev/null); do sleep 0.01; done
		kill "$p" && while kill -0 "$p" 2>/dev/null; do sleep 0.01; done`); err != nil {
		return err
	}
	if err := h.Boot(); err != nil {
		return err
	}
	return h.Listening(ctx)
}

// CutConnections kills the processes that serve the SSH connections of the host, and so ends the connections. Programs that
// were started over these connections continue.
func (h *Host) CutConnections(ctx context.Context) error {
	// sshd: user [priv] and sshd: user@notty; since OpenSSH 9.8 sshd-session. The listener keeps its arguments.
	_, err := h.Exec(ctx, "sh", "-c", `for p in /proc/[0-9]*; do
		read -r line <"$p/cmdline" || true
		case $line in *"[listener]"*) ;; "sshd: "*|"sshd-session: "*) kill -9 "${p#/proc/}" ;; esac
	done 2>/dev/null; true`)
	return err
}

// ReplaceHostKey generates a new host key of the same type and restarts sshd.
func (h *Host) ReplaceHostKey(ctx context.Context) error {
	if _, err := h.Exec(ctx, "sh", "-ec", `cd /etc/ssh; rm ssh_host_ed25519_key*; exec ssh-keygen -q -t ed25519 -N "" -f ssh_host_ed25519_key`); err != nil {
		return err
	}
	return h.RestartSSH(ctx)
}

// SetCable simulates unplugging the network cable of the host, or plugging it in again. While it is unplugged, packets in
// both directions are lost without an error.
func (h *Host) SetCable(ctx context.Context, plugged bool) error {
	state := "down"
	if plugged {
		state = "up"
	}
	return ip(ctx, "link", "set", h.device, state)
}

// SetFrozen stops all processes of the host (SIGSTOP) or continues them (SIGCONT). The kernel of a frozen host still
// acknowledges packets.
func (h *Host) SetFrozen(ctx context.Context, frozen bool) error {
	signal := "CONT"
	if frozen {
		signal = "STOP"
	}
	_, err := h.Exec(ctx, "bash", "-c", `kill -s "$1" -- -1`, "bash", signal)
	return err
}

// Processes lists the command lines of the host's processes, arguments separated by blanks.
func (h *Host) Processes() ([]string, error) {
	files, err := filepath.Glob(h.root() + "/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range files {
		line, err := os.ReadFile(name) //nolint:gosec // below /proc
		if err == nil && len(line) > 0 {
			out = append(out, strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return out, nil
}
