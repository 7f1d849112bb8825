package heat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Observer is told what happens in a stack that is waited for. It must not block.
type Observer func(Event)

// Created waits until a stack is made: *StackError when that fails.
func (c *Client) Created(ctx context.Context, s *Stack, tell Observer) (*Stack, error) {
	return c.await(ctx, s, creating, "", tell, nil)
}

// Deleted waits until a stack is gone: *StackError when the deletion fails.
func (c *Client) Deleted(ctx context.Context, s *Stack, tell Observer) error {
	marker, err := c.lastEvent(ctx, s)
	if err != nil {
		return err
	}
	if _, err = c.await(ctx, s, deleting, marker, tell, nil); err != nil {
		return err
	}
	return c.forgotten(ctx, s)
}

// forgotten waits until a deleted stack no longer has its name: for a moment it is still listed, and no other can
// be made. What lasts longer is not waited for.
func (c *Client) forgotten(ctx context.Context, s *Stack) error {
	for end := time.Now().Add(grace); time.Now().Before(end); {
		var body stackBody
		err := c.call(ctx, "look at stack "+s.Name, http.MethodGet, c.api.ServiceURL("stacks", s.Name)+"?resolve_outputs=False", nil, &body)
		if gone(err) || err == nil && body.Stack.ID != s.ID {
			return nil
		}
		if err != nil && !Passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for Heat to forget stack %s: %w", s.Name, context.Cause(ctx))
		case <-time.After(c.poll):
		}
	}
	return nil
}

// AtRest waits until Heat is at work on a stack no longer, whatever comes of it, and returns it as it is then:
// nil when it is gone.
func (c *Client) AtRest(ctx context.Context, s *Stack, tell Observer) (*Stack, error) {
	if s == nil || !s.Status.InProgress() {
		return s, nil
	}
	marker, err := c.lastEvent(ctx, s)
	if err != nil {
		return nil, err
	}
	return c.await(ctx, s, resting, marker, tell, nil)
}

// Apply updates a stack at rest and waits until that is done: *StackError when it fails.
func (c *Client) Apply(ctx context.Context, s *Stack, d Definition, tell Observer) (*Stack, error) {
	marker, err := c.lastEvent(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := c.Update(ctx, s, d); err != nil {
		return nil, err
	}
	return c.await(ctx, s, updating, marker, tell, s)
}

// ErrOverdue says that a stack did not come to rest within the time that Heat was given.
var ErrOverdue = errors.New("Heat did not come to an end in time") //nolint:staticcheck // Heat is a name

const (
	// grace is how much longer than that a stack is waited for: Heat's own end of it has a better reason.
	grace = 15 * time.Second
	// patience is how long Heat may give no answer while a stack is waited for: it can be restarted meanwhile.
	patience = 5 * time.Minute
	// unbegun is how often a stack may show what it showed before an update was accepted.
	unbegun = 30
)

// wait is one waiting for a stack.
type wait struct {
	client *Client
	stack  *Stack
	course course
	before *Stack // as it was before an update was asked for: it may show so for a while
	tell   Observer

	marker string
	events []Event // since the action began
	stale  int
	silent time.Time // since when Heat gives no answer
}

// await looks at a stack until it has gone through its course. marker is the last event before that.
func (c *Client) await(ctx context.Context, s *Stack, course course, marker string, tell Observer, before *Stack) (*Stack, error) {
	// Heat keeps its own limit only while it works: an engine that is restarted can forget a stack for good.
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout+grace, ErrOverdue)
	defer cancel()
	w := &wait{client: c, stack: s, course: course, before: before, tell: tell, marker: marker}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval, pause.Multiplier = c.poll, 10*c.poll, 1.3
	for {
		now, done, err := w.look(ctx)
		if done || err != nil {
			return now, err
		}
		select {
		case <-ctx.Done():
			return nil, w.interrupted(ctx)
		case <-time.After(pause.NextBackOff()):
		}
	}
}

// look reads the stack and its events once.
func (w *wait) look(ctx context.Context) (now *Stack, done bool, err error) {
	now, err = w.client.Get(ctx, w.stack)
	if err == nil && now != nil {
		err = w.follow(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, false, w.interrupted(ctx)
	case err != nil:
		return nil, false, w.endure(err)
	}
	w.silent = time.Time{}
	if now != nil {
		w.stack = now
	}
	done, err = w.judge(now)
	return now, done, err
}

// judge says whether the waiting is over.
func (w *wait) judge(now *Stack) (done bool, err error) {
	switch {
	case now == nil && len(w.course.good) > 0:
		return false, &StackError{Stack: w.stack.Name, ID: w.stack.ID, Action: w.course.action, Reason: "the stack was deleted meanwhile"}
	case now == nil:
		return true, nil
	case w.course.action == resting.action:
		return !now.Status.InProgress(), nil
	case slices.Contains(w.course.through, now.Status):
		return false, nil
	case w.unchanged(now):
		if w.stale++; w.stale > unbegun {
			return false, &StackError{Stack: now.Name, ID: now.ID, Action: w.course.action, Status: now.Status, Reason: neverBegan}
		}
		return false, nil
	case slices.Contains(w.course.good, now.Status):
		return true, nil
	}
	return false, w.failure(now)
}

// unchanged reports whether the stack still shows what it did before the action was asked for.
func (w *wait) unchanged(now *Stack) bool {
	if w.course.action == deleting.action {
		return now.Status.Action() != deleting.action
	}
	return w.before != nil && now.Status == w.before.Status && now.updated == w.before.updated
}

// follow reads what happened since the last look.
func (w *wait) follow(ctx context.Context) error {
	events, err := w.client.eventsAfter(ctx, w.stack, w.marker)
	if err != nil {
		return err
	}
	for _, e := range events {
		if slices.ContainsFunc(w.events, func(known Event) bool { return known.ID == e.ID }) {
			continue // Heat begins anew when it has dropped the event of the marker
		}
		w.marker = e.ID
		w.events = append(w.events, e)
		if w.tell != nil {
			w.tell(e)
		}
	}
	return nil
}

// endure bears errors that can pass, for as long as patience lasts.
func (w *wait) endure(err error) error {
	if !Passing(err) {
		return err
	}
	if w.silent.IsZero() {
		w.silent = time.Now()
	}
	if time.Since(w.silent) > patience {
		return fmt.Errorf("no answer about stack %s for %s: %w", w.stack.Name, patience, err)
	}
	return nil
}

// interrupted says what was waited for and what was still going on.
func (w *wait) interrupted(ctx context.Context) error {
	last := map[string]Status{}
	for _, e := range w.events {
		last[e.stack()+"/"+e.Resource] = e.Status
	}
	var busy []string
	for _, e := range w.events {
		if !e.ofStack() && last[e.stack()+"/"+e.Resource].InProgress() && !slices.Contains(busy, e.Resource) {
			busy = append(busy, e.Resource)
		}
	}
	text := fmt.Sprintf("waiting for %s of stack %s, which is %s", w.course.action, w.stack.Name, w.stack.Status)
	if len(busy) > 0 {
		text += ", unfinished resources: " + strings.Join(busy[:min(len(busy), 5)], ", ")
	}
	return fmt.Errorf("%s: %w", text, context.Cause(ctx))
}
