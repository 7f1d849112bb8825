package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Local returns this machine as a host, so that code for SSH works locally in the same way: /bin/sh runs commands as the user of this
// process, Root and User use sudo, files are replaced atomically, and jobs outlive this process. The name of the host is
// "localhost". The host has no connection: Wait returns at once, and DialContext dials directly.
func (p *Pool) Local(sudo Sudo) *Host {
	t := Target{ID: "localhost", Name: "localhost", Sudo: sudo}
	if self, err := user.Current(); err == nil {
		t.User = self.Username
	}
	if os.Geteuid() == 0 {
		t.User = "root"
	}
	return &Host{pool: p, target: t, machine: local{}}
}

// local is this machine.
type local struct{}

func (local) session(ctx context.Context, _ bool) (session, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return &localSession{closed: make(chan struct{})}, nil
}

func (local) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// localSession is a command on this machine. Like a session over SSH, it ends when the command has ended and no process has its
// output open.
type localSession struct {
	mu     sync.Mutex
	cmd    *exec.Cmd // nil until it has started
	files  []*os.File
	conn   net.Conn       // to the subsystem; nil for a command
	ends   sync.WaitGroup // goroutines that copy the output
	closed chan struct{}
	once   sync.Once
}

// pipe creates a pipe whose ends close with the session.
func (s *localSession) pipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil {
		s.files = append(s.files, r, w)
	}
	return r, w, err
}

func (s *localSession) stdin() (io.WriteCloser, error) {
	_, w, err := s.pipe()
	return w, err
}

func (s *localSession) start(line string, stdout, stderr io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	outR, outW, err := s.pipe()
	if err != nil {
		return err
	}
	errR, errW, err := s.pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-c", line) //nolint:gosec,noctx // the line is quoted; signals to the process group end the command
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.files[0], outW, errW
	cmd.SysProcAttr = ownGroup()
	err = cmd.Start()
	for _, theirs := range []*os.File{s.files[0], outW, errW} {
		_ = theirs.Close()
	}
	if err != nil {
		return err
	}
	s.cmd = cmd
	s.ends.Go(func() { _, _ = io.Copy(stdout, outR) })
	s.ends.Go(func() { _, _ = io.Copy(stderr, errR) })
	return nil
}

var errSessionClosed = errors.New("session is closed")

func (s *localSession) wait() error {
	ended := make(chan error, 1)
	go func() {
		err := s.cmd.Wait()
		s.ends.Wait()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-s.closed: // do not wait for a process that could not be killed
		return errSessionClosed
	}
}

// subsystem serves the files of this machine within this process.
func (s *localSession) subsystem(name string) (io.WriteCloser, io.Reader, error) {
	if name != "sftp" {
		return nil, nil, fmt.Errorf("this machine has no subsystem %q", name)
	}
	ours, theirs := net.Pipe()
	server, err := sftp.NewServer(theirs)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = ours
	s.ends.Go(func() { _ = server.Serve() })
	return ours, ours, nil
}

func (s *localSession) signal(signal ssh.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		signalGroup(s.cmd.Process.Pid, signal)
	}
	return s.cmd != nil
}

// answers returns a closed channel, because this machine always answers.
func (s *localSession) answers() <-chan struct{} {
	answered := make(chan struct{})
	close(answered)
	return answered
}

func (s *localSession) close() {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.closed)
		for _, f := range s.files {
			_ = f.Close()
		}
		if s.conn != nil {
			_ = s.conn.Close()
		}
	})
}
