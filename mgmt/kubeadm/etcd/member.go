package etcd

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
)

// Member is a member of an etcd cluster.
type Member struct {
	ID         uint64
	Name       string   // kubeadm sets the name of the node; empty if the member has never started
	PeerURLs   []string // addresses for other members
	ClientURLs []string // addresses for clients; none if the member has never started
	Learner    bool     // receives the data but does not vote
	Healthy    bool     // answers, and names the leader of the latest election; set by Client.Members
	Leader     bool     // the members that answered follow this member; set by Client.Members
	Version    string   // of etcd, such as 3.6.8; set by Client.Members, empty if the member did not answer
}

// At reports whether the member has a peer URL with this address. It identifies the member of a machine independently of
// its name.
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

// String returns the name of the member. If the member has no name yet, String returns its first peer URL.
func (m Member) String() string {
	if m.Name == "" && len(m.PeerURLs) > 0 {
		return m.PeerURLs[0]
	}
	return cmp.Or(m.Name, fmt.Sprintf("%x", m.ID))
}
