package members

import (
	"context"
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// Survivor is a member of etcd that runs, as it sees itself. Without a quorum it answers no client of the API.
type Survivor struct {
	etcd.Status

	Name, PeerURL string
}

// Ask returns the member on a node.
func Ask(ctx context.Context, n mgmt.Node) (s Survivor, err error) {
	err = mgmt.Within(ctx, etcdAttempt, func(ctx context.Context) error {
		client, err := openEtcd(ctx, n)
		if err != nil {
			return err
		}
		defer client.Close() //nolint:errcheck // all requests have been answered
		return poll(ctx, func() error { return s.ask(ctx, client, n) })
	})
	return s, err
}

func (s *Survivor) ask(ctx context.Context, client *etcd.Client, n mgmt.Node) (err error) {
	if s.Status, err = client.Status(ctx); err != nil {
		return err
	}
	members, err := client.Members(ctx, func(m etcd.Member) bool { return m.ID != s.Member })
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.ID == s.Member && len(m.PeerURLs) > 0 {
			s.Name, s.PeerURL = m.Name, m.PeerURLs[0]
			return nil
		}
	}
	return fmt.Errorf("kubeadm: etcd of %s is no member of its cluster", n.Label())
}
