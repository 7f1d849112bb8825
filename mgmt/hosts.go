package mgmt

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

const (
	hostsBegin = "# BEGIN vnfkit\n"
	hostsEnd   = "# END vnfkit\n"
)

// HostEntry is a name for /etc/hosts that is not the name of a node.
type HostEntry struct {
	IP   netip.Addr
	Name string
}

// HostsFile returns the content of /etc/hosts with the nodes, and after them the other names, in a block between the
// lines "# BEGIN vnfkit" and "# END vnfkit". Everything outside the block stays byte for byte; old is not changed.
func HostsFile(old []byte, nodes []Node, others ...HostEntry) []byte {
	var block strings.Builder
	block.WriteString(hostsBegin)
	for _, n := range nodes {
		fmt.Fprintf(&block, "%s %s\n", n.IP, n.HostName)
	}
	for _, e := range others {
		fmt.Fprintf(&block, "%s %s\n", e.IP, e.Name)
	}
	block.WriteString(hostsEnd)

	before, after, found := cutBlock(old)
	if !found {
		before = slices.Clip(old)
		if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
			before = append(before, '\n')
		}
	}
	return bytes.Join([][]byte{before, []byte(block.String()), after}, nil)
}

// cutBlock finds the block: complete lines, and no second beginning in it. An incomplete block counts as text of
// another program.
func cutBlock(old []byte) (before, after []byte, found bool) {
	begin, at := -1, 0
	for line := range bytes.Lines(old) {
		switch {
		case string(line) == hostsBegin:
			begin = at
		case begin >= 0 && string(bytes.TrimSuffix(line, []byte("\n"))) == strings.TrimSuffix(hostsEnd, "\n"):
			return old[:begin], old[at+len(line):], true
		}
		at += len(line)
	}
	return nil, nil, false
}
