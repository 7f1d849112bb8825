package helmcli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/claims"
)

// Install implements helmclient.Releases.
func (c *Client) Install(ctx context.Context, r helmclient.Install) (*helmclient.Release, error) {
	args, err := installArguments(r)
	if err != nil {
		return nil, err
	}
	return c.deploy(ctx, r, operation{verb: "install", args: args})
}

// Upgrade implements helmclient.Releases.
func (c *Client) Upgrade(ctx context.Context, r helmclient.Upgrade) (*helmclient.Release, error) {
	args, err := upgradeArguments(r)
	if err != nil {
		return nil, err
	}
	return c.deploy(ctx, r.Install, operation{verb: "upgrade", args: args, orInstall: r.OrInstall})
}

// deploy runs an install or upgrade.
func (c *Client) deploy(ctx context.Context, r helmclient.Install, o operation) (*helmclient.Release, error) {
	var err error
	if o.name, err = c.name(r.Name); err != nil {
		return nil, err
	}
	if o.values, err = mergeValues(r.Values); err != nil {
		return nil, err
	}
	if o.source, err = prepare(r.Chart); err != nil {
		return nil, err
	}
	o.wait, o.stale, o.atomic, o.crds, o.postRender = r.Wait, r.Stale, r.Atomic, r.CRDs, r.PostRender
	o.wait.Ready = r.Ready || r.Atomic
	if r.DryRun {
		return c.rehearse(ctx, o)
	}
	return c.operate(ctx, o)
}

// rehearse makes a dry run, which asks the API server and changes nothing.
func (c *Client) rehearse(ctx context.Context, o operation) (r *helmclient.Release, err error) {
	err = c.try(ctx, func(m *machine) error {
		r, err = c.dryRun(ctx, m, o)
		return err
	})
	return r, err
}

func (c *Client) dryRun(ctx context.Context, m *machine, o operation) (*helmclient.Release, error) {
	p, err := c.provideChart(ctx, m, o.source)
	defer c.discard(ctx, m, p.temp)
	if err != nil {
		return nil, err
	}
	run := o.command(p)
	run.argv = append(run.argv, "--dry-run=server")
	out, err := m.run(ctx, run)
	if err != nil {
		return nil, err
	}
	r, err := parseDryRun(out)
	if err != nil || o.postRender == nil {
		return r, err
	}
	changed, err := o.postRender(ctx, []byte(r.Manifest))
	r.Manifest = string(changed)
	return r, err
}

// Rollback implements helmclient.Releases.
func (c *Client) Rollback(ctx context.Context, r helmclient.Rollback) (*helmclient.Release, error) {
	args, err := rollbackArguments(r)
	if err != nil {
		return nil, err
	}
	o := operation{verb: "rollback", args: args, wait: r.Wait, stale: r.Stale, description: r.Description}
	if o.name, err = c.name(r.Name); err != nil {
		return nil, err
	}
	if r.Revision > 0 {
		o.positional = []string{strconv.Itoa(r.Revision)}
	}
	if r.PostRender != nil {
		if err := c.changeManifest(ctx, o.name, cmp.Or(r.Revision, previous), r.PostRender); err != nil {
			return nil, err
		}
	}
	return c.operate(ctx, o)
}

// Uninstall implements helmclient.Releases.
func (c *Client) Uninstall(ctx context.Context, r helmclient.Uninstall) error {
	args, err := uninstallArguments(r)
	if err != nil {
		return err
	}
	o := operation{verb: "uninstall", args: args, wait: r.Wait}
	if o.name, err = c.name(r.Name); err != nil {
		return err
	}
	if r.KeepClaims || r.KeepVolumes || len(r.Keep) > 0 {
		kept := claims.Keep{Claims: r.KeepClaims, Volumes: r.KeepVolumes, Objects: r.Keep, Namespace: o.name.Namespace}
		err := c.changeManifest(ctx, o.name, 0, func(_ context.Context, manifest []byte) ([]byte, error) {
			out, _, err := kept.In(string(manifest))
			return []byte(out), err
		})
		if err != nil {
			return err
		}
	}
	_, err = c.operate(ctx, o)
	return err
}

// operation is a command that changes a release.
type operation struct {
	verb        string // install, upgrade, rollback, uninstall
	name        helmclient.Name
	args        []string
	positional  []string // after the release's name
	source      source   // of install and upgrade
	values      values
	wait        helmclient.Wait
	stale       time.Duration
	atomic      bool
	orInstall   bool
	description string // of a rollback; helm has no argument for it
	crds        helmclient.CRDPolicy
	postRender  func(ctx context.Context, manifest []byte) ([]byte, error)
}

func (o operation) hasChart() bool { return o.verb == "install" || o.verb == "upgrade" }

// command returns helm's command line.
func (o operation) command(p providedChart) command {
	c := command{argv: append([]string{"helm", o.verb, o.name.Release}, o.positional...)}
	if o.hasChart() {
		c.argv = append(c.argv, p.ref)
		c.files = true
	}
	c.argv = append(append(c.argv, "--namespace="+o.name.Namespace), o.args...)
	if !o.hasChart() {
		return c
	}
	c.argv = append(append(append(c.argv, "--output=json"), p.args...), o.values.args...)
	c.secrets = []string{o.source.Access.Password.Reveal()}
	if o.values.document != nil {
		c.argv = append(c.argv, "--values=-")
		c.stdin = o.values.reader()
	}
	return c
}

func (v values) reader() io.Reader { return bytes.NewReader(v.document) }

// lockName is a file in Config.Dir that is locked while a helm of this package works on the release.
func lockName(n helmclient.Name) string { return fmt.Sprintf("lock.%s.%s", n.Namespace, n.Release) }
