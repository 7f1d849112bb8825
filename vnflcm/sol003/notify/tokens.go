package notify

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// tokens are access tokens for a subscriber, by the client credentials grant (RFC 6749 4.4).
type tokens struct {
	client *http.Client
	config clientcredentials.Config

	mu    sync.Mutex // held while a token is fetched
	token *oauth2.Token
}

func newTokens(client *http.Client, c sol003.OAuth2Credentials) *tokens {
	return &tokens{client: client, config: clientcredentials.Config{ClientID: c.ClientID, ClientSecret: c.ClientPassword.Reveal(),
		TokenURL: c.TokenEndpoint, AuthStyle: oauth2.AuthStyleInHeader}}
}

// authenticate adds an access token to a request. It fetches a new token if the last one has expired or was refused.
func (t *tokens) authenticate(request *http.Request) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.token.Valid() {
		token, err := t.config.Token(context.WithValue(request.Context(), oauth2.HTTPClient, t.client))
		if err != nil {
			return fmt.Errorf("getting a token: %w", withoutURI(err))
		}
		t.token = token
	}
	t.token.SetAuthHeader(request)
	return nil
}

// drop forgets a token that the subscriber has refused.
func (t *tokens) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = nil
}
