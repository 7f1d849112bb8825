package helmcli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
)

// all is the length of lists to request: the default of helm is 256.
const all = 100000

// Status implements helmclient.Releases.
func (c *Client) Status(ctx context.Context, n helmclient.Name) (*helmclient.Release, error) {
	n, err := c.name(n)
	if err != nil {
		return nil, err
	}
	var r *helmclient.Release
	err = c.try(ctx, func(m *machine) (err error) {
		r, err = m.release(ctx, n, 0)
		return err
	})
	return r, err
}

// release reads a revision; 0 is the newest.
func (m *machine) release(ctx context.Context, n helmclient.Name, revision int) (*helmclient.Release, error) {
	args := []string{"get", "all", n.Release, "--namespace=" + n.Namespace, "--template=" + releaseTemplate}
	if revision != 0 {
		args = append(args, "--revision="+strconv.Itoa(revision))
	}
	out, err := m.helm(ctx, args...)
	if err != nil {
		return nil, err
	}
	return parseRelease(out)
}

// helm runs a helm command that only reads.
func (m *machine) helm(ctx context.Context, args ...string) ([]byte, error) {
	return m.run(ctx, command{argv: append([]string{"helm"}, args...)})
}

// read runs a helm command that only reads a release, on one of the machines.
func (c *Client) read(ctx context.Context, n helmclient.Name, args func(n helmclient.Name) []string) (out []byte, full helmclient.Name, err error) {
	if n, err = c.name(n); err != nil {
		return nil, n, err
	}
	err = c.try(ctx, func(m *machine) (err error) {
		out, err = m.helm(ctx, append(args(n), "--namespace="+n.Namespace)...)
		return err
	})
	return out, n, err
}

// History implements helmclient.Releases. The result has no labels, notes and chart descriptions.
func (c *Client) History(ctx context.Context, n helmclient.Name) ([]helmclient.Release, error) {
	out, n, err := c.read(ctx, n, func(n helmclient.Name) []string {
		return []string{"history", n.Release, "--output=json", "--max=" + strconv.Itoa(all)}
	})
	if err != nil {
		return nil, err
	}
	list, err := parseReleases(out)
	for i := range list {
		list[i].Name = n
	}
	slices.SortFunc(list, func(a, b helmclient.Release) int { return a.Revision - b.Revision })
	return list, err
}

// Values implements helmclient.Releases.
func (c *Client) Values(ctx context.Context, n helmclient.Name, revision int, all bool) (map[string]any, error) {
	if revision < 0 {
		return nil, fmt.Errorf("%w: revision %d", helmclient.ErrInvalid, revision)
	}
	out, _, err := c.read(ctx, n, func(n helmclient.Name) []string {
		args := []string{"get", "values", n.Release, "--output=json", "--revision=" + strconv.Itoa(revision)}
		if all {
			args = append(args, "--all")
		}
		return args
	})
	if err != nil {
		return nil, err
	}
	return parseValues(out)
}

// Manifest implements helmclient.Releases.
func (c *Client) Manifest(ctx context.Context, n helmclient.Name, revision int) (string, error) {
	if revision < 0 {
		return "", fmt.Errorf("%w: revision %d", helmclient.ErrInvalid, revision)
	}
	out, _, err := c.read(ctx, n, func(n helmclient.Name) []string {
		return []string{"get", "manifest", n.Release, "--revision=" + strconv.Itoa(revision)}
	})
	return string(out), err
}

// List implements helmclient.Releases. The result has no labels, notes and descriptions: helm does not list them.
func (c *Client) List(ctx context.Context, f helmclient.Filter) ([]helmclient.Release, error) {
	args := []string{"list", "--all", "--output=json", "--max=" + strconv.Itoa(all)}
	if f.Namespace == "" {
		args = append(args, "--all-namespaces")
	} else {
		if err := (helmclient.Name{Release: "x", Namespace: f.Namespace}).Validate(); err != nil {
			return nil, err
		}
		args = append(args, "--namespace="+f.Namespace)
	}
	labels, err := labelArgument(f.Labels)
	if err != nil {
		return nil, err
	}
	if labels != "" {
		args = append(args, "--selector="+labels)
	}
	var out []byte
	err = c.try(ctx, func(m *machine) (err error) {
		out, err = m.helm(ctx, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	list, err := parseReleases(out)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(r helmclient.Release) bool {
		return len(f.States) > 0 && !slices.Contains(f.States, r.State)
	})
	slices.SortFunc(list, func(a, b helmclient.Release) int {
		return strings.Compare(a.Namespace+"/"+a.Release, b.Namespace+"/"+b.Release)
	})
	return list, nil
}
