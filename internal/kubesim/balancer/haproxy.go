// Package balancer simulates haproxy and keepalived as far as they read and check their files. Which server a connection gets is the
// matter of package kubesim.
//
// It refuses what "haproxy -c" and "keepalived -t" refuse of these files, and every keyword and option that no driver uses: Check and
// Parse are tested beside the real program where it is installed.
//
// It does not know ACLs, use_backend, TLS, maps, Lua, peers, resolvers and server templates.
package balancer

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// File is the content of a haproxy.cfg, as far as the simulation uses it.
type File struct {
	Frontends []*Frontend
	Backends  map[string]*Backend // by name
}

// Frontend is where clients connect.
type Frontend struct {
	Name, Backend string
	Binds         []Bind
	monitor       bool // it answers itself
}

// Bind is an address at which a Frontend listens.
type Bind struct{ Host, Port string }

// Backend is where a Frontend leads.
type Backend struct {
	API     bool // checked by GET /readyz
	Servers []Server
}

// Server is one of a Backend.
type Server struct{ name, Addr string }

// keywords says where a keyword may stand.
var keywords = map[string][]string{
	"log": {"global", "defaults", "frontend", "backend"}, "user": {"global"}, "group": {"global"}, "chroot": {"global"}, "maxconn": {"global", "frontend"},
	"mode": {"defaults", "frontend", "backend"}, "timeout": {"defaults", "frontend", "backend"}, "option": {"defaults", "frontend", "backend"},
	"bind": {"frontend"}, "default_backend": {"frontend"}, "balance": {"defaults", "backend"}, "server": {"backend"}, "http-check": {"defaults", "backend"}, "monitor-uri": {"frontend"},
	"default-server": {"defaults", "backend"}, "daemon": {"global"}, "retries": {"defaults", "backend"}, "stats": {"global"}, "hard-stop-after": {"global"},
	"nbthread": {"global"}, "server-state-file": {"global"}, "load-server-state-from-file": {"defaults", "backend"},
}

// serverWords are the parameters of servers, with how many values each has.
var serverWords = map[string]int{"check": 0, "check-ssl": 0, "verify": 1, "inter": 1, "fastinter": 1, "downinter": 1, "fall": 1, "rise": 1, "on-marked-down": 1, "tcp-ut": 1,
	"weight": 1, "maxconn": 1, "backup": 0, "disabled": 0, "port": 1, "slowstart": 1, "on-error": 1, "observe": 1, "error-limit": 1, "init-addr": 1}

// options are the words that follow "option".
var options = []string{"dontlognull", "clitcpka", "srvtcpka", "tcpka", "tcplog", "httplog", "httpchk", "tcp-check", "redispatch", "log-health-checks", "dontlog-normal"}

// Check fails with what "haproxy -c" refuses.
func Check(text string) error {
	_, err := Parse(text)
	return err
}

type parser struct {
	file    File
	section string
	front   *Frontend
	back    *Backend
	named   map[string]bool
	line    int
	faults  []string
}

// Parse reads a haproxy.cfg: known keywords in their sections, and their targets.
func Parse(text string) (*File, error) {
	p := &parser{file: File{Backends: map[string]*Backend{}}, named: map[string]bool{}}
	if text != "" && !strings.HasSuffix(text, "\n") {
		p.line = strings.Count(text, "\n") + 1
		p.fault("Missing LF on last line, file might have been truncated")
	}
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			p.words(words)
		}
	}
	p.line = 0
	for _, f := range p.file.Frontends {
		if f.Backend != "" && p.file.Backends[f.Backend] == nil {
			p.fault("unable to find required default_backend: '%s'", f.Backend)
		}
	}
	if len(p.faults) > 0 {
		return nil, errors.New(strings.Join(p.faults, "\n"))
	}
	return &p.file, nil
}

func (p *parser) fault(format string, args ...any) {
	at := ""
	if p.line > 0 {
		at = fmt.Sprintf("parsing [haproxy.cfg:%d] : ", p.line)
	}
	p.faults = append(p.faults, "[ALERT]    (1) : config : "+at+fmt.Sprintf(format, args...))
}

func (p *parser) words(words []string) {
	switch words[0] {
	case "global", "defaults":
		p.section = words[0]
		return
	case "frontend", "backend":
		p.proxy(words)
		return
	}
	if !slices.Contains(keywords[words[0]], p.section) {
		p.fault("unknown keyword '%s' in '%s' section", words[0], p.section)
		return
	}
	switch words[0] {
	case "bind":
		p.bind(words[1:])
	case "default_backend":
		if len(words) != 2 {
			p.fault("'default_backend' expects one argument")
			return
		}
		p.front.Backend = words[1]
	case "monitor-uri":
		p.front.monitor = true
	case "option":
		p.option(words[1:])
	case "server":
		p.server(words[1:])
	case "default-server":
		p.parameters("default-server", words[1:])
	case "stats":
		if len(words) < 3 || words[1] != "socket" {
			p.fault("'stats' expects 'socket' and its path here")
		}
	}
}

func (p *parser) proxy(words []string) {
	p.section = words[0]
	if len(words) != 2 || strings.Trim(words[1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:") != "" {
		p.fault("'%s' needs a name of letters, digits and '-', '_', '.', ':'", words[0])
		words = []string{words[0], ""}
	}
	if p.named[words[0]+words[1]] {
		p.fault("%s '%s' has the same name as another one", words[0], words[1])
	}
	p.named[words[0]+words[1]] = true
	if words[0] == "frontend" {
		p.front = &Frontend{Name: words[1]}
		p.file.Frontends = append(p.file.Frontends, p.front)
		return
	}
	p.back = &Backend{}
	p.file.Backends[words[1]] = p.back
}

func (p *parser) bind(words []string) {
	if len(words) == 0 {
		p.fault("'bind' expects {<path>|[addr1]:port1[-end1]}{,[addr]:port[-end]}...")
		return
	}
	host, port, err := net.SplitHostPort(words[0])
	if n, _ := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		p.fault("'bind' : invalid address '%s'", words[0])
		return
	}
	for _, word := range words[1:] {
		if word != "v6only" && word != "transparent" {
			p.fault("'bind' : unknown keyword '%s'", word)
		}
	}
	p.front.Binds = append(p.front.Binds, Bind{host, port})
}

func (p *parser) option(words []string) {
	if len(words) == 0 || !slices.Contains(options, words[0]) {
		p.fault("unknown option '%s'", strings.Join(words, " "))
		return
	}
	if words[0] == "httpchk" && p.section == "backend" {
		p.back.API = slices.Contains(words, "/readyz")
	}
}

func (p *parser) server(words []string) {
	if len(words) < 2 {
		p.fault("'server' expects <name> and <addr>[:<port>] as arguments")
		return
	}
	if _, _, err := net.SplitHostPort(words[1]); err != nil {
		p.fault("'server %s' : invalid address: '%s'", words[0], words[1])
		return
	}
	if slices.ContainsFunc(p.back.Servers, func(s Server) bool { return s.name == words[0] }) {
		p.fault("server '%s' has the same name as another one", words[0])
	}
	p.back.Servers = append(p.back.Servers, Server{words[0], words[1]})
	p.parameters("server "+words[0], words[2:])
}

func (p *parser) parameters(of string, words []string) {
	for i := 0; i < len(words); i++ {
		values, known := serverWords[words[i]]
		if !known || i+values >= len(words) {
			p.fault("'%s' : unknown keyword '%s', or its value is missing", of, words[i])
			return
		}
		i += values
	}
}

// Haproxy checks a configuration, or tells its version.
func Haproxy(p *program.Call) error {
	if slices.Equal(p.Args, []string{"-v"}) {
		p.Printf("HAProxy version 2.6.12-1+deb12u1 2023/12/16\n")
		return nil
	}
	if len(p.Args) != 3 || p.Args[0] != "-c" || p.Args[1] != "-f" {
		return fmt.Errorf("kubesim: haproxy %q is not simulated", p.Args)
	}
	text, err := p.Read(p.Args[2])
	if err != nil {
		return err
	}
	if err := Check(string(text)); err != nil {
		return err
	}
	p.Printf("Configuration file is valid\n")
	return nil
}
