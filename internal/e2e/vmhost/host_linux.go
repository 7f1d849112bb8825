package vmhost

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/afero"
)

//go:embed init.sh
var initScript string

// Spec says what a host shall be like.
type Spec struct {
	Name string // host name
	// Address in 10.213.0.0/16. Default: a free one.
	Address netip.Addr
	// User may log in with Password and become root with sudo.
	User, Password string
	// AskPassword makes sudo ask for the password.
	AskPassword bool
	// Layer is a directory whose files are laid over those of the machine. Default: none.
	Layer string
	// Off leaves sshd out until Boot: connections are refused.
	Off bool
}

// Host is a running host.
type Host struct {
	Spec

	network *Network
	dir     string
	init    *exec.Cmd
	orders  io.WriteCloser
	said    bytes.Buffer
	ended   chan struct{}
	stop    sync.Once
}

// bootLimit bounds how long a host may take until it is ready for sshd.
const bootLimit = 30 * time.Second

// Create makes a host and, unless it is Off, starts sshd, without waiting until that listens. Close
// it.
func (n *Network) Create(ctx context.Context, s Spec) (*Host, error) {
	if !s.Address.IsValid() {
		s.Address = n.address()
	} else if err := n.take(s.Address); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(stateDir, "host-*")
	if err != nil {
		return nil, err
	}
	h := &Host{Spec: s, network: n, dir: dir, ended: make(chan struct{})}
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *Host) start(ctx context.Context) error {
	rule := "ALL=(ALL:ALL) NOPASSWD: ALL"
	if h.AskPassword {
		rule = "ALL=(ALL:ALL) ALL"
	}
	h.init = exec.CommandContext(context.WithoutCancel(ctx), "bash", "-c", initScript, "init", h.dir, h.Layer, h.Name, //nolint:gosec // our own script
		netip.PrefixFrom(h.Address, subnet.Bits()).String(), gateway.String(), h.User, rule)
	h.init.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
		syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	h.init.Stderr = &h.said
	var err error
	if h.orders, err = h.init.StdinPipe(); err != nil {
		return err
	}
	answers, err := h.init.StdoutPipe()
	if err != nil {
		return err
	}
	if err := h.init.Start(); err != nil {
		return err
	}
	ready := make(chan bool, 1)
	go h.await(answers, ready)
	if err := h.connect(ctx); err != nil {
		return err
	}
	if err := h.order(h.Password); err != nil {
		return err
	}
	select {
	case up := <-ready:
		if !up {
			<-h.ended
			return fmt.Errorf("vmhost: host %s did not come up:\n%s", h.Name, h.said.String())
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(bootLimit):
		return fmt.Errorf("vmhost: host %s is not ready after %s", h.Name, bootLimit)
	}
	if h.Off {
		return nil
	}
	return h.Boot()
}

// await tells whether the host came up, and waits for its end.
func (h *Host) await(answers io.Reader, ready chan<- bool) {
	r := bufio.NewReader(answers)
	line, err := r.ReadString('\n')
	ready <- err == nil && line == "ready\n"
	_, _ = io.Copy(io.Discard, r)
	_ = h.init.Wait()
	close(h.ended)
}

// connect gives the host its network device.
func (h *Host) connect(ctx context.Context) error {
	device := h.network.device()
	return errors.Join(
		ip(ctx, "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(h.init.Process.Pid)),
		ip(ctx, "link", "set", device, "master", bridge, "up"),
		h.forgetPredecessor(ctx))
}

// forgetPredecessor makes the bridge look for the address again: a host that had it before had another device.
// The entry can go by itself meanwhile, and flushing it fails then.
func (h *Host) forgetPredecessor(ctx context.Context) (err error) {
	for range 3 {
		if err = ip(ctx, "neigh", "flush", "to", h.Address.String(), "dev", bridge); err == nil {
			return nil
		}
	}
	return err
}

func (h *Host) order(line string) error {
	_, err := io.WriteString(h.orders, line+"\n")
	return err
}

// Boot starts sshd on a host that is Off.
func (h *Host) Boot() error { return h.order("sshd") }

// Kill ends all processes of the host at once, with SIGKILL. Its address stays taken. Killing it again does
// nothing.
func (h *Host) Kill() (err error) {
	h.stop.Do(func() {
		if h.init.Process != nil {
			// The kernel ends a whole process namespace with its first process.
			err = h.init.Process.Kill()
			<-h.ended
		}
	})
	return err
}

// Close kills the host and gives up what it had.
func (h *Host) Close() error {
	err := h.Kill()
	h.network.release(h.Address)
	return errors.Join(err, os.RemoveAll(h.dir))
}

// FS is the files of the host, as its root sees them. Absolute symbolic links lead out of it.
func (h *Host) FS() afero.Fs { return afero.NewBasePathFs(afero.NewOsFs(), h.root()) }

func (h *Host) root() string { return fmt.Sprintf("/proc/%d/root", h.init.Process.Pid) }

// HostKey is the line of the host's public key.
func (h *Host) HostKey() (string, error) {
	line, err := afero.ReadFile(h.FS(), "/etc/ssh/ssh_host_ed25519_key.pub")
	return strings.TrimSpace(string(line)), err
}

// Processes lists the command lines that run on the host, arguments separated by blanks.
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

// Log is what sshd of the host has said.
func (h *Host) Log() string {
	text, err := afero.ReadFile(h.FS(), "/var/log/sshd.log")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
