package loadbalancer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a machine with a simulated haproxy: what of it the load balancer sees.
type site struct {
	*loadbalancer.Balancer
	t    *testing.T
	host *sshtest.Host
	ssh  *sshexec.Host

	mu          sync.Mutex
	missing     []string // programs that are not installed
	pid         int      // of the worker
	serving     []int    // ports of the worker
	old         []string // lines of ss of the previous worker, which continues for some calls
	oldFor      int      // how many calls
	linger      int      // what oldFor begins with
	others      []string // lines of ss of other programs
	connections []string // lines of ss
	stuck       bool     // a reload has no effect
	counted     int      // calls that count connections
	after       func()   // called when connections have been counted
	reloaded    func()   // called when haproxy has been reloaded
}

func newSite(t *testing.T, change ...func(*sshtest.Config)) *site {
	t.Helper()
	s := &site{t: t, linger: 2}
	c := sshtest.Config{Name: "lb", Users: []string{"haproxy"}, Commands: map[string]sshtest.Command{
		"haproxy": s.installed(haproxy), "ss": s.installed(s.ss), "systemctl": s.systemctl, "dpkg": succeed, "apt-get": s.aptGet,
	}}
	for _, f := range change {
		f(&c)
	}
	s.host = sshtest.Start(t, c)
	pool := sshexec.NewPool(sshexec.Options{})
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	s.ssh = pool.Host(sshexec.Target{Name: "lb", Addr: s.host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")},
		HostKeys: sshexec.AcceptNewHostKeys(new(sshtest.HostKeyStore))})
	s.Balancer = loadbalancer.On(s.ssh)
	return s
}

func succeed(context.Context, *sshtest.Process) int { return 0 }

func fail(p *sshtest.Process, code int, text string) int {
	_, _ = io.WriteString(p.Stderr, text+"\n")
	return code
}

func (s *site) installed(program sshtest.Command) sshtest.Command {
	return func(ctx context.Context, p *sshtest.Process) int {
		s.mu.Lock()
		missing := slices.Contains(s.missing, path.Base(p.Args[0]))
		s.mu.Unlock()
		if missing {
			return fail(p, 127, p.Args[0]+": not found")
		}
		return program(ctx, p)
	}
}

func (s *site) aptGet(_ context.Context, p *sshtest.Process) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(p.Args, "install") {
		of := map[string]string{"haproxy": "haproxy", "iproute2": "ss"}
		s.missing = slices.DeleteFunc(s.missing, func(program string) bool {
			return slices.ContainsFunc(p.Args, func(a string) bool { return of[a] == program })
		})
	}
	return 0
}

// haproxy checks a configuration: one that is not what is rendered here is refused.
func haproxy(_ context.Context, p *sshtest.Process) int {
	if slices.Equal(p.Args[1:], []string{"-v"}) {
		return 0
	}
	if len(p.Args) != 4 || p.Args[1] != "-c" || p.Args[2] != "-f" || p.User != "root" {
		return fail(p, 1, fmt.Sprintf("haproxy: %q by %s", p.Args, p.User))
	}
	text, err := afero.ReadFile(p.FS, p.Args[3])
	if err != nil {
		return fail(p, 1, err.Error())
	}
	if _, err := parse(string(text)); err != nil {
		return fail(p, 1, "[ALERT]    (12) : config : "+err.Error()+"\n[ALERT]    (12) : config : Fatal errors found in configuration.")
	}
	return 0
}

// systemctl has the worker replaced on a reload; the old one listens a little longer.
func (s *site) systemctl(_ context.Context, p *sshtest.Process) int {
	if p.User != "root" || len(p.Args) != 3 || p.Args[2] != "haproxy" {
		return fail(p, 1, fmt.Sprintf("systemctl: %q by %s", p.Args, p.User))
	}
	switch p.Args[1] {
	case "enable", "reset-failed":
		return 0
	case "reload-or-restart":
	default:
		return fail(p, 1, "Unknown command verb")
	}
	text, err := afero.ReadFile(p.FS, loadbalancer.ConfigFile)
	if err != nil {
		return fail(p, 1, err.Error())
	}
	config, err := parse(string(text))
	if err != nil {
		return fail(p, 1, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuck {
		return 0
	}
	s.old, s.oldFor = s.lines(), s.linger
	s.pid++
	s.serving = nil
	for _, f := range config.frontends {
		s.serving = append(s.serving, f.port)
	}
	if s.reloaded != nil {
		s.reloaded()
	}
	return 0
}

// lines are what ss says of the worker.
func (s *site) lines() (out []string) {
	for _, port := range s.serving {
		out = append(out, fmt.Sprintf(`LISTEN 0 4096 0.0.0.0:%d 0.0.0.0:* users:(("haproxy",pid=%d,fd=6))`, port, s.pid))
	}
	return out
}

func (s *site) ss(_ context.Context, p *sshtest.Process) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch line := strings.Join(p.Args[1:], " "); {
	case line == "-V":
	case p.User != "root":
		return fail(p, 1, "who asks?")
	case line == "-Htlnp":
		all := slices.Concat(s.others, s.lines())
		if s.oldFor > 0 {
			s.oldFor--
			all = append(all, s.old...)
		}
		for _, l := range all {
			_, _ = fmt.Fprintln(p.Stdout, l)
		}
	case line == "-Htnp state connected":
		_, _ = io.WriteString(p.Stdout, strings.Join(s.connections, "\n")+"\n")
		s.counted++
	case strings.HasPrefix(line, "-Htnp state connected dst "):
		targets := strings.Split(strings.TrimPrefix(line, "-Htnp state connected dst "), " or dst ")
		for _, l := range s.connections {
			if slices.Contains(targets, strings.Fields(l)[4]) {
				_, _ = fmt.Fprintln(p.Stdout, l)
			}
		}
		s.counted++
		if s.after != nil {
			s.after()
		}
	default:
		return fail(p, 1, "ss: "+line)
	}
	return 0
}

// file is a file of the machine, "" when there is none.
func (s *site) file(name string) string {
	s.t.Helper()
	text, err := afero.ReadFile(s.host.FS(), name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Error(err)
	}
	return string(text)
}

// servers are those that haproxy.cfg has for a port.
func (s *site) servers(port int) []string {
	s.t.Helper()
	config, err := parse(s.file(loadbalancer.ConfigFile))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range config.frontends {
		if f.port == port {
			return config.backends[f.backend]
		}
	}
	return nil
}

func server(name string) loadbalancer.Server {
	last, _ := strconv.Atoi(strings.TrimLeft(name, "mw"))
	network := map[byte]byte{'m': 0, 'w': 1}[name[0]]
	return loadbalancer.Server{ID: "id-" + name, Name: name, Address: netip.AddrFrom4([4]byte{10, 10, network, byte(last)})}
}

func servers(names ...string) (out []loadbalancer.Server) {
	for _, n := range names {
		out = append(out, server(n))
	}
	return out
}

func service(name string, port int) loadbalancer.Part {
	return loadbalancer.Part{Frontends: []loadbalancer.Frontend{
		{Name: name, Port: port, To: []string{loadbalancer.ControlPlane, loadbalancer.Workers}, Toward: port, Check: loadbalancer.CheckTCP}}}
}
