package sshtest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/spf13/afero"
)

// Config describes a host. The zero value is usable.
type Config struct {
	// Name is the hostname. Default "host".
	Name string
	// User and Password are the credentials of the only user who can log in. Default "ubuntu" and "ubuntu".
	User, Password string
	// AuthorizedKeys are the public keys, as lines of an authorized_keys file, that may log in as User.
	AuthorizedKeys []string
	// SudoPassword is the password for sudo. Default: sudo does not ask for a password.
	SudoPassword string
	// Dir is an existing directory of the real machine for the files of the host. Default: the files are in memory.
	Dir string
	// TrustedUserCAKeys are the public keys, in authorized_keys form, of certificate authorities. A certificate that one of them
	// signed may log in as the users that the certificate names (TrustedUserCAKeys of sshd).
	TrustedUserCAKeys []string
	// Challenge are the questions of keyboard-interactive, asked in one round. Default: the password.
	Challenge []Question
	// AuthenticationMethods are the methods that a login needs, all of them and in this order. Values: "publickey", "password" and
	// "keyboard-interactive". Default: any one method is enough.
	AuthenticationMethods []string
	// Users are other users of the host, for sudo -u and chown. They cannot log in.
	Users []string
	// HostKey is the private host key in PEM form. Default: a new ed25519 key.
	HostKey []byte
	// HostKeys are further private host keys in PEM form, of other types.
	HostKeys [][]byte
	// HostCertificates are certificates of the host keys, in the form of an ssh_host_*_key-cert.pub file. See Key.SignHost.
	HostCertificates []string
	// Clock returns the time that date prints and that new files get. Default: time.Now.
	Clock func() time.Time
	// Commands are programs beside the built-in ones, by name. A built-in program of the same name is replaced. A nil Command
	// removes the program.
	Commands map[string]Command
	// Dial opens the connections that clients request by port forwarding (direct-tcpip). Default: the host refuses forwarding. With
	// new(net.Dialer).DialContext the host is a jump host.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Unexpected is called for programs that are neither built in nor in Commands. Start sets it to fail the test.
	Unexpected func(argv []string)

	ownClock bool // Clock is not time.Now
}

// Host is an SSH host on a loopback port. It is safe for concurrent use.
type Host struct {
	config   Config
	logins   *logins
	listener net.Listener
	files    *files
	users    *users
	faults   *faults
	recorder recorder
	builtins map[string]Command

	processes *processes

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup
	locks   sync.Map // of files, for flock: name to chan struct{}

	mu       sync.Mutex
	keys     hostKeys
	clients  map[*client]struct{}
	startups int // connections that have not logged in yet
}

// New creates a host and starts it. The caller closes the host.
func New(c Config) (*Host, error) {
	c = c.withDefaults()
	h := &Host{config: c, builtins: builtins(), faults: newFaults(), users: newUsers(c), clients: map[*client]struct{}{}}
	var err error
	if h.keys, err = newHostKeys(c); err != nil {
		return nil, err
	}
	if h.logins, err = newLogins(c); err != nil {
		return nil, err
	}
	if h.files, err = newFiles(c, h.faults); err != nil {
		return nil, fmt.Errorf("sshtest: files: %w", err)
	}
	var listening net.ListenConfig
	if h.listener, err = listening.Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
		_ = h.files.close()
		return nil, fmt.Errorf("sshtest: %w", err)
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.processes = newProcesses(h.ctx)
	h.files.procFs = h.processes.procFs
	h.running.Go(h.accept)
	return h, nil
}

// Start creates a host, starts it, and closes it at the end of the test. Running a program that is neither built in nor in
// c.Commands fails the test.
func Start(t testing.TB, c Config) *Host {
	t.Helper()
	if c.Unexpected == nil {
		name := c.withDefaults().Name
		c.Unexpected = func(argv []string) { t.Errorf("host %s: unexpected command %q", name, argv) }
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "host"
	}
	if c.User == "" {
		c.User = "ubuntu"
	}
	if c.Password == "" {
		c.Password = "ubuntu"
	}
	c.ownClock = c.Clock != nil
	if !c.ownClock {
		c.Clock = time.Now
	}
	return c
}

// Addr returns the address at which the host listens, as host:port.
func (h *Host) Addr() string { return h.listener.Addr().String() }

// Name returns the hostname.
func (h *Host) Name() string { return h.config.Name }

// FS returns the files of the host with the permissions of root. Paths are absolute. /proc is not included.
func (h *Host) FS() afero.Fs { return h.files.ofTest() }

// Commands returns the programs that ran so far, in the order of their start.
func (h *Host) Commands() []Record { return h.recorder.all() }

// Transfers returns the SFTP requests so far that opened or changed files.
func (h *Host) Transfers() []Transfer { return h.recorder.allTransfers() }

// OnCommand sets a function that is called before each program starts, in the goroutine of the program. If fn cuts the
// connections, the program does not start. nil removes the function.
func (h *Host) OnCommand(fn func(Record)) { h.recorder.setHook(fn) }

// CutConnections drops all open connections at once and kills the programs that run on them.
func (h *Host) CutConnections() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		c.cut()
	}
}

// Reboot ends all processes, cuts the connections and starts the host again, with the same files except those below
// /run. The host listens all the time. To test a slow reboot, call Refuse before and after Reboot.
func (h *Host) Reboot() error {
	h.CutConnections()
	h.processes.reboot(h.ctx)
	return h.files.clear("/run")
}

// spawn runs fn in a goroutine that Close waits for. If the host is closed, spawn returns false and does not run fn.
func (h *Host) spawn(fn func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return false
	}
	h.running.Go(fn)
	return true
}

// Close stops listening, cuts all connections and waits for their processes. Further calls only wait.
func (h *Host) Close() error {
	h.mu.Lock()
	closed := h.ctx.Err() != nil
	h.cancel()
	h.mu.Unlock()
	if closed {
		h.running.Wait()
		return nil
	}
	err := h.listener.Close()
	h.CutConnections()
	h.running.Wait()
	if closing := h.files.close(); err == nil {
		err = closing
	}
	return err
}
