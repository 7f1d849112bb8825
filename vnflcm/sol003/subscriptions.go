package sol003

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// NotificationType is a kind of notification (SOL003 v2.6.1 5.5.2.17 to 5.5.2.19, 10.5.2.5 and 10.5.2.6).
type NotificationType string

// The kinds of notifications.
const (
	OperationNotification NotificationType = "VnfLcmOperationOccurrenceNotification"
	CreationNotification  NotificationType = "VnfIdentifierCreationNotification"
	DeletionNotification  NotificationType = "VnfIdentifierDeletionNotification"

	PackageOnboardingNotification NotificationType = "VnfPackageOnboardingNotification"
	PackageChangeNotification     NotificationType = "VnfPackageChangeNotification"
)

// Verbosity is how much the notifications of an operation say (SOL003 v3.3.1 5.5.4.12).
type Verbosity string

// The verbosities. Short notifications have no affected resources and no changed external connectivity.
const (
	Full  Verbosity = "FULL"
	Short Verbosity = "SHORT"
)

// SubscriptionRequest asks for notifications (LccnSubscriptionRequest, SOL003 v2.6.1 5.5.2.15, v3.3.1 5.5.2.15).
type SubscriptionRequest struct {
	Filter         *NotificationFilter         `json:"filter,omitempty"`
	CallbackURI    string                      `json:"callbackUri"`
	Authentication *SubscriptionAuthentication `json:"authentication,omitempty"`
	Verbosity      Verbosity                   `json:"verbosity,omitempty"` // default FULL
	// Packages is set instead of Filter if the notifications are those of VNF packages. An empty filter selects all of them.
	Packages *PackageFilter `json:"-"`
}

// SubscriptionAuthentication says how the VNFM authenticates itself to the subscriber (SOL003 v2.6.1 4.4.1.4).
type SubscriptionAuthentication struct {
	AuthType    []string           `json:"authType"` // BASIC, OAUTH2_CLIENT_CREDENTIALS, TLS_CERT: those that the subscriber accepts
	ParamsBasic *BasicCredentials  `json:"paramsBasic,omitempty"`
	ParamsOAuth *OAuth2Credentials `json:"paramsOauth2ClientCredentials,omitempty"`
}

// BasicCredentials are for HTTP basic authentication.
type BasicCredentials struct {
	UserName string        `json:"userName"`
	Password vnflcm.Secret `json:"password"`
}

// OAuth2Credentials are for the client credentials grant of OAuth 2.0 (RFC 6749 4.4).
type OAuth2Credentials struct {
	ClientID       string        `json:"clientId"`
	ClientPassword vnflcm.Secret `json:"clientPassword"`
	TokenEndpoint  string        `json:"tokenEndpoint"`
}

// NotificationFilter selects notifications (LifecycleChangeNotificationsFilter, SOL003 v2.6.1 5.5.3.12). A notification must
// match every attribute that is present, and of each list one value.
type NotificationFilter struct {
	Instances         *InstanceFilter         `json:"vnfInstanceSubscriptionFilter,omitempty"`
	NotificationTypes []NotificationType      `json:"notificationTypes,omitempty"`
	OperationTypes    []vnflcm.LcmOperation   `json:"operationTypes,omitempty"`
	OperationStates   []vnflcm.OperationState `json:"operationStates,omitempty"`
}

// InstanceFilter selects VNF instances (VnfInstanceSubscriptionFilter, SOL003 v2.6.1 4.4.1.5).
type InstanceFilter struct {
	VnfdIDs          []string         `json:"vnfdIds,omitempty"`
	Providers        []ProviderFilter `json:"vnfProductsFromProviders,omitempty"`
	VnfInstanceIDs   []string         `json:"vnfInstanceIds,omitempty"`
	VnfInstanceNames []string         `json:"vnfInstanceNames,omitempty"`
}

// ProviderFilter selects the products of a provider.
type ProviderFilter struct {
	VnfProvider string          `json:"vnfProvider"`
	VnfProducts []ProductFilter `json:"vnfProducts,omitempty"`
}

// ProductFilter selects the versions of a product.
type ProductFilter struct {
	VnfProductName string          `json:"vnfProductName"`
	Versions       []VersionFilter `json:"versions,omitempty"`
}

// VersionFilter selects a version of a product, and of its VNFD.
type VersionFilter struct {
	VnfSoftwareVersion string   `json:"vnfSoftwareVersion"`
	VnfdVersions       []string `json:"vnfdVersions,omitempty"`
}

// PackageFilter selects notifications of VNF packages (PkgmNotificationsFilter, SOL003 v2.6.1 10.5.3.4). A notification must match every
// attribute that is present, and of each list one value.
type PackageFilter struct {
	NotificationTypes []NotificationType `json:"notificationTypes,omitempty"`
	Providers         []ProviderFilter   `json:"vnfProductsFromProviders,omitempty"`
	VnfdIDs           []string           `json:"vnfdId,omitempty"`
	VnfPkgIDs         []string           `json:"vnfPkgId,omitempty"`
	OperationalStates OperationalStates  `json:"operationalState,omitempty"` // ENABLED, DISABLED
	VnfmInfo          []string           `json:"vnfmInfo,omitempty"`
}

// OperationalStates are operational states of packages. ETSI's OpenAPI documents have a list in requests of version 1, and one state everywhere
// else: both are read, and one state is written without a list.
type OperationalStates []string

// MarshalJSON implements json.Marshaler.
func (s OperationalStates) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]string(s))
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *OperationalStates) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil && one != "" {
		*s = OperationalStates{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// packageSubscriptionRequest is the body of a subscription to notifications of packages (SOL003 v2.6.1 10.5.2.3).
type packageSubscriptionRequest struct {
	Filter         *PackageFilter              `json:"filter,omitempty"`
	CallbackURI    string                      `json:"callbackUri"`
	Authentication *SubscriptionAuthentication `json:"authentication,omitempty"`
}

// Subscription is the request of a subscriber, without its credentials (LccnSubscription, SOL003 v2.6.1 5.5.2.16).
type Subscription struct {
	ID          string              `json:"id"`
	Filter      *NotificationFilter `json:"filter,omitempty"`
	CallbackURI string              `json:"callbackUri"`
	Verbosity   Verbosity           `json:"verbosity"`
	Tenant      string              `json:"-"`
	Packages    *PackageFilter      `json:"-"` // as in the request
}

// Subscriber is who asks for notifications, and in which form it gets them.
type Subscriber struct {
	API     string // v1 or v2: the version of the notifications
	APIRoot string // the beginning of the URIs in notifications
	Tenant  string // "": changes of all instances
}

// Subscriptions is the part of *notify.Notifier that the handler uses.
type Subscriptions interface {
	// Subscribe returns the subscription that the request has made, or an equal one that existed before: then existed is set.
	Subscribe(ctx context.Context, who Subscriber, req SubscriptionRequest) (s *Subscription, existed bool, err error)
	Subscription(ctx context.Context, id string) (*Subscription, error)
	// Subscriptions returns at most limit of a tenant's subscriptions after an id, in the order of their ids; those of all tenants for "".
	Subscriptions(ctx context.Context, tenant, after string, limit int) ([]*Subscription, error)
	Unsubscribe(ctx context.Context, id string) error
}

// subscriptionResources are the paths below the prefix of a version that exist with Options.Subscriptions.
var subscriptionResources = map[string]methods{
	"/subscriptions":      {http.MethodPost: (*call).subscribe, http.MethodGet: (*call).listSubscriptions},
	"/subscriptions/{id}": {http.MethodGet: (*call).readSubscription, http.MethodDelete: (*call).unsubscribe},
}

func (c *call) subscriptionURI(id string) string {
	return c.root() + c.api.prefix() + "/subscriptions/" + url.PathEscape(id)
}

func (c *call) renderSubscription(s *Subscription) (object, error) {
	document, err := readObject(json.Marshal(s))
	if err != nil {
		return nil, err
	}
	if c.api != version2 {
		delete(document, "verbosity")
	}
	if s.Packages != nil && !reflect.ValueOf(*s.Packages).IsZero() {
		document["filter"] = s.Packages
	}
	document["_links"] = newLinks(c.subscriptionURI(s.ID)).list
	return document, nil
}

func (c *call) sendSubscription(status int, s *Subscription) error {
	document, err := c.renderSubscription(s)
	if err != nil {
		return err
	}
	return c.document(status, document)
}

// subscribe answers SOL003 v2.6.1 5.4.18.3.1 and 10.4.7.3.1.
func (c *call) subscribe() error {
	req, err := c.readSubscriptionRequest()
	if err != nil {
		return err
	}
	s, existed, err := c.Subscriptions.Subscribe(c.r.Context(), Subscriber{API: c.api.major, APIRoot: c.root(), Tenant: c.who.Tenant}, req)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", c.subscriptionURI(s.ID))
	if existed {
		c.w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	return c.sendSubscription(http.StatusCreated, s)
}

func (c *call) readSubscriptionRequest() (req SubscriptionRequest, err error) {
	if !c.ofPackages() {
		_, err = c.readBody(&req, mediaJSON)
		return req, err
	}
	var body packageSubscriptionRequest
	_, err = c.readBody(&body, mediaJSON)
	return SubscriptionRequest{CallbackURI: body.CallbackURI, Authentication: body.Authentication, Packages: cmp.Or(body.Filter, new(PackageFilter))}, err
}

// ofPackages reports whether the request is one of the API of packages.
func (c *call) ofPackages() bool { return c.api == packages1 || c.api == packages2 }

// shows reports whether the sender may use a subscription in this API.
func (c *call) shows(s *Subscription) bool {
	return c.sees(s.Tenant) && (s.Packages != nil) == c.ofPackages()
}

// listSubscriptions answers SOL003 v2.6.1 5.4.18.3.2 and 10.4.7.3.2.
func (c *call) listSubscriptions() error {
	query, err := c.listQuery(subscriptionAttributes)
	if err != nil {
		return err
	}
	list := newLister(query, c.renderSubscription)
	match := list.match(c.shows)
	found, err := c.Subscriptions.Subscriptions(c.r.Context(), c.who.Tenant, query.after, c.PageSize)
	if err != nil {
		return err
	}
	var page vnflcm.Page[*Subscription]
	if len(found) == c.PageSize {
		page.Next = found[len(found)-1].ID
	}
	page.Items = slices.DeleteFunc(found, func(s *Subscription) bool { return !match(s) })
	return list.answer(c, page, nil)
}

// subscription returns the subscription that the path names, if the sender may use it.
func (c *call) subscription() (*Subscription, error) {
	id := c.r.PathValue("id")
	s, err := c.Subscriptions.Subscription(c.r.Context(), id)
	if err == nil && !c.shows(s) {
		return nil, notFound("subscription", id)
	}
	return s, err
}

// readSubscription answers SOL003 v2.6.1 5.4.19.3.2.
func (c *call) readSubscription() error {
	s, err := c.subscription()
	if err != nil {
		return err
	}
	return c.sendSubscription(http.StatusOK, s)
}

// unsubscribe answers SOL003 v2.6.1 5.4.19.3.5.
func (c *call) unsubscribe() error {
	s, err := c.subscription()
	if err != nil {
		return err
	}
	if err := c.Subscriptions.Unsubscribe(c.r.Context(), s.ID); err != nil {
		return fmt.Errorf("subscription %s: %w", s.ID, err)
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}
