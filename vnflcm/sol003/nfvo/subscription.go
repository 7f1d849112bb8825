package nfvo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// subscriptionRecord is the subscription to notifications of packages.
type subscriptionRecord struct {
	ID       string        `json:"id,omitempty"` // "" until the NFVO has answered
	Callback string        `json:"callback"`
	Password vnflcm.Secret `json:"password"` // of callbackUser, with which the NFVO sends notifications
}

const (
	callbackUser   = "nfvo"
	subscriptionID = "subscription" // of the one document in subscriptionsIn
)

// Intervals of Run.
const (
	lookEvery  = time.Minute
	sweepEvery = time.Hour
)

// Run keeps the subscription to notifications of the NFVO, and removes what the cache needs no more, until ctx ends or the Manager is
// closed. One of the processes on the Store does it. The handler must serve before Run is called: the NFVO tests the callback URI.
func (c *PackageCache) Run(ctx context.Context) error {
	m, err := c.attached()
	if err != nil {
		return err
	}
	return m.Exclusively(ctx, "nfvo-packages", c.maintain)
}

func (c *PackageCache) maintain(ctx context.Context) error {
	known, swept := "", time.Time{}
	for {
		renewed, err := c.subscribe(ctx)
		if isDue := time.Since(swept) >= sweepEvery; isDue || renewed {
			swept = time.Now()
			err = errors.Join(err, c.refreshAll(ctx), c.sweep(ctx))
		}
		err = errors.Join(err, c.trim(ctx, ""))
		text := fmt.Sprint(err)
		if err != nil && ctx.Err() == nil && text != known {
			c.Logger.WarnContext(ctx, "the packages of the NFVO cannot be followed now", "error", err)
		}
		known = text
		if err := retry.Pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// refreshAll asks the NFVO for the state of each package in the cache: notifications may have been lost.
func (c *PackageCache) refreshAll(ctx context.Context) error {
	list, err := c.all(ctx)
	if err != nil {
		return err
	}
	for _, p := range list {
		now, err := c.info(ctx, p.id)
		state := now.state()
		if errors.Is(err, vnflcm.ErrNotFound) {
			state, err = Deleted, nil
		}
		if err == nil {
			err = c.setState(ctx, p.id, state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setState records the state of a package in the cache. It changes the version of the record, so that an instance that is created at the
// same time asks the NFVO again.
func (c *PackageCache) setState(ctx context.Context, id string, state State) error {
	_, err := c.changeKnown(ctx, id, func(p *entry) error { p.State = state; return nil })
	return err
}

// subscribe makes the subscription if the NFVO does not have it, and reports whether it did.
func (c *PackageCache) subscribe(ctx context.Context) (renewed bool, err error) {
	m, err := c.attached()
	if err != nil || c.Callback == "" {
		return false, err
	}
	documents := m.Documents(subscriptionsIn)
	var s subscriptionRecord
	d, err := documents.Get(ctx, subscriptionID)
	if err == nil {
		err = d.Decode(&s)
	}
	if err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
		return false, err
	}
	isNew := s.Callback != c.Callback
	if s.ID != "" {
		if missing, err := c.endOrKeep(ctx, s.ID, isNew); !missing || err != nil {
			return false, err
		}
	}
	if isNew {
		s = subscriptionRecord{Callback: c.Callback, Password: vnflcm.NewSecret(rand.Text())}
	}
	// The password is stored first: the NFVO may send notifications before its answer arrives.
	s.ID = ""
	if err := documents.Put(ctx, subscriptionID, d.Version, s); err != nil {
		return false, err
	}
	if s.ID, err = c.postSubscription(ctx, s, isNew); err != nil {
		return false, fmt.Errorf("subscribing to packages of the NFVO: %w", err)
	}
	return true, documents.Put(ctx, subscriptionID, d.Version+1, s)
}

// endOrKeep reports whether the NFVO does not have a subscription, which ends removes.
func (c *PackageCache) endOrKeep(ctx context.Context, id string, ends bool) (missing bool, err error) {
	if ends {
		return true, c.unsubscribe(ctx, id)
	}
	var present struct{}
	_, err = c.get(ctx, nil, &present, "subscriptions", id)
	if isStatus(err, http.StatusNotFound) {
		return true, nil
	}
	return false, err
}

// unsubscribe removes a subscription at the NFVO.
func (c *PackageCache) unsubscribe(ctx context.Context, id string) error {
	answer, err := c.call(ctx, http.MethodDelete, c.resource(nil, "subscriptions", id), nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 && answer.StatusCode != http.StatusNotFound {
		return c.client.refusal(answer)
	}
	return nil
}

// postSubscription returns the id of a subscription that the NFVO makes. If the NFVO answers that it has one for the callback URI already,
// that one has another password if the password is new: it is replaced.
func (c *PackageCache) postSubscription(ctx context.Context, s subscriptionRecord, isNew bool) (string, error) {
	id, exists, err := c.postOnce(ctx, s)
	if err != nil || !exists || !isNew {
		return id, err
	}
	if err := c.unsubscribe(ctx, id); err != nil {
		return "", err
	}
	id, _, err = c.postOnce(ctx, s)
	return id, err
}

// postOnce sends a PkgmSubscriptionRequest (SOL003 v2.6.1 and v3.3.1 10.5.2.3).
func (c *PackageCache) postOnce(ctx context.Context, s subscriptionRecord) (id string, exists bool, err error) {
	type object = map[string]any
	body, err := json.Marshal(object{"callbackUri": s.Callback, "filter": object{"notificationTypes": []string{onboardingNotification, changeNotification}},
		"authentication": object{"authType": []string{"BASIC"}, "paramsBasic": object{"userName": callbackUser, "password": s.Password.Reveal()}}})
	if err != nil {
		return "", false, err
	}
	answer, err := c.call(ctx, http.MethodPost, c.resource(nil, "subscriptions"), body)
	if err != nil {
		return "", false, err
	}
	defer answer.Body.Close()
	var made struct{ ID string }
	switch answer.StatusCode {
	case http.StatusCreated:
		err = json.NewDecoder(answer.Body).Decode(&made)
	case http.StatusSeeOther:
		made.ID, exists = lastElement(answer.Header.Get("Location")), true
	default: // the reason of the NFVO may quote the password
		return "", false, &statusError{status: answer.StatusCode}
	}
	if err != nil || made.ID == "" || len(made.ID) > maxID {
		return "", false, errors.New("the NFVO answers without the id of the subscription")
	}
	return made.ID, exists, nil
}

// lastElement returns the last element of the path of a URI, "" without one.
func lastElement(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Path == "" || u.Path == "/" {
		return ""
	}
	return path.Base(u.Path)
}
