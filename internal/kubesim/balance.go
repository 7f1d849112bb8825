package kubesim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/afero"
)

// haproxyConfig finds what "haproxy -c" refuses, as far as the syntax goes: keywords that are known, in their
// sections.
func haproxyConfig(text string) error {
	var faults []string
	section, sections := "", []string{"global", "defaults", "frontend", "backend"}
	backends, wanted := map[string]bool{}, map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if slices.Contains(sections, words[0]) {
			section = words[0]
			if section == "backend" && len(words) == 2 {
				backends[words[1]] = true
			}
			continue
		}
		if known := haproxyKeywords[words[0]]; !slices.Contains(known, section) {
			faults = append(faults, fmt.Sprintf("[ALERT] parsing [haproxy.cfg:%d] : unknown keyword '%s' in '%s' section", i+1, words[0], section))
		}
		if words[0] == "default_backend" && len(words) == 2 {
			wanted[words[1]] = true
		}
		if words[0] == "server" && len(words) < 3 {
			faults = append(faults, fmt.Sprintf("[ALERT] parsing [haproxy.cfg:%d] : 'server' expects <name> and <addr>[:<port>]", i+1))
		}
	}
	for name := range wanted {
		if !backends[name] {
			faults = append(faults, "[ALERT] unable to find required default_backend: '"+name+"'")
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "\n"))
}

// haproxyKeywords says where a keyword may stand.
var haproxyKeywords = map[string][]string{
	"log": {"global", "defaults", "frontend", "backend"}, "user": {"global"}, "group": {"global"}, "chroot": {"global"}, "maxconn": {"global", "frontend"},
	"mode": {"defaults", "frontend", "backend"}, "timeout": {"defaults", "frontend", "backend"}, "option": {"defaults", "frontend", "backend"},
	"bind": {"frontend"}, "default_backend": {"frontend"}, "balance": {"backend"}, "server": {"backend"}, "http-check": {"backend"}, "monitor-uri": {"frontend"},
	"default-server": {"defaults", "backend"}, "daemon": {"global"},
}

// keepalivedConfig finds what "keepalived -t" refuses, as far as the braces and the needed words go.
func keepalivedConfig(text string) error {
	depth := 0
	for _, r := range text {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth < 0 {
			break
		}
	}
	words := strings.Fields(text)
	if user := slices.Index(words, "script_user"); slices.Contains(words, "vrrp_script") && (user < 0 || words[user+1] != "root") {
		return errors.New("Terminated") // the script is dropped, or the check ends by a signal: before 2.2.8
	}
	for _, needed := range []string{"vrrp_instance", "interface", "virtual_router_id", "virtual_ipaddress"} {
		if !slices.Contains(words, needed) {
			return fmt.Errorf("keepalived: no %s", needed)
		}
	}
	if depth != 0 {
		return errors.New("keepalived: Unbalanced braces")
	}
	return nil
}

// virtualAddresses are those of a keepalived.conf, without the lengths of their networks.
func virtualAddresses(conf string) (out []netip.Addr) {
	_, block, _ := strings.Cut(conf, "virtual_ipaddress")
	_, block, _ = strings.Cut(block, "{")
	block, _, _ = strings.Cut(block, "}")
	for _, word := range fields(block) {
		if addr, err := netip.ParseAddr(word); err == nil {
			out = append(out, addr)
		}
	}
	return out
}

// servers are the addresses that a haproxy.cfg leads to.
func servers(conf string) (out []netip.Addr) {
	for line := range strings.Lines(conf) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "server" {
			continue
		}
		if host, _, err := net.SplitHostPort(words[2]); err == nil {
			if addr, err := netip.ParseAddr(host); err == nil {
				out = append(out, addr)
			}
		}
	}
	return out
}

// balanced is the machine to which haproxy on m leads: one that lives.
func (w *World) balanced(m *machine) *machine {
	conf, err := afero.ReadFile(w.files[m.ID](), configOf["haproxy"])
	if err != nil {
		return nil
	}
	for _, addr := range servers(string(conf)) {
		if to := w.byAddress(addr); to != nil && to.Address == addr && w.hasAPI(to) {
			return to
		}
	}
	return nil
}

// haproxy checks a configuration, or tells its version.
func haproxy(_ context.Context, c *call) error {
	if slices.Equal(c.args, []string{"-v"}) {
		c.printf("HAProxy version 2.6.12-1+deb12u1 2023/12/16\n")
		return nil
	}
	if len(c.args) != 3 || c.args[0] != "-c" || c.args[1] != "-f" {
		return fmt.Errorf("kubesim: haproxy %q is not simulated", c.args)
	}
	text, err := c.read(c.args[2])
	if err != nil {
		return err
	}
	return haproxyConfig(string(text))
}

// keepalived checks a configuration, or tells its version.
func keepalived(_ context.Context, c *call) error {
	if slices.Equal(c.args, []string{"--version"}) {
		_, _ = fmt.Fprintln(c.process.Stderr, "Keepalived v2.2.7 (01/16,2022)")
		return nil
	}
	if len(c.args) != 3 || c.args[0] != "-t" || c.args[1] != "-f" {
		return fmt.Errorf("kubesim: keepalived %q is not simulated", c.args)
	}
	text, err := c.read(c.args[2])
	if err != nil {
		return err
	}
	return keepalivedConfig(string(text))
}
