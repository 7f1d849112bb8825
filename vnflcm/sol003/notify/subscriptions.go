package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// subscription is a subscription as it is stored. It does not change.
type subscription struct {
	ID         string                     `json:"id"`
	Subscriber sol003.Subscriber          `json:"subscriber"`
	Request    sol003.SubscriptionRequest `json:"request"`
	// Packages is Request.Packages.
	Packages *sol003.PackageFilter `json:"packages,omitempty"`
}

// place is where in the feed the sender of a subscription is.
type place struct {
	After vnflcm.Cursor `json:"after"`
}

func (s *subscription) shown() *sol003.Subscription {
	return &sol003.Subscription{ID: s.ID, Filter: s.Request.Filter, CallbackURI: s.Request.CallbackURI, Verbosity: s.Request.Verbosity, Tenant: s.Subscriber.Tenant, Packages: s.Packages}
}

// The most subscriptions of a tenant, and of subscribers without tenant: each costs time for every change.
const (
	maxOfTenant      = 100
	maxWithoutTenant = 500
)

// most returns how many subscriptions a tenant can have.
func most(tenant string) int {
	if tenant == "" {
		return maxWithoutTenant
	}
	return maxOfTenant
}

// Subscribe stores a subscription, after a test call of its callback URI (SOL003 v2.6.1 5.4.20.3.2). From then on the
// subscriber gets notifications. An equal request of the same subscriber makes no second subscription. Errors:
// *vnflcm.ParamError for each fault of the request, also if the test call fails; vnflcm.ErrState when the tenant has 100
// subscriptions, or 500 have no tenant.
func (n *Notifier) Subscribe(ctx context.Context, who sol003.Subscriber, req sol003.SubscriptionRequest) (*sol003.Subscription, bool, error) {
	if err := check(req, n.hasCertificate()); err != nil {
		return nil, false, err
	}
	req.Verbosity = cmp.Or(req.Verbosity, sol003.Full)
	known, err := n.all(ctx)
	if err != nil {
		return nil, false, err
	}
	s := &subscription{ID: uuid.NewString(), Subscriber: who, Request: req, Packages: req.Packages}
	owned := 0
	for _, other := range known {
		if other.Subscriber == who && sameRequest(other.Request, req) && reflect.DeepEqual(other.Packages, req.Packages) {
			return other.shown(), true, nil
		}
		if other.Subscriber.Tenant == who.Tenant {
			owned++
		}
	}
	if owned >= most(who.Tenant) {
		return nil, false, fmt.Errorf("%w: there are %d subscriptions: delete some first", vnflcm.ErrState, owned)
	}
	if err := n.test(ctx, s); err != nil {
		return nil, false, err
	}
	after, err := n.manager.LatestChange(ctx)
	if err == nil {
		err = n.places.Put(ctx, s.ID, 0, place{after}) // first: the subscription is found together with its place
	}
	if err == nil {
		err = n.subscriptions.Put(ctx, s.ID, 0, s)
	}
	if err != nil {
		return nil, false, errors.Join(err, n.forget(ctx, s.ID))
	}
	n.wake()
	return s.shown(), false, nil
}

// sameRequest compares two requests with their credentials.
func sameRequest(a, b sol003.SubscriptionRequest) bool {
	x, errX := vnflcm.RevealJSON(a)
	y, errY := vnflcm.RevealJSON(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// all reads every subscription. One that cannot be read is logged and left out.
func (n *Notifier) all(ctx context.Context) (out []*subscription, err error) {
	list, err := n.subscriptions.List(ctx, "", 0)
	for _, document := range list {
		if s, err := n.decode(document); err == nil {
			out = append(out, s)
		}
	}
	return out, err
}

func (n *Notifier) decode(document vnflcm.Document) (*subscription, error) {
	s := new(subscription)
	err := document.Decode(s)
	if err != nil && n.unreadable.CompareAndSwap(false, true) {
		n.Logger.Error("a subscription cannot be read", "subscription", document.ID, "error", err)
	}
	return s, err
}

// Subscription returns a subscription, or an error that is vnflcm.ErrNotFound.
func (n *Notifier) Subscription(ctx context.Context, id string) (*sol003.Subscription, error) {
	document, err := n.subscriptions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := n.decode(document)
	if err != nil {
		return nil, err
	}
	return s.shown(), nil
}

// Subscriptions returns at most limit of a tenant's subscriptions after an id, in the order of their ids; those of all tenants for "". One
// that cannot be read is logged and left out.
func (n *Notifier) Subscriptions(ctx context.Context, tenant, after string, limit int) (out []*sol003.Subscription, err error) {
	for {
		list, err := n.subscriptions.List(ctx, after, limit)
		for _, document := range list {
			after = document.ID
			if s, err := n.decode(document); err == nil && (tenant == "" || tenant == s.Subscriber.Tenant) {
				out = append(out, s.shown())
			}
			if limit > 0 && len(out) == limit {
				return out, nil
			}
		}
		if err != nil || limit == 0 || len(list) < limit {
			return out, err
		}
	}
}

// Unsubscribe removes a subscription. ErrNotFound: the subscription does not exist. Notifications that are being sent
// at this moment, up to 64, may still arrive.
func (n *Notifier) Unsubscribe(ctx context.Context, id string) error {
	document, err := n.subscriptions.Get(ctx, id)
	if err == nil {
		err = n.subscriptions.Delete(ctx, id, document.Version)
	}
	if err != nil {
		return err
	}
	n.wake()
	return n.forget(ctx, id)
}

// forget removes the place of a subscription, which its sender may be changing.
func (n *Notifier) forget(ctx context.Context, id string) error {
	for {
		document, err := n.places.Get(ctx, id)
		if err == nil {
			err = n.places.Delete(ctx, id, document.Version)
		}
		switch {
		case errors.Is(err, vnflcm.ErrNotFound):
			return nil
		case !errors.Is(err, vnflcm.ErrConflict):
			return err
		}
	}
}

// Unsent returns the places in the feed of changes from which notifications are still to be sent, one for each subscription: changes behind
// them must stay (vnflcm.Manager.Purge). A notification that was given up counts as sent. An error means that a place cannot be read.
func (n *Notifier) Unsent(ctx context.Context) (places []vnflcm.Cursor, err error) {
	list, err := n.subscriptions.List(ctx, "", 0) // before the places: a subscription that comes later begins behind all changes of now
	if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
		return nil, err
	}
	for _, document := range list {
		var at place
		found, err := n.places.Get(ctx, document.ID)
		if errors.Is(err, vnflcm.ErrNotFound) { // removed since
			continue
		}
		if err == nil {
			err = found.Decode(&at)
		}
		if err != nil {
			return nil, fmt.Errorf("place of subscription %s: %w", document.ID, err)
		}
		places = append(places, at.After)
	}
	return places, nil
}
