package nfvo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// tokens are the access tokens of the client (RFC 6749 4.4). A token is used until shortly before it expires, or until the NFVO refuses it.
type tokens struct {
	client   *http.Client
	config   clientcredentials.Config
	secret   func() (vnflcm.Secret, error) // nil: the certificate identifies the client
	timeout  time.Duration
	fetching chan struct{} // has an item while a token is fetched

	mu    sync.Mutex
	token *oauth2.Token
	known []string // secrets that texts of the NFVO must not show
}

func newTokens(client *http.Client, c Config) *tokens {
	style := oauth2.AuthStyleInHeader
	if c.ClientSecret == nil {
		style = oauth2.AuthStyleInParams
	}
	return &tokens{client: client, secret: c.ClientSecret, timeout: tokenTime, fetching: make(chan struct{}, 1),
		config: clientcredentials.Config{ClientID: c.ClientID, TokenURL: c.TokenURL, AuthStyle: style}}
}

// tokenTime bounds a request for a token.
const tokenTime = 30 * time.Second

// get returns a valid token. One caller at a time fetches one.
func (t *tokens) get(ctx context.Context) (string, error) {
	select {
	case t.fetching <- struct{}{}:
	case <-ctx.Done():
		return "", &vnflcm.UnreachableError{Err: fmt.Errorf("access token for the NFVO: another request waits for it: %w", context.Cause(ctx))}
	}
	defer func() { <-t.fetching }()
	if token := t.current(); token != "" {
		return token, nil
	}
	token, secret, err := t.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("access token for the NFVO: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token, t.known = token, append([]string{token.AccessToken, secret}, t.known[:min(len(t.known), 2)]...) // requests with the last token may run
	return token.AccessToken, nil
}

func (t *tokens) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token.Valid() {
		return t.token.AccessToken
	}
	return ""
}

// fetch asks the token endpoint for a token.
func (t *tokens) fetch(ctx context.Context) (token *oauth2.Token, secret string, err error) {
	ctx, done := context.WithTimeout(ctx, t.timeout)
	defer done()
	config := t.config
	if t.secret != nil {
		given, err := t.secret()
		if err != nil {
			return nil, "", err
		}
		config.ClientSecret = given.Reveal()
	}
	token, err = config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	if err != nil {
		return nil, "", tokenError(err)
	}
	if token.Type() != "Bearer" {
		return nil, "", errors.New("the token endpoint answers with a token that is no bearer token")
	}
	return token, config.ClientSecret, nil
}

// oauthCodes are the errors of RFC 6749 5.2.
var oauthCodes = []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"}

// tokenError returns the error of a request for a token, without the URL and the answer. It is an *vnflcm.UnreachableError unless the
// token endpoint refuses the client.
func tokenError(err error) error {
	refused, isAnswer := errors.AsType[*oauth2.RetrieveError](err)
	if !isAnswer {
		return &vnflcm.UnreachableError{Err: fmt.Errorf("the token endpoint does not answer: %w", withoutURL(err))}
	}
	status := refused.Response.StatusCode
	text := fmt.Sprintf("the token endpoint answers %d %s", status, http.StatusText(status))
	if slices.Contains(oauthCodes, refused.ErrorCode) {
		text += ": " + refused.ErrorCode
	}
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return &vnflcm.UnreachableError{Err: errors.New(text), After: retryAfter(refused.Response.Header)}
	}
	return errors.New(text)
}

// drop forgets a token that the NFVO has refused.
func (t *tokens) drop(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != nil && t.token.AccessToken == token {
		t.token = nil
	}
}

// secrets returns what texts of the NFVO must not show.
func (t *tokens) secrets() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.known)
}
