package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Master is a control-plane node.
type Master interface {
	// ReadRoot returns the content of a file, as root.
	ReadRoot(ctx context.Context, path string) ([]byte, error)
	// DialContext connects to an address as the node sees it.
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// Cluster is a running cluster, seen from its control-plane nodes. It is safe for concurrent use.
type Cluster[R Master] struct {
	masters []R
	last    atomic.Int64 // which one answered last: it is asked first
}

// New returns the cluster of these control-plane nodes. It contacts none of them.
func New[R Master](masters []R) *Cluster[R] { return &Cluster[R]{masters: masters} }

// ErrNoAPI says that no control-plane node answers. A retry helps once one does.
var ErrNoAPI = errors.New("cluster: no control-plane node answers")

// attempt bounds how long one node is asked whether it answers.
const attempt = 20 * time.Second

// Ready reports whether the API server on that node answers, and is ready to.
func Ready(ctx context.Context, m Master) error {
	s, err := connect(ctx, m)
	if err == nil {
		s.close()
	}
	return err
}

// Leader returns a control-plane node whose API server answers.
func (c *Cluster[R]) Leader(ctx context.Context) (leader R, err error) {
	s, i, err := c.open(ctx)
	if err != nil {
		return leader, err
	}
	s.close()
	return c.masters[i], nil
}

// open connects to the first control-plane node that answers, but for those in not.
func (c *Cluster[R]) open(ctx context.Context, not ...int) (*session, int, error) {
	var errs []error
	first := int(c.last.Load())
	for k := range c.masters {
		i := (first + k) % len(c.masters)
		if contains(not, i) {
			continue
		}
		s, err := connect(ctx, c.masters[i])
		if err == nil {
			c.last.Store(int64(i))
			return s, i, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
	}
	return nil, 0, fmt.Errorf("%w: %w", ErrNoAPI, errors.Join(errs...))
}

// on runs do, which must be idempotent, on a control-plane node that answers: one that stops to do so is passed
// over as well.
func (c *Cluster[R]) on(ctx context.Context, do func(context.Context, *session) error) error {
	var failed []int
	var errs []error
	for {
		s, i, err := c.open(ctx, failed...)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		err = do(ctx, s)
		s.close()
		if err == nil || !helpsElsewhere(err) || ctx.Err() != nil {
			return err
		}
		failed, errs = append(failed, i), append(errs, err)
	}
}

// poll tries until it succeeds, fails for good (permanent) or ctx ends; then the last reason is in the error.
func (c *Cluster[R]) poll(ctx context.Context, what string, try func(context.Context, *session) error) error {
	var s *session
	defer func() { s.close() }()
	return retry(ctx, what, func() error {
		var err error
		if s == nil {
			if s, _, err = c.open(ctx); err != nil {
				return err
			}
		}
		err = try(ctx, s)
		if helpsElsewhere(err) {
			s.close()
			s = nil
			c.last.Add(1)
		}
		return err
	})
}

func contains(list []int, wanted int) bool {
	for _, i := range list {
		if i == wanted {
			return true
		}
	}
	return false
}
