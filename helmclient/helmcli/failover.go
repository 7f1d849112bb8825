package helmcli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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

// Versions of helm that are driven: 3.14 is the first that knows all of the arguments that are used
// (--reset-then-reuse-values), 4 has other ones.
const (
	helmMajor    = 3
	helmMinMinor = 14
)

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
	if err := checkVersion(string(out)); err != nil {
		return unusable{fmt.Errorf("%w: %s: %w", helmclient.ErrInvalid, m.name, err)}
	}
	m.checked.Store(true)
	return nil
}

// checkVersion takes "v3.22.0", "v3.22", "v3.22.0+g1234" and the like.
func checkVersion(text string) error {
	text = strings.TrimSpace(text)
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	if len(parts) < 2 || len(text) > 64 {
		return fmt.Errorf("helm's version cannot be read from %.64q", text)
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(strings.TrimRight(strings.SplitN(parts[1], "+", 2)[0], "-"))
	switch {
	case err1 != nil || err2 != nil:
		return fmt.Errorf("helm's version cannot be read from %.64q", text)
	case major != helmMajor || minor < helmMinMinor:
		return fmt.Errorf("helm is %s: must be %d.%d or newer, and of version %d", text, helmMajor, helmMinMinor, helmMajor)
	}
	return nil
}
