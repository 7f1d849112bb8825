package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// Config configures a Client.
type Config struct {
	// Endpoint is the client URL of the member that answers requests: https://10.0.0.11:2379. Required. The Client sends
	// every change to this member, except for MoveLeader.
	Endpoint string
	// TLS has the certificates by which the Client and the members trust each other, see the function TLS. nil connects
	// without TLS.
	TLS *tls.Config
	// Dial opens connections to the members, for example through an SSH connection to a machine in their network. Required.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Timeout bounds each request to a member; default 5 s.
	Timeout time.Duration
}

// Client sends requests to an etcd cluster. Call Close when it is no longer needed. It is safe for concurrent use.
type Client struct {
	config Config
	etcd   *clientv3.Client

	mu     sync.Mutex // held while dials grows, so that it does not after closed is set
	closed bool
	dials  sync.WaitGroup
}

// maxAnswer bounds the size of an answer. Lists of members are small.
const maxAnswer = 4 << 20

// maxHeaders bounds the headers of an answer: the text of an error is one.
const maxHeaders = 4 << 10

// Open returns a Client. The Client connects with its first request.
func Open(c Config) (*Client, error) {
	if c.Timeout <= 0 {
		c.Timeout = 5 * time.Second
	}
	client := &Client{config: c}
	var err error
	client.etcd, err = client.connect(c.Endpoint)
	return client, err
}

// connect returns a client of package clientv3 for one member. It neither logs nor retries.
func (c *Client) connect(endpoint string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, TLS: c.config.TLS, Logger: zap.NewNop(), MaxUnaryRetries: 1, MaxCallRecvMsgSize: maxAnswer,
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(c.dial), grpc.WithMaxHeaderListSize(maxHeaders), grpc.WithChainUnaryInterceptor(failFast)},
	})
}

// failFast makes a call fail with the reason as soon as the connection fails. By default etcd's client would wait for
// another connection.
func failFast(ctx context.Context, method string, in, out any, cc *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
	return next(ctx, method, in, out, cc, append(o, grpc.WaitForReady(false))...)
}

func (c *Client) dial(ctx context.Context, addr string) (net.Conn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, net.ErrClosed
	}
	c.dials.Add(1)
	c.mu.Unlock()
	defer c.dials.Done()
	return c.config.Dial(ctx, "tcp", addr)
}

// Close closes the connections, and returns when none is being opened.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	err := c.etcd.Close()
	c.dials.Wait()
	if errors.Is(err, context.Canceled) {
		return nil // etcd's client returns this error after every Close
	}
	return err
}

// Members lists the members and asks all of them concurrently for their status. It does not ask a member for which skip
// returns true; such a member is not Healthy. A nil skip asks all members. The list is agreed by the cluster. If the
// cluster has no quorum, it is the list of the member at Endpoint.
func (c *Client) Members(ctx context.Context, skip func(Member) bool) ([]Member, error) {
	members, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	electing := retry.Policy{First: 50 * time.Millisecond, Most: time.Second, Within: c.config.Timeout, For: "a leader of etcd"}
	err = electing.Do(ctx, func() error {
		if !c.ask(ctx, members, skip) {
			return errElection
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return members, nil
}

// errElection reports that the members name different leaders.
var errElection = errors.New("etcd: an election is in progress")

func (c *Client) list(ctx context.Context) ([]Member, error) {
	answer, err := c.listOnce(ctx)
	if err != nil && ctx.Err() == nil {
		var local error // without a quorum a member can answer only from its own data
		if answer, local = c.listOnce(ctx, clientv3.WithSerializable()); local != nil {
			return nil, fmt.Errorf("etcd: list of members from %s: %w", c.config.Endpoint, errors.Join(err, local))
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var out []Member
	for _, m := range answer.Members {
		out = append(out, Member{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner})
	}
	return out, nil
}

func (c *Client) listOnce(ctx context.Context, o ...clientv3.OpOption) (*clientv3.MemberListResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	return c.etcd.MemberList(ctx, o...)
}

// ask sets Healthy and Leader of the members. It reports whether all members that answered have the same leader.
func (c *Client) ask(ctx context.Context, members []Member, skip func(Member) bool) (agreed bool) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	answers := make([]*clientv3.StatusResponse, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		if len(m.ClientURLs) == 0 || skip != nil && skip(m) {
			continue
		}
		all.Go(func() {
			if answer, err := c.etcd.Status(ctx, m.ClientURLs[0]); err == nil && answer.Header.GetMemberId() == m.ID {
				answers[i] = answer
			}
		})
	}
	all.Wait()
	var leader, term uint64
	for _, a := range answers {
		if a != nil && a.RaftTerm >= term && (a.Leader != 0 || a.RaftTerm > term) {
			leader, term = a.Leader, a.RaftTerm
		}
	}
	agreed = true
	for i, a := range answers {
		members[i].Healthy = a != nil && a.Leader == leader
		members[i].Leader = leader != 0 && members[i].ID == leader
		agreed = agreed && (a == nil || a.Leader == leader)
		if a != nil {
			members[i].Version = a.Version
		}
	}
	return agreed
}

// Remove removes a member. It returns nil if there is no such member. It retries temporary errors until ctx ends: during an
// election, and until the remaining members have been connected for five seconds.
func (c *Client) Remove(ctx context.Context, id uint64) error {
	return retry.Policy{First: 100 * time.Millisecond, Most: 2 * time.Second, If: passes}.Do(ctx, func() error {
		err := c.removeOnce(ctx, id)
		if err == nil || errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil
		}
		return fmt.Errorf("etcd: removing member %x: %w", id, err)
	})
}

func (c *Client) removeOnce(ctx context.Context, id uint64) error {
	// etcd itself stops waiting after 5 s and a few elections.
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout+5*time.Second)
	defer cancel()
	_, err := c.etcd.MemberRemove(ctx, id)
	return err
}

// passes reports whether an error is temporary (etcd 3.6, server/etcdserver/errors).
func passes(err error) bool {
	for _, e := range []error{rpctypes.ErrUnhealthy, rpctypes.ErrNoLeader, rpctypes.ErrNotLeader, rpctypes.ErrLeaderChanged,
		rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrTooManyRequests,
		context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// MoveLeader moves leadership from the member leader to the voting member with the id to. It connects to the leader itself,
// because etcd does not forward this request. It returns nil if leader is not the leader any more.
func (c *Client) MoveLeader(ctx context.Context, leader Member, to uint64) error {
	if len(leader.ClientURLs) == 0 {
		return fmt.Errorf("etcd: member %s has no client URL", leader)
	}
	etcd, err := c.connect(leader.ClientURLs[0])
	if err != nil {
		return err
	}
	defer etcd.Close() //nolint:errcheck // the error says only that the client is closed
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	_, err = etcd.MoveLeader(ctx, to)
	if err != nil && !errors.Is(err, rpctypes.ErrNotLeader) {
		return fmt.Errorf("etcd: moving leadership from %s to %x: %w", leader, to, err)
	}
	return nil
}
