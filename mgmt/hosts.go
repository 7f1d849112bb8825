package mgmt

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	hostsBegin = "# BEGIN vnfkit\n"
	hostsEnd   = "# END vnfkit\n"
)

// HostsFile returns an /etc/hosts with the nodes in a block of our own. Everything outside the block stays
// byte for byte.
func HostsFile(old []byte, nodes []Node) []byte {
	var block strings.Builder
	block.WriteString(hostsBegin)
	for _, n := range nodes {
		fmt.Fprintf(&block, "%s %s\n", n.IP, n.HostName)
	}
	block.WriteString(hostsEnd)

	before, rest, found := bytes.Cut(old, []byte(hostsBegin))
	_, after, ended := bytes.Cut(rest, []byte(hostsEnd))
	if !found || !ended {
		before, after = old, nil
		if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
			before = append(bytes.Clone(before), '\n')
		}
	}
	return bytes.Join([][]byte{before, []byte(block.String()), after}, nil)
}
