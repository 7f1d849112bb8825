package loadbalancer_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// parsed is a haproxy.cfg.
type parsed struct {
	frontends []parsedFrontend
	backends  map[string][]string // servers: name address:port
}

type parsedFrontend struct {
	name, backend string
	port          int
	binds         int
	monitor       bool // haproxy itself answers
}

// lines that may be in a section, by their first word, with the number of their words.
var grammar = map[string]map[string][]int{
	"global":   {"log": {3}, "user": {2}, "group": {2}, "stats": {13}, "hard-stop-after": {2}},
	"defaults": {"mode": {2}, "log": {2}, "option": {2, 3}, "retries": {2}, "timeout": {3}},
	"frontend": {"bind": {2, 3}, "default_backend": {2}, "mode": {2}, "timeout": {3}, "monitor-uri": {2}},
	"backend":  {"balance": {2}, "option": {4}, "http-check": {4}, "default-server": {10, 15}, "server": {3}},
}

// parse reads what Render has written, and nothing else: no line may be more than what it seems.
func parse(text string) (*parsed, error) {
	out := &parsed{backends: map[string][]string{}}
	section, name := "", ""
	if !strings.HasSuffix(text, "\n") || strings.ContainsAny(text, "\r\t\"'\\$\x00\u0085\u2028") {
		return nil, errors.New("a character that is not rendered")
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for i := 1; lines.Scan(); i++ {
		line := lines.Text()
		words := strings.Split(strings.TrimPrefix(line, "    "), " ")
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
			continue
		case !strings.HasPrefix(line, " "):
			section, name = words[0], ""
			if grammar[section] == nil || len(words) > 2 {
				return nil, fmt.Errorf("parsing [haproxy.cfg:%d] : unknown section %q", i, line)
			}
			if len(words) == 2 {
				name = words[1]
			}
			if section == "frontend" {
				out.frontends = append(out.frontends, parsedFrontend{name: name})
			}
			if section == "backend" {
				if _, twice := out.backends[name]; twice {
					return nil, fmt.Errorf("parsing [haproxy.cfg:%d] : backend %q twice", i, name)
				}
				out.backends[name] = []string{}
			}
			continue
		case !slices.Contains(grammar[section][words[0]], len(words)) || slices.Contains(words, "") || len(line) > 2000:
			return nil, fmt.Errorf("parsing [haproxy.cfg:%d] : %q in section %q", i, line, section)
		}
		if err := out.line(section, name, words); err != nil {
			return nil, fmt.Errorf("parsing [haproxy.cfg:%d] : %w", i, err)
		}
	}
	out.frontends = slices.DeleteFunc(out.frontends, func(f parsedFrontend) bool { return f.monitor })
	for _, f := range out.frontends {
		if _, ok := out.backends[f.backend]; !ok || f.port == 0 {
			return nil, fmt.Errorf("frontend %q leads nowhere", f.name)
		}
	}
	if len(out.frontends) != len(out.backends) {
		return nil, errors.New("a backend that nobody leads to")
	}
	return out, nil
}

func (p *parsed) line(section, name string, words []string) error {
	switch words[0] {
	case "bind":
		f := &p.frontends[len(p.frontends)-1]
		at, err := netip.ParseAddrPort(words[1])
		if err != nil {
			return err
		}
		if f.port != 0 && f.port != int(at.Port()) || at.Addr().Is6() != (len(words) == 3 && words[2] == "v6only") {
			return fmt.Errorf("bind %q", words)
		}
		f.port = int(at.Port())
		f.binds++
	case "monitor-uri":
		p.frontends[len(p.frontends)-1].monitor = true
	case "default_backend":
		p.frontends[len(p.frontends)-1].backend = words[1]
	case "server":
		if _, _, err := net.SplitHostPort(words[2]); err != nil {
			return err
		}
		if slices.ContainsFunc(p.backends[name], func(s string) bool { return strings.HasPrefix(s, words[1]+" ") }) {
			return fmt.Errorf("server %q twice", words[1])
		}
		p.backends[name] = append(p.backends[name], words[1]+" "+words[2])
	}
	return nil
}
