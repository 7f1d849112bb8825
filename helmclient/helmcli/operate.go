package helmcli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/retry"
)

// operate runs an operation on one machine after the other until one succeeds. If the connection to a machine is lost,
// operate inspects the release before it asks another machine.
func (c *Client) operate(ctx context.Context, o operation) (*helmclient.Release, error) {
	release, err := c.hold(o.name)
	if err != nil {
		return nil, err
	}
	defer release()
	var all []error
	for _, m := range c.order() {
		r, asked, err := c.operateOn(ctx, m, o)
		if asked != nil && err != nil && passOver(ctx, err) {
			var resolved bool
			if r, resolved, err = c.resolveLost(ctx, m, o, *asked, err); resolved {
				return r, err
			}
		}
		if err == nil || !passOver(ctx, err) || errors.As(err, new(*unread)) {
			c.prefer(m)
			return r, err
		}
		c.config.Log.WarnContext(ctx, "machine passed over", "machine", m.name, "release", o.name.String(), "error", err)
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

// before is the state of a release before an operation.
type before struct {
	revision int
	state    helmclient.State
	stale    *helmclient.Release // left by a helm that no longer runs
	why      string
}

// annotate stores descriptions that helm's commands cannot set, after an operation has succeeded: the description of a
// rollback, and that a revision which --replace has superseded had failed. Only the history shows them.
func (c *Client) annotate(ctx context.Context, m *machine, o operation, was before) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), looking)
	defer cancel()
	var err error
	if was.stale != nil && o.verb == "install" {
		err = c.editRecord(ctx, m, was.stale, helmclient.Failed, was.why)
	}
	if o.description != "" {
		r, lookErr := m.release(ctx, o.name, 0)
		if lookErr == nil {
			lookErr = c.editRecord(ctx, m, r, "", o.description)
		}
		err = errors.Join(err, lookErr)
	}
	if err != nil {
		c.config.Log.WarnContext(ctx, "descriptions in the history could not be updated", "release", o.name.String(), "error", err)
	}
}

// operateOn runs an operation on a machine. asked is nil if helm was not started.
func (c *Client) operateOn(ctx context.Context, m *machine, o operation) (r *helmclient.Release, asked *before, err error) {
	if err := m.usable(ctx); err != nil {
		return nil, nil, err
	}
	was, err := c.unlock(ctx, m, &o)
	if err != nil {
		return nil, nil, err
	}
	if o, err = m.forceConflicts(ctx, o, was); err != nil {
		return nil, nil, err
	}
	p := providedChart{}
	if o.hasChart() {
		p, err = c.provideChart(ctx, m, o.source)
		defer func() { c.discard(ctx, m, p.temp) }()
		if err != nil {
			return nil, nil, err
		}
		if err := errors.Join(m.replaceCRDs(ctx, o, p), m.createCRDs(ctx, o, p, was)); err != nil {
			return nil, nil, err
		}
		if p, err = c.rendered(ctx, m, o, p); err != nil {
			return nil, nil, err
		}
	}
	run := o.command(p)
	run.lock = lockName(o.name)
	start := time.Now()
	wait := retry.Begin(ctx, fmt.Sprintf("helm %s of %s on %s", o.verb, o.name, m.name))
	defer wait.End()
	look := c.watch(ctx, m, o)
	_, err = m.run(ctx, run)
	last := look()
	if err == nil {
		c.annotate(ctx, m, o, was)
		r, err = c.result(ctx, m, o)
		return r, nil, err
	}
	if ctx.Err() != nil {
		return nil, &was, c.cancelled(ctx, m, o, was, err)
	}
	return nil, &was, c.explain(ctx, m, o, was, last, time.Since(start), err)
}

// result reads the release after a successful operation, although ctx may have ended. It asks the other machines if m
// cannot be reached. The error unread means that the operation has succeeded and only the read has failed.
func (c *Client) result(ctx context.Context, m *machine, o operation) (*helmclient.Release, error) {
	if o.verb == "uninstall" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), looking)
	defer cancel()
	r, err := m.release(ctx, o.name, 0)
	if err != nil && passOver(ctx, err) {
		r, err = c.Status(ctx, o.name)
	}
	if err != nil {
		return nil, &unread{err}
	}
	return r, nil
}

// unread reports that an operation has succeeded and its result could not be read: the operation must not be repeated.
type unread struct{ error }

func (e *unread) Error() string {
	return "helm: done, but what it has made could not be read: " + e.error.Error()
}

func (e *unread) Unwrap() error { return e.error }

// unlock reads the release and ensures that no operation works on it: a stale operation is marked as failed.
func (c *Client) unlock(ctx context.Context, m *machine, o *operation) (before, error) {
	r, err := m.release(ctx, o.name, 0)
	if errors.Is(err, helmclient.ErrNotFound) {
		return before{}, nil
	}
	if err != nil {
		return before{}, err
	}
	was := before{revision: r.Revision, state: r.State}
	if !r.State.Pending() || o.verb == "uninstall" {
		return was, nil
	}
	e := &helmclient.StaleError{Release: o.name, State: r.State, Since: r.Updated, Busy: o.stale <= 0 || time.Since(r.Updated) < o.stale}
	if e.Busy {
		return was, e
	}
	if err := c.ended(ctx, *o); err != nil { // the age of the record does not show whether a helm still runs
		e.Busy = true
		return was, errors.Join(e, err)
	}
	now, err := m.release(ctx, o.name, 0)
	if errors.Is(err, helmclient.ErrNotFound) {
		return before{}, nil
	}
	if err != nil {
		return was, err
	}
	if now.Revision != r.Revision || now.State != r.State { // that operation has finished meanwhile
		return before{revision: now.Revision, state: now.State}, nil
	}
	why := fmt.Sprintf("%s since %s was never finished", r.State, r.Updated.UTC().Format(time.RFC3339))
	if err := c.markFailed(ctx, m, r, why); err != nil {
		return was, errors.Join(e, err)
	}
	was.state, was.stale, was.why = helmclient.Failed, r, why
	if o.verb != "install" || r.State != helmclient.PendingInstall && r.State != helmclient.Uninstalling {
		return was, nil
	}
	// The release never existed, or was being uninstalled. --replace removes what is left of it and keeps its history.
	o.args = append(slices.Clone(o.args), "--replace")
	_, err = m.run(ctx, command{lock: lockName(o.name), argv: []string{"helm", "uninstall", o.name.Release, "--namespace=" + o.name.Namespace,
		"--keep-history", "--no-hooks", "--wait", "--timeout=" + timeout(o.wait).String(), "--description=" + why}})
	return was, err
}

// explain turns helm's failure into the error for the caller, with the objects that are not ready. If helm was killed
// or could not reach the cluster and left the release pending, explain marks the release as failed: that helm has
// ended.
func (c *Client) explain(ctx context.Context, m *machine, o operation, was before, last *helmclient.Progress, after time.Duration, err error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok || passOver(ctx, err) {
		return err
	}
	class := f.class()
	if class == helmclient.ErrExists || class == helmclient.ErrNotFound {
		return err
	}
	r, lookErr := c.state(ctx, m, o.name)
	if (class == helmclient.ErrNotReady || class == "") && o.verb != "uninstall" {
		if waiting := c.waiting(ctx, m, o, last, f); len(waiting) > 0 {
			err = errors.Join(&helmclient.NotReadyError{Release: o.name, After: after, Objects: waiting}, err)
		}
	}
	if lookErr != nil || !r.State.Pending() {
		return err
	}
	if class == helmclient.ErrBusy || !o.ours(was, r) {
		return errors.Join(&helmclient.StaleError{Release: o.name, State: r.State, Since: r.Updated, Busy: true}, err)
	}
	return errors.Join(err, c.markFailed(ctx, m, r, fmt.Sprintf("%s ended: %s", o.verb, firstLine(f.said()))))
}

// ours reports whether this operation created a revision.
func (o operation) ours(was before, r *helmclient.Release) bool {
	return r.Revision > was.revision || o.verb == "uninstall" && !was.state.Pending()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if line == "" {
		return "it was killed"
	}
	return line
}

// state reads the newest revision. While the cluster cannot be reached, it retries for a limited time.
func (c *Client) state(ctx context.Context, m *machine, n helmclient.Name) (r *helmclient.Release, err error) {
	unreachable := func(err error) bool { return errors.Is(err, helmclient.ErrUnreachable) }
	err = retry.Policy{First: 500 * time.Millisecond, Most: looking, Within: looking, If: unreachable}.Do(ctx, func() (err error) {
		r, err = m.release(ctx, n, 0)
		return err
	})
	return r, err
}

// waiting lists the hooks or objects that were not ready when helm gave up. After an atomic operation they no longer
// exist.
func (c *Client) waiting(ctx context.Context, m *machine, o operation, last *helmclient.Progress, f *failure) []helmclient.Object {
	if hooks := m.hooks(ctx, o.name, f.said()); len(hooks) > 0 {
		return hooks
	}
	if !o.wait.Ready || f.class() != helmclient.ErrNotReady {
		return nil
	}
	if p, _, err := m.progress(ctx, o.name); err == nil && (!o.atomic || last == nil) {
		last = &p
	}
	if last == nil {
		return nil
	}
	return last.Waiting
}
