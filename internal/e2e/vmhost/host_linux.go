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

//go:embed machine.sh
var machineScript string

// Spec says what a host shall be like.
type Spec struct {
	Name string // host name
	// Address in 10.213.0.0/16. Default: a free one.
	Address netip.Addr
	// User may log in with Password and become root with sudo.
	User, Password string
	// AskPassword makes sudo ask for the password.
	AskPassword bool
	// AuthorizedKeys are public keys that User may log in with.
	AuthorizedKeys []string
	// Config are lines of sshd_config. They win over those that every host has.
	Config []string
	// NoSFTP leaves the SFTP subsystem out of sshd_config.
	NoSFTP bool
	// Files are written before sshd starts: content by absolute path, owned by root, mode 0644.
	Files map[string]string
	// Systemd makes systemd the first process that the host sees, and sshd its ssh.service.
	Systemd bool
	// Layer is a directory whose files are laid over those of the machine, or of Tree. Default: none.
	Layer string
	// Tree is a Debian file system to boot instead of that of the machine: under systemd, with all that a virtual
	// machine may do, so that container runtimes run on it. What they keep is on disk, not in memory.
	Tree string
	// Data are directories that a host with a Tree gets a copy of: where from, by where to.
	Data map[string]string
	// Devices are block devices of this machine, such as a Disk, that a host with a Tree gets, by their names on the
	// host. What is on them outlives the host.
	Devices map[string]string
	// Off leaves sshd out until Boot: connections are refused.
	Off bool
}

// Host is a running host.
type Host struct {
	Spec

	network *Network
	dir     string
	device  string // on the machine
	unplug  func() // takes the device away
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
	dir, err := os.MkdirTemp(n.stateDir, "host-*")
	if err != nil {
		return nil, err
	}
	h := &Host{Spec: s, network: n, dir: dir, ended: make(chan struct{})}
	h.unplug = func() {
		_ = ip(context.WithoutCancel(ctx), "link", "del", h.device) // it may be gone by itself
	}
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *Host) start(ctx context.Context) error {
	script, err := h.script()
	if err != nil {
		return err
	}
	h.init = exec.CommandContext(context.WithoutCancel(ctx), "bash", script...) //nolint:gosec // our own scripts
	h.init.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
		syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	h.init.Stderr = &h.said
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
	if err := h.configure(); err != nil || h.Off {
		return err
	}
	return h.Boot()
}

// script is the first process of the host, for bash.
func (h *Host) script() ([]string, error) {
	rule := "ALL=(ALL:ALL) NOPASSWD: ALL"
	if h.AskPassword {
		rule = "ALL=(ALL:ALL) ALL"
	}
	arguments := []string{"init", h.dir, h.Layer, h.Name, netip.PrefixFrom(h.Address, h.network.subnet.Bits()).String(), h.network.Gateway().String(), h.User, rule}
	if h.Tree != "" {
		made, err := h.controlGroups()
		var devices []string
		for as, device := range h.Devices {
			devices = append(devices, device+":"+as)
		}
		arguments = append(arguments, h.Tree, strings.Join(made, ":"), strings.Join(devices, " "))
		for to, from := range h.Data {
			arguments = append(arguments, from+":"+to)
		}
		return append([]string{"-c", machineScript}, arguments...), err
	}
	group, err := h.controlGroup()
	return append([]string{"-c", initScript}, append(arguments, group)...), err
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

// connect gives the host its network device. The hardware address follows from the address, as those of a cloud stay with
// their ports: neighbours that knew a host which this one replaces would send to that for ten seconds.
func (h *Host) connect(ctx context.Context) error {
	h.device = h.network.device()
	a := h.Address.As4()
	return errors.Join(
		ip(ctx, "link", "add", h.device, "type", "veth", "peer", "name", "eth0", "address", fmt.Sprintf("02:76:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3]),
			"netns", strconv.Itoa(h.init.Process.Pid)),
		ip(ctx, "link", "set", h.device, "master", h.network.bridge, "up"),
		h.forgetPredecessor(ctx))
}

// forgetPredecessor makes the bridge look for the address again: a host that had it before had another device.
// The entry can go by itself meanwhile, and flushing it fails then.
func (h *Host) forgetPredecessor(ctx context.Context) (err error) {
	for range 3 {
		if err = ip(ctx, "neigh", "flush", "to", h.Address.String(), "dev", h.network.bridge); err == nil {
			return nil
		}
	}
	return err
}

func (h *Host) order(line string) error {
	_, err := io.WriteString(h.orders, line+"\n")
	return err
}

// Boot starts sshd, or systemd, on a host that is Off. It does not wait until it listens.
func (h *Host) Boot() error { return h.order("boot") }

// Reboot ends all processes of the host at once and starts it again, with another boot id. Files outside of
// /run, /tmp and /dev/shm stay. It waits for nothing.
func (h *Host) Reboot() error { return h.order("reboot") }

// Kill ends all processes of the host at once, with SIGKILL. Its address stays taken. Killing it again does
// nothing.
func (h *Host) Kill() (err error) {
	h.stop.Do(func() {
		if h.init.Process != nil {
			// The kernel ends a whole process namespace with its first process.
			err = h.init.Process.Kill()
			<-h.ended
			// The kernel takes the network of the host away when it finds time to: until then the dead host answers,
			// also after its address has been given to another one.
			h.unplug()
		}
	})
	return err
}

// Close kills the host and gives up what it had.
func (h *Host) Close() error {
	err := h.Kill()
	h.network.release(h.Address)
	return errors.Join(err, removeGroups(filepath.Join(h.network.groups, filepath.Base(h.dir))), os.RemoveAll(h.dir))
}

// FS is the files of the host, as its root sees them. Absolute symbolic links lead out of it.
func (h *Host) FS() afero.Fs { return afero.NewBasePathFs(afero.NewOsFs(), h.root()) }

func (h *Host) root() string {
	root := fmt.Sprintf("/proc/%d/root", h.init.Process.Pid)
	if h.Tree != "" {
		root += h.dir + "/root"
	}
	return root
}

// HostKey is the line of the host's public key.
func (h *Host) HostKey() (string, error) {
	line, err := afero.ReadFile(h.FS(), "/etc/ssh/ssh_host_ed25519_key.pub")
	return strings.TrimSpace(string(line)), err
}

// Log is what sshd of the host has said.
func (h *Host) Log() string {
	text, err := afero.ReadFile(h.FS(), "/var/log/sshd.log")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Console is what a host with a Tree has printed since it was last booted.
func (h *Host) Console() string {
	text, err := os.ReadFile(filepath.Join(h.dir, "console.log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
