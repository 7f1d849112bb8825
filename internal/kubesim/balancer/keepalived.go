package balancer

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// CheckKeepalived finds faults that "keepalived -t" reports, limited to the braces and the required words.
func CheckKeepalived(text string) error {
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

// VirtualAddresses are those of a keepalived.conf, without the lengths of their networks.
func VirtualAddresses(conf string) (out []netip.Addr) {
	_, block, _ := strings.Cut(conf, "virtual_ipaddress")
	_, block, _ = strings.Cut(block, "{")
	block, _, _ = strings.Cut(block, "}")
	words := strings.FieldsFunc(block, func(r rune) bool { return strings.ContainsRune(" \t\n{}\"/", r) })
	for _, word := range words {
		if addr, err := netip.ParseAddr(word); err == nil {
			out = append(out, addr)
		}
	}
	return out
}

// Keepalived checks a configuration, or prints its version.
func Keepalived(p *program.Call) error {
	if slices.Equal(p.Args, []string{"--version"}) {
		_, _ = fmt.Fprintln(p.Stderr, "Keepalived v2.2.7 (01/16,2022)")
		return nil
	}
	if len(p.Args) != 3 || p.Args[0] != "-t" || p.Args[1] != "-f" {
		return fmt.Errorf("kubesim: keepalived %q is not simulated", p.Args)
	}
	text, err := p.Read(p.Args[2])
	if err != nil {
		return err
	}
	return CheckKeepalived(string(text))
}
