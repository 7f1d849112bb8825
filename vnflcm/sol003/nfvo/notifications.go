package nfvo

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// The notifications of SOL003 v2.6.1 and v3.3.1 10.5.2.5 and 10.5.2.6.
const (
	onboardingNotification = "VnfPackageOnboardingNotification"
	changeNotification     = "VnfPackageChangeNotification"
)

// notification is what the PackageCache reads of a notification.
type notification struct {
	Type             string `json:"notificationType"`
	VnfPkgID         string `json:"vnfPkgId"`
	VnfdID           string `json:"vnfdId"`
	ChangeType       string `json:"changeType"`
	OperationalState State  `json:"operationalState"`
}

// state returns the state that a notification reports.
func (n notification) state() State {
	switch {
	case n.Type == onboardingNotification:
		return Enabled
	case n.ChangeType == "PKG_DELETE":
		return Deleted
	}
	return n.OperationalState
}

// maxNotification bounds a notification, in bytes.
const maxNotification = 64 << 10

// parseNotification reads a notification. The error names every fault.
func parseNotification(body io.Reader) (n notification, err error) {
	if err := json.NewDecoder(body).Decode(&n); err != nil {
		return n, err
	}
	var faults []error
	wrong := func(is bool, path, value, reason string) {
		if is {
			faults = append(faults, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
		}
	}
	wrong(n.Type != onboardingNotification && n.Type != changeNotification, "notificationType", n.Type, "must be "+onboardingNotification+" or "+changeNotification)
	wrong(packageInfo{ID: n.VnfPkgID}.check() != nil, "vnfPkgId", "", "must be an identifier")
	if n.Type == changeNotification {
		isState := n.OperationalState == Enabled || n.OperationalState == Disabled
		wrong(n.ChangeType != "OP_STATE_CHANGE" && n.ChangeType != "PKG_DELETE", "changeType", n.ChangeType, "must be OP_STATE_CHANGE or PKG_DELETE")
		wrong(n.ChangeType == "OP_STATE_CHANGE" && !isState, "operationalState", string(n.OperationalState), "must be ENABLED or DISABLED")
	}
	return n, errors.Join(faults...)
}

// ServeHTTP receives notifications of the NFVO at PackageOptions.Callback. They need the password of the subscription (HTTP Basic), a GET
// that tests the URI does not. A notification changes no package of an instance: it records the state, and lets a package that the NFVO has
// deleted leave the cache if no instance has it.
func (c *PackageCache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, POST")
		refuse(w, http.StatusMethodNotAllowed, "only GET and POST are possible")
		return
	}
	isNFVO, err := c.isNFVO(r)
	switch {
	case err != nil:
		c.unable(w, r, err)
		return
	case !isNFVO:
		w.Header().Set("WWW-Authenticate", `Basic realm="notifications of packages"`)
		refuse(w, http.StatusUnauthorized, "the user or the password is wrong")
		return
	}
	n, err := parseNotification(http.MaxBytesReader(w, r.Body, maxNotification))
	_, isLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case isLong:
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("at most %d bytes are accepted", maxNotification))
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, "the notification is not valid: "+err.Error())
		return
	}
	if err := c.take(r.Context(), n); err != nil {
		c.unable(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// unable answers a notification that cannot be taken now: the NFVO may send it again.
func (c *PackageCache) unable(w http.ResponseWriter, r *http.Request, err error) {
	c.Logger.ErrorContext(r.Context(), "a notification of the NFVO cannot be taken now", "error", err)
	w.Header().Set("Retry-After", "5")
	refuse(w, http.StatusServiceUnavailable, "the notification cannot be taken now")
}

// refuse answers with ProblemDetails.
func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(vnflcm.ProblemDetails{Title: http.StatusText(status), Status: status, Detail: detail}) // the client may have disconnected
}

// isNFVO reports whether a request has the password of the subscription. It takes the same time for each password.
func (c *PackageCache) isNFVO(r *http.Request) (bool, error) {
	user, password, isBasic := r.BasicAuth()
	m, err := c.attached()
	if err != nil || !isBasic {
		return false, err
	}
	d, err := m.Documents(subscriptionsIn).Get(r.Context(), subscriptionID)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return false, nil
	}
	var s subscriptionRecord
	if err == nil {
		err = d.Decode(&s)
	}
	if err != nil || s.Password.IsZero() {
		return false, err
	}
	got, want := sha256.Sum256([]byte(user+":"+password)), sha256.Sum256([]byte(callbackUser+":"+s.Password.Reveal()))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1, nil
}

// take records what a notification reports.
func (c *PackageCache) take(ctx context.Context, n notification) error {
	c.Logger.InfoContext(ctx, "the NFVO reports a VNF package", "package", n.VnfPkgID, "vnfd", n.VnfdID, "state", string(n.state()))
	if err := c.setState(ctx, n.VnfPkgID, n.state()); err != nil || n.state() != Deleted {
		return err
	}
	if c.isFetched(n.VnfPkgID) { // Run removes the package later
		return nil
	}
	return c.evict(ctx, n.VnfPkgID)
}
