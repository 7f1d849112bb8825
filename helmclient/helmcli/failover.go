package helmcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
)

// order are the masters as they are tried: the one that has worked last goes first.
func (c *Client) order() []*master {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []*master{c.masters[c.preferred]}
	for i, m := range c.masters {
		if i != c.preferred {
			list = append(list, m)
		}
	}
	return list
}

func (c *Client) prefer(m *master) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.masters {
		if c.masters[i] == m {
			c.preferred = i
		}
	}
}

// try calls act with one master after the other until one of them can be used. What act does must be safe to do again.
func (c *Client) try(ctx context.Context, act func(m *master) error) error {
	var all []error
	for _, m := range c.order() {
		err := m.usable(ctx)
		if err == nil {
			err = act(m)
		}
		if err == nil || !passOver(ctx, err) {
			c.prefer(m)
			return err
		}
		c.config.Log.WarnContext(ctx, "master passed over", "master", m.name, "error", err)
		all = append(all, err)
	}
	return errors.Join(all...)
}

// unusable is the error of a master that has no helm that can be driven.
type unusable struct{ error }

func (e unusable) Unwrap() error { return e.error }

// passOver reports whether another master may do what this one could not.
func passOver(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	if _, ok := errors.AsType[*lost](err); ok {
		return true
	}
	if _, ok := errors.AsType[unusable](err); ok {
		return true
	}
	f, ok := errors.AsType[*failure](err)
	return ok && (strings.Contains(f.stderr, "Kubernetes cluster unreachable") || f.code == exitNoDirectory || f.code == exitNoProgram)
}

// usable checks helm's version, once.
func (m *master) usable(ctx context.Context) error {
	if m.checked.Load() {
		return nil
	}
	out, err := m.run(ctx, command{argv: []string{"helm", "version", "--template", "{{.Version}}"}})
	if f, ok := errors.AsType[*failure](err); ok && ctx.Err() == nil {
		return unusable{f}
	}
	if err != nil {
		return err
	}
	if err := helmclient.CheckProgram(string(out)); err != nil {
		return unusable{fmt.Errorf("%s: %w", m.name, err)}
	}
	m.checked.Store(true)
	return nil
}
