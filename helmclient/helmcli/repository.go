package helmcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/fanout"
)

// repository is a repository that every machine must have.
type repository struct {
	helmclient.Repository
	on map[string]bool // machines that have it
}

var repositoryNames = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]{0,62}$`)

// AddRepository implements helmclient.Repositories. It adds the repository on all machines that can be reached, and on
// each other machine before its next use. It returns the error of a machine that was reached or, if none was, the errors
// of all.
func (c *Client) AddRepository(ctx context.Context, r helmclient.Repository) error {
	if !repositoryNames.MatchString(r.Name) {
		return fmt.Errorf("%w: repository %q: must be up to 63 letters, digits, '-', '_' and '.'", helmclient.ErrInvalid, r.Name)
	}
	u, err := url.Parse(r.URL)
	if err == nil && u.User != nil { // helm would show it on its command line
		if password, given := u.User.Password(); given && r.Password.IsZero() {
			r.Username, r.Password = u.User.Username(), helmclient.NewPassword(password)
		}
		u.User = nil
		r.URL = u.String()
	}
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(r.URL, "\x00\n\r ") {
		return fmt.Errorf("%w: repository %q: its URL must be http or https; charts in OCI registries need no repository",
			helmclient.ErrInvalid, r.Name)
	}
	on := map[string]bool{}
	var mu sync.Mutex
	err = c.somewhere(ctx, func(m *machine) error {
		if err := m.usable(ctx); err != nil {
			return err
		}
		err := m.addRepository(ctx, r)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			on[m.name] = true
		}
		return err
	})
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.known[r.Name] = repository{r, on}
		delete(c.forgotten, r.Name)
	}
	return err
}

func (m *machine) addRepository(ctx context.Context, r helmclient.Repository) error {
	args := []string{"helm", "repo", "add", r.Name, r.URL, "--force-update"}
	add := command{files: true, secrets: []string{r.Password.Reveal()}}
	if r.Username != "" || !r.Password.IsZero() {
		args = append(args, "--username="+r.Username, "--password-stdin")
		add.stdin = bytes.NewReader([]byte(r.Password.Reveal()))
	}
	if len(r.CA) > 0 {
		file, err := m.authority(ctx, r.CA)
		if err != nil {
			return err
		}
		args = append(args, "--ca-file="+file)
	}
	add.argv = args
	_, err := m.run(ctx, add)
	return err
}

// equip adds a repository to a machine that does not have it yet.
func (c *Client) equip(ctx context.Context, m *machine, name string) error {
	c.mu.Lock()
	r, known := c.known[name]
	missing := known && !r.on[m.name]
	remove := c.forgotten[name][m.name]
	c.mu.Unlock()
	if remove {
		if err := m.removeRepository(ctx, name); err != nil {
			return err
		}
		c.mu.Lock()
		delete(c.forgotten[name], m.name)
		c.mu.Unlock()
	}
	if !missing {
		return nil
	}
	if err := m.addRepository(ctx, r.Repository); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.on[m.name] = true
	return nil
}

// UpdateRepositories implements helmclient.Repositories, on all machines that can be reached. Without any repository it
// does nothing.
func (c *Client) UpdateRepositories(ctx context.Context, names ...string) error {
	for _, name := range names {
		if !repositoryNames.MatchString(name) {
			return fmt.Errorf("%w: repository %q", helmclient.ErrInvalid, name)
		}
	}
	return c.somewhere(ctx, func(m *machine) error {
		if err := m.usable(ctx); err != nil {
			return err
		}
		for _, name := range names {
			if err := c.equip(ctx, m, name); err != nil {
				return err
			}
		}
		_, err := m.run(ctx, command{argv: append([]string{"helm", "repo", "update", "--fail-on-repo-update-fail"}, names...), files: true})
		if f, ok := errors.AsType[*failure](err); ok && len(names) == 0 && strings.Contains(f.stderr, "no repositories found") {
			return nil
		}
		return err
	})
}

// RemoveRepository implements helmclient.Repositories. It removes the repository on all machines that can be reached,
// and on each other machine before the name is used there again.
func (c *Client) RemoveRepository(ctx context.Context, name string) error {
	if !repositoryNames.MatchString(name) {
		return fmt.Errorf("%w: repository %q", helmclient.ErrInvalid, name)
	}
	removed := map[string]bool{}
	var mu sync.Mutex
	err := c.somewhere(ctx, func(m *machine) error {
		err := m.usable(ctx)
		if err == nil {
			err = m.removeRepository(ctx, name)
		}
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			removed[m.name] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
	c.forgotten[name] = map[string]bool{}
	for _, m := range c.machines {
		c.forgotten[name][m.name] = !removed[m.name]
	}
	return nil
}

func (m *machine) removeRepository(ctx context.Context, name string) error {
	_, err := m.run(ctx, command{argv: []string{"helm", "repo", "remove", name}})
	if f, ok := errors.AsType[*failure](err); ok && (strings.Contains(f.stderr, "no repositories configured") || strings.Contains(f.stderr, "no repo named")) {
		return nil
	}
	return err
}

// everywhere calls act for all machines concurrently, and joins their errors.
func (c *Client) everywhere(ctx context.Context, act func(m *machine) error) error {
	err := fanout.Each(ctx, len(c.machines), 0, func(i int) error { return act(c.machines[i]) })
	if ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return err
}

// somewhere calls act for all machines concurrently. Machines that cannot be reached are ignored if one can be reached.
func (c *Client) somewhere(ctx context.Context, act func(m *machine) error) error {
	var mu sync.Mutex
	var reached int
	var missed []error
	err := c.everywhere(ctx, func(m *machine) error {
		err := act(m)
		mu.Lock()
		defer mu.Unlock()
		if err != nil && passOver(ctx, err) {
			missed = append(missed, err)
			return nil
		}
		reached++
		return err
	})
	if err != nil || reached > 0 {
		if len(missed) > 0 {
			c.config.Log.WarnContext(ctx, "machines passed over", "error", errors.Join(missed...))
		}
		return err
	}
	return errors.Join(missed...)
}
