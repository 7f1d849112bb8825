package helmcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
)

// order returns the machines in the order in which they are tried: the one that worked last comes first.
func (c *Client) order() []*machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []*machine{c.machines[c.preferred]}
	for i, m := range c.machines {
		if i != c.preferred {
			list = append(list, m)
		}
	}
	return list
}

func (c *Client) prefer(m *machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.machines {
		if c.machines[i] == m {
			c.preferred = i
		}
	}
}

// try calls act with one machine after the other until one succeeds. act must be safe to repeat.
func (c *Client) try(ctx context.Context, act func(m *machine) error) error {
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
		c.config.Log.WarnContext(ctx, "machine passed over", "machine", m.name, "error", err)
		all = append(all, err)
	}
	return errors.Join(all...)
}

// unusable is the error of a machine without a supported helm.
type unusable struct{ error }

func (e unusable) Unwrap() error { return e.error }

// passOver reports whether err is a fault of this machine, so that another machine may succeed.
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
	return ok && (strings.Contains(strings.ToLower(f.stderr), "kubernetes cluster unreachable") || f.code == exitNoDirectory || f.code == exitNoProgram)
}

// usable checks helm's version, once per machine.
func (m *machine) usable(ctx context.Context) error {
	if m.major.Load() != 0 {
		return nil
	}
	out, err := m.run(ctx, command{argv: []string{"helm", "version", "--template", "{{.Version}}"}})
	if f, ok := errors.AsType[*failure](err); ok && ctx.Err() == nil {
		return unusable{f}
	}
	if err != nil {
		return err
	}
	major, err := helmclient.ProgramMajor(string(out))
	if err != nil {
		return unusable{fmt.Errorf("%s: %w", m.name, err)}
	}
	m.major.Store(int32(major)) //nolint:gosec // 3 or 4
	return nil
}
