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

	"github.com/vnfkit/vnfkit/internal/retry"
)

// Observer receives the events of a stack while a function waits for the stack. It must not block.
type Observer func(Event)

// Created waits until Heat has created a stack. It returns *StackError if the creation fails.
func (c *Client) Created(ctx context.Context, s *Stack, tell Observer) (*Stack, error) {
	return c.await(ctx, s, creating, "", tell, nil)
}

// Deleted waits until Heat has deleted a stack. It returns *StackError if the deletion fails.
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

// forgotten waits until the name of a deleted stack is free. Heat still finds a deleted stack by its name for a moment and
// refuses a new one with that name. forgotten returns nil after grace even if the name is not free.
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
		if cause := retry.Pause(ctx, c.poll); cause != nil {
			return fmt.Errorf("waiting for Heat to forget stack %s: %w", s.Name, cause)
		}
	}
	return nil
}

// AtRest waits until Heat does not change the stack any more, whether the action succeeds or fails. It returns the stack
// in its new state, or nil if the stack was deleted.
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

// Apply updates a stack and waits until Heat has finished. It returns *StackError if the update fails. Heat must not be
// changing the stack when Apply is called.
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

// ErrOverdue says that Heat did not finish an action on a stack within the timeout of the Client.
var ErrOverdue = errors.New("Heat did not come to an end in time") //nolint:staticcheck // Heat is a name

const (
	// grace is how much longer than the timeout this package waits. If Heat itself ends the action at the timeout, its error
	// has a better reason.
	grace = 15 * time.Second
	// patience is how long Heat may give no answer during a wait: an operator may restart Heat meanwhile.
	patience = 5 * time.Minute
	// unbegun is how many times a stack may show its former state after Heat has accepted an update.
	unbegun = 30
)

// wait is the state of one call of await.
type wait struct {
	client *Client
	stack  *Stack
	course course
	before *Stack // state before the update; Heat may show it for a while after it has accepted the update
	tell   Observer
	began  time.Time

	waiting *retry.Wait
	marker  string
	events  []Event // since the action began
	stale   int
	silent  time.Time // time of the first request without an answer; zero after an answer
}

// await polls a stack until the action of course has ended. marker is the id of the last event before the action.
func (c *Client) await(ctx context.Context, s *Stack, course course, marker string, tell Observer, before *Stack) (*Stack, error) {
	// Heat does not enforce its timeout after a restart of its engine: the stack can stay in progress forever.
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout+grace, ErrOverdue)
	defer cancel()
	w := &wait{client: c, stack: s, course: course, before: before, tell: tell, began: time.Now(), marker: marker}
	w.waiting = retry.Begin(ctx, w.subject())
	defer w.waiting.End()
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval, pause.Multiplier = c.poll, 10*c.poll, 1.3
	for {
		now, done, err := w.look(ctx)
		if done || err != nil {
			return now, err
		}
		if retry.Pause(ctx, pause.NextBackOff()) != nil {
			return nil, w.interrupted(ctx)
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
	w.waiting.Answered()
	if now != nil {
		w.stack = now
	}
	done, err = w.judge(now)
	return now, done, err
}

// judge reports whether the action has ended, and its error.
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

// unchanged reports whether the stack still shows the state before the action.
func (w *wait) unchanged(now *Stack) bool {
	if w.course.action == deleting.action {
		return now.Status.Action() != deleting.action
	}
	return w.before != nil && now.Status == w.before.Status && now.updated == w.before.updated
}

// follow reads the new events and passes them to the observer.
func (w *wait) follow(ctx context.Context) error {
	events, err := w.client.eventsAfter(ctx, w.stack, w.marker)
	if err != nil {
		return err
	}
	for _, e := range events {
		if slices.ContainsFunc(w.events, func(known Event) bool { return known.ID == e.ID }) {
			continue // Heat sends all events again if it has deleted the event of the marker
		}
		w.marker = e.ID
		w.events = append(w.events, e)
		if w.tell != nil {
			w.tell(e)
		}
	}
	return nil
}

// endure ignores temporary errors until there was no answer for the time patience.
func (w *wait) endure(err error) error {
	if !Passing(err) {
		return err
	}
	if w.silent.IsZero() {
		w.silent = time.Now()
	}
	w.waiting.Failed(err)
	if time.Since(w.silent) > patience {
		return fmt.Errorf("no answer about stack %s for %s: %w", w.stack.Name, patience, err)
	}
	return nil
}

// subject says what the call waits for.
func (w *wait) subject() string { return fmt.Sprintf("%s of stack %s", w.course.action, w.stack.Name) }

// interrupted returns an error that names the action and the resources that Heat has not finished.
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
	text := fmt.Sprintf("waiting for %s, which is %s", w.subject(), w.stack.Status)
	if len(busy) > 0 {
		text += ", unfinished resources: " + strings.Join(busy[:min(len(busy), 5)], ", ")
	}
	return fmt.Errorf("%s: %w", text, context.Cause(ctx))
}
