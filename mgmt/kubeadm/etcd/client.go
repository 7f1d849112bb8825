package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// Config of a Client.
type Config struct {
	// Endpoint is the client URL of the member that is asked: https://10.0.0.11:2379. Required. It is only
	// ever this one that is told to change something, but for MoveLeader.
	Endpoint string
	// TLS is how members know us, and we them; see TLS. nil where etcd has none.
	TLS *tls.Config
	// Dial opens the connections to the members, by way of a machine that is in their network. Required.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Timeout is how long a member may take to answer a question; default 5 s.
	Timeout time.Duration
}

// Client of an etcd cluster. Close it. It is safe for concurrent use.
type Client struct {
	config Config
	etcd   *clientv3.Client
	dials  sync.WaitGroup
}

// maxAnswer bounds what a member may answer: lists of members are small.
const maxAnswer = 4 << 20

// maxHeaders bounds the headers of an answer: the text of an error is one.
const maxHeaders = 4 << 10

// Open returns a Client. It connects when it is first used.
func Open(c Config) (*Client, error) {
	if c.Timeout <= 0 {
		c.Timeout = 5 * time.Second
	}
	client := &Client{config: c}
	var err error
	client.etcd, err = client.connect(c.Endpoint)
	return client, err
}

// connect makes a client of etcd's own for one member. It neither logs nor tries again by itself.
func (c *Client) connect(endpoint string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, TLS: c.config.TLS, Logger: zap.NewNop(), MaxUnaryRetries: 1, MaxCallRecvMsgSize: maxAnswer,
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(c.dial), grpc.WithMaxHeaderListSize(maxHeaders), grpc.WithChainUnaryInterceptor(failFast)},
	})
}

// failFast has a call fail when the connection does, with the reason. etcd's client would wait for a better one.
func failFast(ctx context.Context, method string, in, out any, cc *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
	return next(ctx, method, in, out, cc, append(o, grpc.WaitForReady(false))...)
}

func (c *Client) dial(ctx context.Context, addr string) (net.Conn, error) {
	c.dials.Add(1)
	defer c.dials.Done()
	return c.config.Dial(ctx, "tcp", addr)
}

// Close closes the connections.
func (c *Client) Close() error {
	err := c.etcd.Close()
	c.dials.Wait()
	if errors.Is(err, context.Canceled) {
		return nil // how etcd's client says that it is closed
	}
	return err
}

// Members lists the members and asks each, all at once, how it is. A member for which skip holds is not asked,
// and not Healthy; nil asks all. The list is that of the whole cluster or, if that has no quorum any more, of the
// member that is asked.
func (c *Client) Members(ctx context.Context, skip func(Member) bool) ([]Member, error) {
	members, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, time.Second
	for until := time.Now().Add(c.config.Timeout); ; {
		agreed := c.ask(ctx, members, skip)
		if agreed || time.Now().After(until) {
			return members, nil
		}
		// Members that answer but name different leaders are in the middle of an election.
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause.NextBackOff()):
		}
	}
}

func (c *Client) list(ctx context.Context) ([]Member, error) {
	answer, err := c.listOnce(ctx)
	if err != nil && ctx.Err() == nil {
		var local error // without a quorum a member answers only for itself
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

// ask fills in Healthy and Leader. It reports whether all that answered follow one leader.
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
	}
	return agreed
}

// Remove takes a member out; that it is no member (any more) is no error. What passes by itself is waited out
// until ctx ends: an election, or a member that has been seen for less than five seconds.
func (c *Client) Remove(ctx context.Context, id uint64) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 2*time.Second
	for {
		err := c.removeOnce(ctx, id)
		if err == nil || errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil
		}
		err = fmt.Errorf("etcd: removing member %x: %w", id, err)
		if !passes(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		case <-time.After(pause.NextBackOff()):
		}
	}
}

func (c *Client) removeOnce(ctx context.Context, id uint64) error {
	// Etcd itself gives up after 5 s and a few elections.
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout+5*time.Second)
	defer cancel()
	_, err := c.etcd.MemberRemove(ctx, id)
	return err
}

// passes reports whether it may go by itself (etcd 3.6, server/etcdserver/errors).
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

// MoveLeader has the leader, if it is that, hand leadership to another voting member. It is asked itself: etcd
// does not pass the request on.
func (c *Client) MoveLeader(ctx context.Context, leader Member, to uint64) error {
	if len(leader.ClientURLs) == 0 {
		return fmt.Errorf("etcd: member %s has no client URL", leader)
	}
	etcd, err := c.connect(leader.ClientURLs[0])
	if err != nil {
		return err
	}
	defer etcd.Close() //nolint:errcheck // says only that it is closed
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	_, err = etcd.MoveLeader(ctx, to)
	if err != nil && !errors.Is(err, rpctypes.ErrNotLeader) {
		return fmt.Errorf("etcd: moving leadership from %s to %x: %w", leader, to, err)
	}
	return nil
}
