package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// sender sends the notifications of one subscription.
type sender struct {
	*Notifier
	*subscription
	log    *slog.Logger
	tokens *tokens // nil without OAuth 2.0
}

func (n *Notifier) newSender(s *subscription) *sender {
	out := &sender{Notifier: n, subscription: s, log: n.Logger.With("subscription", s.ID)}
	if a := s.Request.Authentication; a != nil && slices.Contains(a.AuthType, oauth2Type) {
		out.tokens = newTokens(n.client, *a.ParamsOAuth)
	}
	return out
}

const (
	batch    = 64   // changes that are read at once
	maxAhead = 1000 // changes for other subscribers that may be read again after a death
)

// run sends until ctx ends or the subscription is removed.
func (s *sender) run(ctx context.Context) {
	for known := ""; ; _ = retry.Pause(ctx, refreshEvery) {
		err := s.follow(ctx)
		if ctx.Err() != nil || errors.Is(err, vnflcm.ErrNotFound) {
			return
		}
		if text := err.Error(); text != known {
			s.log.WarnContext(ctx, "notifications cannot be sent now", "error", err)
			known = text
		}
	}
}

// follow sends from the stored place on. ErrNotFound: the subscription is removed. ErrConflict: the stored place is not the
// one that was read, because another process sends or the answer to a write was lost.
func (s *sender) follow(ctx context.Context) error {
	document, err := s.places.Get(ctx, s.ID)
	if err != nil {
		return err
	}
	var at place
	if err := document.Decode(&at); err != nil {
		return err
	}
	for version, passed := document.Version, 0; ; {
		changes, next, err := s.manager.AwaitChanges(ctx, at.After, batch)
		if errors.Is(err, vnflcm.ErrUnreadable) {
			s.log.ErrorContext(ctx, "changes that cannot be read are not sent", "error", err)
		} else if err != nil {
			return err
		}
		list := s.selected(changes)
		if len(list) > 0 {
			if _, err := s.subscriptions.Get(ctx, s.ID); err != nil {
				return err
			}
			if !s.send(ctx, list) {
				return context.Cause(ctx)
			}
		}
		at.After = next
		if passed += batch; len(list) == 0 && passed < maxAhead {
			continue
		}
		// Also if ctx has just ended: the next process must not send them again.
		if err := s.places.Put(context.WithoutCancel(ctx), s.ID, version, at); err != nil {
			return err
		}
		version, passed = version+1, 0
	}
}

// selected returns the changes that the subscription selects.
func (s *sender) selected(changes []vnflcm.ChangeEntry) (out []vnflcm.ChangeEntry) {
	for _, c := range changes {
		if s.matches(c, kindOf(c)) {
			out = append(out, c)
		}
	}
	return out
}

// send sends the notifications of changes, those of one instance or package in order. It returns false if ctx ended before all
// were sent.
func (s *sender) send(ctx context.Context, changes []vnflcm.ChangeEntry) bool {
	inOrder := map[string][]vnflcm.ChangeEntry{}
	for _, c := range changes {
		id := c.VNF.InstanceID
		if c.Package != nil {
			id = c.Package.ID
		}
		inOrder[id] = append(inOrder[id], c)
	}
	lists := slices.Collect(maps.Values(inOrder))
	return fanout.Each(ctx, len(lists), perSubscriber, func(i int) error {
		for _, c := range lists[i] {
			if !s.deliver(ctx, c) {
				return context.Cause(ctx)
			}
		}
		return nil
	}) == nil
}

// deliver sends a notification until the subscriber accepts or refuses it, or until it is too old. It returns false if
// ctx ended before.
func (s *sender) deliver(ctx context.Context, c vnflcm.ChangeEntry) bool {
	log := s.log.With("notification", c.ID)
	body, err := s.notification(c, kindOf(c))
	if err != nil {
		s.giveUp(ctx, log, "a notification cannot be made", err)
		return true
	}
	warned := false
	defer s.delayed.end(s.ID, c)
	sending := retry.Policy{First: time.Second, Most: time.Minute, Within: max(s.GiveUpAfter-time.Since(c.Time), 1), If: mayPass}
	err = sending.Do(ctx, func() error {
		err := s.call(ctx, http.MethodPost, body)
		if err != nil && !warned && ctx.Err() == nil && mayPass(err) {
			warned = true
			s.delayed.begin(s.ID, c)
			log.WarnContext(ctx, "a notification will be sent again", "error", err)
		}
		return err
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return false
	case mayPass(err):
		s.giveUp(ctx, log, "a notification is given up: the subscriber does not take it", err)
	default:
		s.giveUp(ctx, log, "the subscriber refuses a notification", err)
	}
	return true
}

// giveUp reports a notification that is not sent again.
func (s *sender) giveUp(ctx context.Context, log *slog.Logger, text string, err error) {
	log.ErrorContext(ctx, text, "error", err)
	if s.GivenUp != nil {
		s.GivenUp(s.ID, err)
	}
}

// statusError is an answer that is no success.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

// mayPass reports whether the subscriber may accept the same notification later.
func mayPass(err error) bool {
	refused, isStatus := errors.AsType[statusError](err)
	return !isStatus || !slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}, int(refused))
}

// versions are the Version headers of notifications, packageVersions those of notifications of packages.
var (
	versions        = map[string]string{"v1": "1.3.0", "v2": "2.0.0"}
	packageVersions = map[string]string{"v1": "1.2.0", "v2": "2.1.0"}
)

// call sends a request to the callback URI. The error does not quote the URI, whose query may be a secret.
func (s *sender) call(ctx context.Context, method string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, s.Request.CallbackURI, bytes.NewReader(body))
	if err != nil {
		return withoutURI(err)
	}
	version := versions[s.Subscriber.API]
	if s.Packages != nil {
		version = packageVersions[s.Subscriber.API]
	}
	request.Header.Set("Version", version)
	request.Header.Set("Accept", "application/json")
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if err := s.authenticate(request); err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return withoutURI(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection can be used again
	if response.StatusCode == http.StatusUnauthorized && s.tokens != nil {
		s.tokens.drop()
	}
	if response.StatusCode/100 != 2 {
		return statusError(response.StatusCode)
	}
	return nil
}

func (s *sender) authenticate(request *http.Request) error {
	a := s.Request.Authentication
	switch {
	case a == nil:
	case s.tokens != nil:
		return s.tokens.authenticate(request)
	case slices.Contains(a.AuthType, certificateType) && s.hasCertificate():
	case a.ParamsBasic != nil:
		request.SetBasicAuth(a.ParamsBasic.UserName, a.ParamsBasic.Password.Reveal())
	}
	return nil
}

// withoutURI returns an error without the URIs and the answers that it quotes.
func withoutURI(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return statusError(refused.Response.StatusCode)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// test sends the test call of a new subscription. The answer says no more than a client needs: it must not make the VNFM a
// means to explore the network.
func (n *Notifier) test(ctx context.Context, s *subscription) error {
	err := n.newSender(s).call(ctx, http.MethodGet, nil)
	if err == nil {
		return nil
	}
	n.Logger.InfoContext(ctx, "the test call of a subscription has failed", "error", err)
	reason := "cannot be reached"
	status, isStatus := errors.AsType[statusError](err)
	switch {
	case errors.Is(err, outbound.ErrAddress):
		reason = "is at an address that this VNFM does not call"
	case isStatus:
		reason = fmt.Sprintf("must answer a GET with 204 No Content (SOL003 v2.6.1 5.4.20.3.2), not with %d", status)
	}
	return &vnflcm.ParamError{Path: "callbackUri", Reason: reason}
}
