// Package nfvotest is an NFVO for tests: it issues access tokens and decides about grants, over TLS, and fails as a test asks. With
// VNFKIT_CORPUS it compares every request and every answer with the definitions of ETSI (SOL003 v2.6.1 and v3.3.1).
package nfvotest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// The client that the NFVO knows.
const (
	ClientID = "vnfm"
	Secret   = "secret-of-the-vnfm"
)

// NFVO is a running NFVO. Set its fields before the first request.
type NFVO struct {
	// Decide returns the status of the answer to a request for a grant, and the grant or the ProblemDetails. Default: GrantAll.
	Decide func(request map[string]any) (status int, document map[string]any)
	// Undecided is how many polls of each grant are answered with 202.
	Undecided int
	// NeverMatches makes a new grant for each request. By default a request with a known vnfLcmOpOccId gets the first grant again.
	NeverMatches bool
	// Lifetime is how many requests a token is good for; 0: any number.
	Lifetime int
	// WithoutTokens serves requests without a token.
	WithoutTokens bool

	tb     testing.TB
	server *httptest.Server
	mux    *http.ServeMux

	mu     sync.Mutex
	faults []Fault
	tokens map[string]int // requests that each valid token has left
	issued int
	grants []*Grant

	definitions *corpus // nil without VNFKIT_CORPUS
}

// Start starts an NFVO, which ends with the test.
func Start(tb testing.TB) *NFVO { return start(tb, nil) }

// StartMutual starts an NFVO that requires client certificates of these authorities.
func StartMutual(tb testing.TB, authorities *x509.CertPool) *NFVO {
	return start(tb, &tls.Config{ClientCAs: authorities, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})
}

func start(tb testing.TB, config *tls.Config) *NFVO {
	tb.Helper()
	n := &NFVO{tb: tb, Decide: GrantAll, mux: http.NewServeMux(), tokens: map[string]int{}}
	var err error
	if n.definitions, err = read(); err != nil {
		tb.Fatal(err)
	}
	n.mux.HandleFunc("POST /oauth/token", n.issue)
	n.HandleFunc("POST /grant/v1/grants", n.checked(n.create))
	n.HandleFunc("GET /grant/v1/grants/{id}", n.checked(n.read))
	n.server = httptest.NewUnstartedServer(n.mux)
	n.server.TLS = config
	n.server.StartTLS()
	tb.Cleanup(n.server.Close)
	return n
}

// HandleFunc serves a further resource, to clients with a valid token, and with the faults of Then.
func (n *NFVO) HandleFunc(pattern string, handler http.HandlerFunc) {
	n.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		fault := n.nextFault()
		if !n.authorized(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(w, http.StatusUnauthorized, "Unauthorized", "the token is not valid")
			return
		}
		if fault == nil {
			handler(w, r)
			return
		}
		fault(w, r, handler)
	})
}

// Close ends the NFVO.
func (n *NFVO) Close() { n.server.Close() }

// URL is the root of the APIs.
func (n *NFVO) URL() string { return n.server.URL }

// TokenURL is the token endpoint.
func (n *NFVO) TokenURL() string { return n.server.URL + "/oauth/token" }

// TLS trusts the certificate of the NFVO.
func (n *NFVO) TLS() *tls.Config {
	return &tls.Config{RootCAs: n.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12} //nolint:forcetypeassert // of httptest
}

// Revoke makes all tokens invalid that the NFVO has issued.
func (n *NFVO) Revoke() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.tokens)
}

// Issued returns how many tokens the NFVO has issued.
func (n *NFVO) Issued() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.issued
}

// issue answers RFC 6749 4.4.2.
func (n *NFVO) issue(w http.ResponseWriter, r *http.Request) {
	id, secret, isBasic := r.BasicAuth()
	isKnown := isBasic && id == ClientID && secret == Secret || len(r.TLS.VerifiedChains) > 0 && r.FormValue("client_id") == ClientID
	if r.FormValue("grant_type") != "client_credentials" || !isKnown {
		answer(w, http.StatusUnauthorized, "application/json", map[string]any{"error": "invalid_client", "error_description": "not " + secret})
		return
	}
	n.mu.Lock()
	n.issued++
	token := fmt.Sprintf("access-token-%d", n.issued)
	n.tokens[token] = n.Lifetime
	n.mu.Unlock()
	answer(w, http.StatusOK, "application/json", map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
}

// authorized reports whether a request has a valid token, which it uses.
func (n *NFVO) authorized(r *http.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	left, valid := n.tokens[token]
	if left--; left == 0 {
		delete(n.tokens, token)
	} else if valid {
		n.tokens[token] = left
	}
	return valid || n.WithoutTokens
}

// answer writes a JSON document.
func answer(w http.ResponseWriter, status int, media string, document any) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document)
}

// problem writes ProblemDetails.
func problem(w http.ResponseWriter, status int, title, detail string) {
	answer(w, status, "application/problem+json", map[string]any{"title": title, "status": status, "detail": detail})
}

// Authority is the certificate in PEM that clients in other processes trust.
func (n *NFVO) Authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: n.server.Certificate().Raw})
}
