// Package programs runs, in the test process, the work of stand-in programs on real hosts.
package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/e2e/stub/wire"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Machine holds the programs of one host.
type Machine struct {
	Name     string
	User     string // name of the login user; uid 0 is root
	Commands map[string]sshtest.Command
	Files    afero.Fs
	Observe  func(Record) // called for every program before the program does anything, and after it has ended
}

// Record describes one run of a program.
type Record struct {
	Host, User string
	Argv       []string
	Env        []string
	Start, End time.Time // End is zero while the program runs
	Code       int
	Killed     bool // the program was killed before its work was done
}

// Server runs the programs of all hosts.
type Server struct {
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	machines map[netip.Addr]Machine
}

// Listen starts a server at the gateway of the hosts. The caller closes the server.
func Listen(ctx context.Context, gateway netip.Addr) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", netip.AddrPortFrom(gateway, wire.Port).String())
	if err != nil {
		return nil, err
	}
	s := &Server{listener: listener, machines: map[netip.Addr]Machine{}}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.running.Go(s.accept)
	return s, nil
}

// Close ends all programs.
func (s *Server) Close() error {
	s.cancel()
	err := s.listener.Close()
	s.running.Wait()
	return err
}

// Attach sets the programs of the host with the address.
func (s *Server) Attach(addr netip.Addr, m Machine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines[addr] = m
}

// Detach removes the programs of the host.
func (s *Server) Detach(addr netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.machines, addr)
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() {
			ctx, cancel := context.WithCancel(s.ctx)
			defer cancel()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer conn.Close()
			s.serve(ctx, cancel, conn)
		})
	}
}

// serve runs one program.
func (s *Server) serve(ctx context.Context, cancel context.CancelFunc, conn net.Conn) {
	from := json.NewDecoder(conn)
	var call wire.Call
	if err := from.Decode(&call); err != nil {
		return
	}
	to := &replies{to: json.NewEncoder(conn)}
	m, known := s.machine(conn.RemoteAddr())
	if !known {
		to.exit(121, "the test process does not know this host")
		return
	}
	command := m.Commands[call.Args[0]]
	if command == nil {
		to.exit(127, call.Args[0]+": command not found")
		return
	}
	stdin := &stdin{to: to}
	stdin.read, stdin.write = io.Pipe()
	defer stdin.read.Close()
	s.running.Go(func() { receive(from, stdin.write, cancel) }) // ends with the connection
	p := process(m, call, stdin, to)
	r := Record{Host: m.Name, User: p.User, Argv: call.Args, Env: call.Environ, Start: time.Now()}
	m.Observe(r)
	code := command(ctx, p)
	r.End, r.Code, r.Killed = time.Now(), code, ctx.Err() != nil
	m.Observe(r)
	to.exit(code, "")
}

func (s *Server) machine(remote net.Addr) (Machine, bool) {
	at, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return Machine{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, known := s.machines[at.Addr().Unmap()]
	return m, known
}

// receive receives the standard input of the program. When the connection ends, the program has ended.
func receive(from *json.Decoder, to *io.PipeWriter, ended context.CancelFunc) {
	for {
		var in wire.Input
		if err := from.Decode(&in); err != nil {
			ended()
			_ = to.CloseWithError(io.ErrUnexpectedEOF)
			return
		}
		_, _ = to.Write(in.Data) // fails if the program does not read its input to the end
		if in.Err != "" {
			_ = to.CloseWithError(errors.New(in.Err))
		} else if in.End {
			_ = to.Close()
		}
	}
}

func process(m Machine, call wire.Call, in io.Reader, out *replies) *sshtest.Process {
	user := m.User
	if call.UID == 0 {
		user = "root"
	}
	return &sshtest.Process{
		Host: m.Name, Args: call.Args, Environ: slices.Sorted(slices.Values(call.Environ)), Dir: call.Dir, User: user,
		Env: func(name string) string {
			for _, pair := range call.Environ {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		},
		Stdin: in, Stdout: writer(out.stdout), Stderr: writer(out.stderr), FS: m.Files,
	}
}

// stdin asks the stand-in for standard input at the first Read, because real programs do not touch it earlier.
type stdin struct {
	to    *replies
	ask   sync.Once
	read  *io.PipeReader
	write *io.PipeWriter
}

func (s *stdin) Read(p []byte) (int, error) {
	s.ask.Do(func() { s.to.send(wire.Reply{Stdin: true}) })
	return s.read.Read(p)
}

// replies sends the output and the exit code to the stand-in. It ignores errors of a stand-in that has ended.
type replies struct {
	mu sync.Mutex
	to *json.Encoder
}

func (r *replies) send(reply wire.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.to.Encode(reply)
}

func (r *replies) stdout(p []byte) { r.send(wire.Reply{Stdout: p}) }
func (r *replies) stderr(p []byte) { r.send(wire.Reply{Stderr: p}) }

func (r *replies) exit(code int, why string) {
	if why != "" {
		r.stderr(fmt.Appendln(nil, why))
	}
	r.send(wire.Reply{Exit: &code})
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
