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

// Spec is the configuration of a host.
type Spec struct {
	Name string // host name
	// Address in 10.213.0.0/16. Default: a free one.
	Address netip.Addr
	// User is a user who may log in with Password and become root with sudo.
	User, Password string
	// AskPassword makes sudo ask for the password.
	AskPassword bool
	// AuthorizedKeys are public keys with which User may log in.
	AuthorizedKeys []string
	// Config holds lines of sshd_config. They override the lines that every host has.
	Config []string
	// NoSFTP leaves the SFTP subsystem out of sshd_config.
	NoSFTP bool
	// Files are written before sshd starts. Keys are absolute paths, values are contents. The owner is root, the mode 0644.
	Files map[string]string
	// Systemd makes systemd the first process that the host sees, and sshd its ssh.service.
	Systemd bool
	// Layer is a directory whose files replace files of the machine, or of Tree. Default: none.
	Layer string
	// Tree is a Debian file system that the host boots instead of the file system of the machine. The host then runs
	// systemd and has the rights of a virtual machine, so that container runtimes work. Their data are on disk, not in
	// memory.
	Tree string
	// Data holds directories of this machine that are copied to a host with a Tree. Keys are the paths on the host.
	Data map[string]string
	// Devices holds block devices of this machine, for example from Network.Disk, for a host with a Tree. Keys are the
	// names on the host. The content of a device stays when the host is closed.
	Devices map[string]string
	// Off creates the host without a running sshd: it refuses connections until Boot is called.
	Off bool
	// Saved is a directory to which Host.Save has moved the files of a host with the same Tree, on the same file system as
	// Network.Dir. The host has copies of them, and what Layer, Data and Files say is not done again.
	Saved string
}

// Host is a running host.
type Host struct {
	Spec

	network *Network
	dir     string
	device  string // on the machine
	unplug  func() // removes the device
	init    *exec.Cmd
	orders  io.WriteCloser
	said    bytes.Buffer
	ended   chan struct{}
	stop    sync.Once
}

// bootLimit is the longest time until a host is ready to start sshd; copyLimit that of a host that was saved.
const (
	bootLimit = 3 * time.Minute
	copyLimit = 10 * time.Minute
)

// Create creates a host and, unless Spec.Off is set, starts sshd. It does not wait until sshd listens: see Host.Listening.
// The caller closes the host.
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
	if s.Saved != "" {
		s.Layer, s.Data = "", map[string]string{images: filepath.Join(s.Saved, "data", images)}
	}
	h := &Host{Spec: s, network: n, dir: dir, ended: make(chan struct{})}
	h.unplug = func() {
		_ = ip(context.WithoutCancel(ctx), "link", "del", h.device) // fails if the kernel has removed the device
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
	limit := bootLimit
	if h.Saved != "" {
		limit = copyLimit
	}
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
	case <-time.After(limit):
		return fmt.Errorf("vmhost: host %s is not ready after %s", h.Name, limit)
	}
	if h.Saved == "" {
		err = h.configure()
	}
	if err != nil || h.Off {
		return err
	}
	return h.Boot()
}

// script returns the arguments of bash for the first process of the host.
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
		arguments = append(arguments, h.Tree, strings.Join(made, ":"), strings.Join(devices, " "), h.Saved)
		for to, from := range h.Data {
			arguments = append(arguments, from+":"+to)
		}
		return append([]string{"-c", machineScript}, arguments...), err
	}
	group, err := h.controlGroup()
	return append([]string{"-c", initScript}, append(arguments, group)...), err
}

// await reports whether the host has started, and waits for its end.
func (h *Host) await(answers io.Reader, ready chan<- bool) {
	r := bufio.NewReader(answers)
	line, err := r.ReadString('\n')
	ready <- err == nil && line == "ready\n"
	_, _ = io.Copy(io.Discard, r)
	_ = h.init.Wait()
	close(h.ended)
}

// connect gives the host its network device. The hardware address is computed from the IP address, as the port of a cloud
// keeps its hardware address. Otherwise neighbours would send to the address of a replaced host for ten seconds.
func (h *Host) connect(ctx context.Context) error {
	h.device = h.network.device()
	a := h.Address.As4()
	return errors.Join(
		ip(ctx, "link", "add", h.device, "type", "veth", "peer", "name", "eth0", "address", fmt.Sprintf("02:76:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3]),
			"netns", strconv.Itoa(h.init.Process.Pid)),
		ip(ctx, "link", "set", h.device, "master", h.network.bridge, "up"),
		h.forgetPredecessor(ctx))
}

// forgetPredecessor removes the address from the neighbour table of the bridge: an earlier host with the address had
// another device. Flushing fails if the kernel removes the entry at the same time; then the function tries again.
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

// Boot starts sshd or systemd on a host that was created with Spec.Off. It does not wait until sshd listens.
func (h *Host) Boot() error { return h.order("boot") }

// Reboot ends all processes of the host at once and starts the host again, with another boot id. Files outside of /run,
// /tmp and /dev/shm stay. Reboot does not wait.
func (h *Host) Reboot() error { return h.order("reboot") }

// Kill ends all processes of the host at once, with SIGKILL. The address stays reserved until Close. A second Kill does
// nothing.
func (h *Host) Kill() (err error) {
	h.stop.Do(func() {
		if h.init.Process != nil {
			// The kernel ends a whole process namespace with its first process.
			err = h.init.Process.Kill()
			<-h.ended
			// The kernel removes the network of the host some time later. Until then the dead host would answer, even if
			// another host has its address.
			h.unplug()
		}
	})
	return err
}

// Close kills the host, deletes its files and control groups, and releases its address.
func (h *Host) Close() error {
	err := h.Kill()
	h.network.release(h.Address)
	return errors.Join(err, removeGroups(filepath.Join(h.network.groups, filepath.Base(h.dir))), os.RemoveAll(h.dir))
}

// FS returns the files of the host as its user root sees them. Absolute symbolic links lead to files of the machine.
func (h *Host) FS() afero.Fs { return afero.NewBasePathFs(afero.NewOsFs(), h.root()) }

func (h *Host) root() string {
	root := fmt.Sprintf("/proc/%d/root", h.init.Process.Pid)
	if h.Tree != "" {
		root += h.dir + "/root"
	}
	return root
}

// HostKey returns the public SSH host key as a line of authorized_keys.
func (h *Host) HostKey() (string, error) {
	line, err := afero.ReadFile(h.FS(), "/etc/ssh/ssh_host_ed25519_key.pub")
	return strings.TrimSpace(string(line)), err
}

// Log returns the log of the host's sshd.
func (h *Host) Log() string {
	text, err := afero.ReadFile(h.FS(), "/var/log/sshd.log")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Console returns the console output of a host with a Tree since its last boot.
func (h *Host) Console() string {
	text, err := os.ReadFile(filepath.Join(h.dir, "console.log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
