package kubesim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// keepalivedConfig finds faults that "keepalived -t" reports, limited to the braces and the required words.
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

// keepalived checks a configuration, or prints its version.
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
