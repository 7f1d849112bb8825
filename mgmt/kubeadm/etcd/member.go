package etcd

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
)

// Member of an etcd cluster.
type Member struct {
	ID         uint64
	Name       string   // that of the node with kubeadm; empty if the member has never started
	PeerURLs   []string // where other members reach it
	ClientURLs []string // where clients do; none if it has never started
	Learner    bool     // it gets the data but does not vote
	Healthy    bool     // it answers, and has the same leader as the others; Client.Members finds out
	Leader     bool     // the others follow it, as far as Client.Members was told
}

// At reports whether other members reach the member at the address: that is who it is, whatever its name.
func (m Member) At(addr netip.Addr) bool {
	return slices.ContainsFunc(m.PeerURLs, func(peer string) bool {
		u, err := url.Parse(peer)
		if err != nil {
			return false
		}
		host, err := netip.ParseAddr(u.Hostname())
		return err == nil && addr.IsValid() && host.Unmap() == addr.Unmap()
	})
}

// String is the name of the member or, before it has one, its address.
func (m Member) String() string {
	if m.Name == "" && len(m.PeerURLs) > 0 {
		return m.PeerURLs[0]
	}
	return cmp.Or(m.Name, fmt.Sprintf("%x", m.ID))
}
