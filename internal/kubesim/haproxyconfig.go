package kubesim

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// haproxyFile is the content of a haproxy.cfg that the simulation uses.
type haproxyFile struct {
	frontends []*frontend
	backends  map[string]*backend
}

type frontend struct {
	name, backend string
	binds         []binding
	monitor       bool // it answers itself
}

type binding struct {
	host, port string
}

type backend struct {
	api     bool // checked by GET /readyz
	servers []server
}

type server struct{ name, addr string }

// haproxyKeywords says where a keyword may stand.
var haproxyKeywords = map[string][]string{
	"log": {"global", "defaults", "frontend", "backend"}, "user": {"global"}, "group": {"global"}, "chroot": {"global"}, "maxconn": {"global", "frontend"},
	"mode": {"defaults", "frontend", "backend"}, "timeout": {"defaults", "frontend", "backend"}, "option": {"defaults", "frontend", "backend"},
	"bind": {"frontend"}, "default_backend": {"frontend"}, "balance": {"defaults", "backend"}, "server": {"backend"}, "http-check": {"defaults", "backend"}, "monitor-uri": {"frontend"},
	"default-server": {"defaults", "backend"}, "daemon": {"global"}, "retries": {"defaults", "backend"}, "stats": {"global"}, "hard-stop-after": {"global"},
	"nbthread": {"global"}, "server-state-file": {"global"}, "load-server-state-from-file": {"defaults", "backend"},
}

// serverWords are the parameters of servers, with how many values each has.
var serverWords = map[string]int{"check": 0, "check-ssl": 0, "verify": 1, "inter": 1, "fastinter": 1, "downinter": 1, "fall": 1, "rise": 1, "on-marked-down": 1, "tcp-ut": 1,
	"weight": 1, "maxconn": 1, "backup": 0, "disabled": 0, "port": 1, "slowstart": 1, "on-error": 1, "observe": 1, "error-limit": 1, "init-addr": 1}

// haproxyOptions are the words that follow "option".
var haproxyOptions = []string{"dontlognull", "clitcpka", "srvtcpka", "tcpka", "tcplog", "httplog", "httpchk", "tcp-check", "redispatch", "log-health-checks", "dontlog-normal"}

// haproxyConfig finds what "haproxy -c" refuses.
func haproxyConfig(text string) error {
	_, err := parseHaproxy(text)
	return err
}

type haproxyParser struct {
	file    haproxyFile
	section string
	front   *frontend
	back    *backend
	named   map[string]bool
	line    int
	faults  []string
}

// parseHaproxy reads a haproxy.cfg: known keywords in their sections, and their targets.
func parseHaproxy(text string) (*haproxyFile, error) {
	p := &haproxyParser{file: haproxyFile{backends: map[string]*backend{}}, named: map[string]bool{}}
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
	for _, f := range p.file.frontends {
		if f.backend != "" && p.file.backends[f.backend] == nil {
			p.fault("unable to find required default_backend: '%s'", f.backend)
		}
	}
	if len(p.faults) > 0 {
		return nil, errors.New(strings.Join(p.faults, "\n"))
	}
	return &p.file, nil
}

func (p *haproxyParser) fault(format string, args ...any) {
	at := ""
	if p.line > 0 {
		at = fmt.Sprintf("parsing [haproxy.cfg:%d] : ", p.line)
	}
	p.faults = append(p.faults, "[ALERT]    (1) : config : "+at+fmt.Sprintf(format, args...))
}

func (p *haproxyParser) words(words []string) {
	switch words[0] {
	case "global", "defaults":
		p.section = words[0]
		return
	case "frontend", "backend":
		p.proxy(words)
		return
	}
	if !slices.Contains(haproxyKeywords[words[0]], p.section) {
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
		p.front.backend = words[1]
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

func (p *haproxyParser) proxy(words []string) {
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
		p.front = &frontend{name: words[1]}
		p.file.frontends = append(p.file.frontends, p.front)
		return
	}
	p.back = &backend{}
	p.file.backends[words[1]] = p.back
}

func (p *haproxyParser) bind(words []string) {
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
	p.front.binds = append(p.front.binds, binding{host, port})
}

func (p *haproxyParser) option(words []string) {
	if len(words) == 0 || !slices.Contains(haproxyOptions, words[0]) {
		p.fault("unknown option '%s'", strings.Join(words, " "))
		return
	}
	if words[0] == "httpchk" && p.section == "backend" {
		p.back.api = slices.Contains(words, "/readyz")
	}
}

func (p *haproxyParser) server(words []string) {
	if len(words) < 2 {
		p.fault("'server' expects <name> and <addr>[:<port>] as arguments")
		return
	}
	if _, _, err := net.SplitHostPort(words[1]); err != nil {
		p.fault("'server %s' : invalid address: '%s'", words[0], words[1])
		return
	}
	if slices.ContainsFunc(p.back.servers, func(s server) bool { return s.name == words[0] }) {
		p.fault("server '%s' has the same name as another one", words[0])
	}
	p.back.servers = append(p.back.servers, server{words[0], words[1]})
	p.parameters("server "+words[0], words[2:])
}

func (p *haproxyParser) parameters(of string, words []string) {
	for i := 0; i < len(words); i++ {
		values, known := serverWords[words[i]]
		if !known || i+values >= len(words) {
			p.fault("'%s' : unknown keyword '%s', or its value is missing", of, words[i])
			return
		}
		i += values
	}
}
