package keystone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
)

// maxAnswer bounds an answer of Keystone, in bytes. The requests leave out the service catalog.
const maxAnswer = 1 << 20

// defaultDomain is the domain that Keystone makes when it is installed.
const defaultDomain = "Default"

// service is the account of the VNFM in Keystone.
type service struct {
	endpoint string // ends in /v3
	account  func() (Account, error)
	client   *gophercloud.ServiceClient

	login   chan struct{} // has one element, which a goroutine takes to use the fields below
	token   string
	clock   atomic.Pointer[clock]
	refused Account // that Keystone did not accept
	when    time.Time
}

// clock is the clock of Keystone: its time at a login, and the time of this machine before that login. Keystone's clock is used so that it
// does not matter how the clocks of the machines differ.
type clock struct{ there, here time.Time }

// now is Keystone's time, or a little later.
func (c *clock) now() time.Time { return c.there.Add(time.Since(c.here)) }

func newService(endpoint string, account func() (Account, error), client *http.Client) *service {
	used := *cmp.Or(client, http.DefaultClient)
	used.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	used.Transport, used.Timeout = answerlimit.Transport{Next: used.Transport, Most: maxAnswer}, askTime
	s := &service{endpoint: endpoint, account: account, login: make(chan struct{}, 1),
		client: &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{HTTPClient: used}, Endpoint: endpoint + "/"}}
	s.login <- struct{}{}
	return s
}

// description is Keystone's description of a token.
type description struct {
	ExpiresAt utc        `json:"expires_at"`
	User      identified `json:"user"`
	Project   *struct {
		identified
		Domain identified `json:"domain"`
	} `json:"project"`
	IsDomain bool         `json:"is_domain"` // the project is a domain
	Roles    []identified `json:"roles"`

	lasts time.Duration // until the token expires
}

// utc is a time in UTC. Keystone writes no zone for the end of an application credential, which is the end of its tokens too.
type utc struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *utc) UnmarshalJSON(text []byte) (err error) {
	if err = t.Time.UnmarshalJSON(text); err != nil {
		t.Time, err = time.Parse(`"2006-01-02T15:04:05"`, string(text)) // also with a fraction of a second
	}
	return err
}

type identified struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// describe asks Keystone for a token. If Keystone no longer accepts the token of the account, the account logs in, once. The error is
// errInvalid if the token is not valid.
func (s *service) describe(ctx context.Context, token string) (*description, error) {
	own, err := s.ownToken(ctx, "")
	if err != nil {
		return nil, err
	}
	d, err := s.get(ctx, own, token)
	if gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
		if own, err = s.ownToken(ctx, own); err != nil {
			return nil, err
		}
		d, err = s.get(ctx, own, token)
	}
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return nil, errInvalid
	case gophercloud.ResponseCodeIs(err, http.StatusForbidden):
		return nil, errors.New("the account may not validate tokens: it needs the role service or admin")
	case err != nil:
		return nil, plain(err)
	}
	return d, nil
}

func (s *service) get(ctx context.Context, own, token string) (*description, error) {
	var document struct{ Token description }
	response, err := s.client.Get(ctx, s.client.ServiceURL("auth", "tokens")+"?nocatalog", &document, &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"X-Auth-Token": own, "X-Subject-Token": token}, OkCodes: []int{http.StatusOK}})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	d := &document.Token
	if d.User.ID == "" || d.ExpiresAt.IsZero() {
		return nil, errors.New("the answer describes no token")
	}
	d.lasts = max(0, d.ExpiresAt.Sub(s.clock.Load().now())) // 0: it is valid, and expires while the answer is on its way
	return d, nil
}

var errRefused = errors.New("the account is refused")

// refusalTime is for how long credentials that Keystone has refused are not tried: Keystone may lock an account after failures.
const refusalTime = 30 * time.Second

// ownToken returns the token of the account. It logs in if the account has no token, or only the token that Keystone no longer accepts.
func (s *service) ownToken(ctx context.Context, refused string) (string, error) {
	select {
	case <-s.login:
		defer func() { s.login <- struct{}{} }()
	case <-ctx.Done():
		return "", errors.New("the account does not log in in time")
	}
	if s.token != "" && s.token != refused {
		return s.token, nil
	}
	account, err := s.account()
	if err != nil {
		return "", fmt.Errorf("the account cannot be read: %w", err)
	}
	if err := account.check(); err != nil {
		return "", err
	}
	if account.equal(s.refused) && time.Since(s.when) < refusalTime {
		return "", errRefused
	}
	s.token, err = s.logIn(ctx, account)
	if gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
		s.refused, s.when = account, time.Now()
		return "", errRefused
	}
	return s.token, plain(err)
}

func (s *service) logIn(ctx context.Context, account Account) (string, error) {
	options := account.options()
	scope, err := options.ToTokenV3ScopeMap()
	if err != nil {
		return "", err
	}
	body, err := options.ToTokenV3CreateMap(scope)
	if err != nil {
		return "", err
	}
	var document struct {
		Token struct {
			IssuedAt utc `json:"issued_at"`
		}
	}
	began := time.Now()
	response, err := s.client.Post(ctx, s.client.ServiceURL("auth", "tokens")+"?nocatalog", body, &document, &gophercloud.RequestOpts{OkCodes: []int{http.StatusCreated}})
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	token := response.Header.Get("X-Subject-Token")
	if token == "" || document.Token.IssuedAt.IsZero() {
		return "", errors.New("the answer to the login describes no token")
	}
	s.clock.Store(&clock{there: document.Token.IssuedAt.Time, here: began})
	return token, nil
}

// options are the account as gophercloud has it. An application credential has a project by itself.
func (a Account) options() *gophercloud.AuthOptions {
	if a.CredentialID != "" {
		return &gophercloud.AuthOptions{ApplicationCredentialID: a.CredentialID, ApplicationCredentialSecret: a.CredentialSecret.Reveal()}
	}
	return &gophercloud.AuthOptions{Username: a.UserName, DomainName: cmp.Or(a.UserDomain, defaultDomain), Password: a.Password.Reveal(),
		Scope: &gophercloud.AuthScope{ProjectName: a.Project, DomainName: cmp.Or(a.ProjectDomain, defaultDomain)}}
}

// plain returns an error without the answer of Keystone, which may quote the request.
func plain(err error) error {
	if unexpected, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return fmt.Errorf("%s of tokens is answered with the status %d", unexpected.Method, unexpected.Actual)
	}
	return err
}
