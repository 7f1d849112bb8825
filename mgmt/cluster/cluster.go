package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// ControlPlaneNode is a control-plane node, such as a mgmt.Node.
type ControlPlaneNode interface {
	// ReadRoot returns the content of a file, as root.
	ReadRoot(ctx context.Context, path string) ([]byte, error)
	// DialContext connects to an address as the node sees it.
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// Cluster is a running cluster, seen from its control-plane nodes. It is safe for concurrent use. The connection to
// the node that answers is kept for the next call, until Close.
type Cluster[R ControlPlaneNode] struct {
	controlPlane []R
	last         atomic.Int64 // which one answered last: it is asked first

	mu   sync.Mutex
	kept map[int]*session // by control-plane node
}

// New returns the cluster of these control-plane nodes. It does not connect.
func New[R ControlPlaneNode](controlPlane []R) *Cluster[R] {
	return &Cluster[R]{controlPlane: controlPlane, kept: map[int]*session{}}
}

// Close closes the stored connections. Call it when no other call is running. A later call connects again.
func (c *Cluster[R]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.kept {
		s.Close()
		delete(c.kept, i)
	}
}

// ErrNoAPI says that no control-plane node answers. A retry helps once one does.
var ErrNoAPI = errors.New("cluster: no control-plane node answers")

// attempt bounds how long one node is asked whether it answers.
const attempt = 20 * time.Second

// Ready returns nil if the API server on that node answers and says that it is ready (/readyz).
func Ready(ctx context.Context, n ControlPlaneNode) error {
	s, err := connect(ctx, n)
	if err == nil {
		s.Close()
	}
	return err
}

// Leader returns a control-plane node whose API server answers, and is ready to.
func (c *Cluster[R]) Leader(ctx context.Context) (leader R, err error) {
	err = c.on(ctx, func(ctx context.Context, s *session) error {
		ctx, cancel := context.WithTimeout(ctx, attempt)
		defer cancel()
		leader = c.controlPlane[s.controlPlaneNode]
		return s.ready(ctx)
	})
	return leader, err
}

// open returns a session with the first control-plane node that answers, except those in not. A session that was kept
// from an earlier call may no longer work.
func (c *Cluster[R]) open(ctx context.Context, not ...int) (s *session, kept bool, err error) {
	var errs []error
	first := int(c.last.Load())
	for k := range c.controlPlane {
		i := (first + k) % len(c.controlPlane)
		if slices.Contains(not, i) {
			continue
		}
		if s := c.session(i, nil); s != nil {
			return s, true, nil
		}
		s, err := connect(ctx, c.controlPlane[i])
		if err == nil {
			s.controlPlaneNode = i
			c.last.Store(int64(i))
			used := c.session(i, s)
			return used, used != s, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
	}
	return nil, false, fmt.Errorf("%w: %w", ErrNoAPI, errors.Join(errs...))
}

// session returns the session that is kept for a control-plane node. Without one it keeps the fresh session; otherwise another call was
// faster.
func (c *Cluster[R]) session(controlPlaneNode int, fresh *session) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept := c.kept[controlPlaneNode]; kept != nil {
		if fresh != nil {
			fresh.Close()
		}
		return kept
	}
	if fresh != nil {
		c.kept[controlPlaneNode] = fresh
	}
	return fresh
}

// drop ends a session that does not work any more.
func (c *Cluster[R]) drop(s *session) {
	c.mu.Lock()
	if c.kept[s.controlPlaneNode] == s {
		delete(c.kept, s.controlPlaneNode)
	}
	c.mu.Unlock()
	s.Close()
}

// on runs do, which must be idempotent, on a control-plane node that answers: one that stops to do so is passed
// over as well.
func (c *Cluster[R]) on(ctx context.Context, do func(context.Context, *session) error) error {
	var failed []int
	var errs []error
	var retried *session // asked on the same node once more: possibly only the connection has ended since the last call
	for {
		s, kept, err := c.open(ctx, failed...)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		err = do(silent(ctx), s)
		if err == nil || !helpsElsewhere(err) && (!kept || !refused(err)) || ctx.Err() != nil {
			return err
		}
		c.drop(s)
		if kept && (retried == nil || retried.controlPlaneNode != s.controlPlaneNode) {
			retried = s
			continue
		}
		failed, errs = append(failed, s.controlPlaneNode), append(errs, err)
	}
}

// silent keeps client-go from printing errors that it also returns.
func silent(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// poll tries until it succeeds, fails with a permanent error or ctx ends; then the error has the last reason.
func (c *Cluster[R]) poll(ctx context.Context, what string, try func(context.Context, *session) error) error {
	err := retry.Policy{First: 50 * time.Millisecond, Most: time.Second, If: mayPass, For: what}.Do(ctx, func() error {
		s, kept, err := c.open(ctx)
		if err != nil {
			return err
		}
		err = try(silent(ctx), s)
		again := kept && refused(err)
		if (again || helpsElsewhere(err)) && ctx.Err() == nil {
			c.drop(s)
			if !kept {
				c.last.Add(1)
			}
		}
		if again {
			return errors.New(err.Error()) // not permanent
		}
		return err
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return err
}
