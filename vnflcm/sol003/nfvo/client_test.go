package nfvo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/internal/nfvotest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("VNFKIT_PROCESS_DIR"); dir != "" { // a process of TestProcesses
		if err := runProcess(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// client returns a client of an NFVO. Its log must not have secrets.
func client(t *testing.T, n *nfvotest.NFVO, change func(*nfvo.Config)) *nfvo.Client {
	t.Helper()
	var log bytes.Buffer
	c := nfvo.Config{URL: n.URL(), LCM: "https://vnfm.example/vnflcm/v2", TokenURL: n.TokenURL(), ClientID: nfvotest.ClientID, TLS: n.TLS(),
		ClientSecret: func() (vnflcm.Secret, error) { return vnflcm.NewSecret(nfvotest.Secret), nil },
		Timeout:      10 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if change != nil {
		change(&c)
	}
	out, err := nfvo.New(c)
	must(t, err)
	t.Cleanup(func() {
		out.Close()
		withoutSecrets(t, log.String())
	})
	return out
}

// withoutSecrets checks that a text has neither the secret of the client nor a token.
func withoutSecrets(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, nfvotest.Secret) || strings.Contains(text, "access-token-") {
		t.Errorf("a secret is in %q", text)
	}
}

// instantiation is a request for a grant of two VNFCs.
var instantiation = vnflcm.GrantRequest{VnfInstanceID: "i", VnfLcmOpOccID: "o", VnfdID: "d", FlavourID: "f", Operation: vnflcm.OpInstantiate,
	AddResources: []vnflcm.ResourceDefinition{{ID: "a", Type: "COMPUTE", VduID: "v", VnfcID: "c"}, {ID: "b", Type: "COMPUTE", VduID: "v"}},
	PlacementConstraints: []vnflcm.PlacementConstraint{{AffinityOrAntiAffinity: "ANTI_AFFINITY", Scope: "NFVI_NODE",
		Resource: []vnflcm.ConstraintResourceRef{{IDType: "GRANT", ResourceID: "a"}, {IDType: "GRANT", ResourceID: "b"}}}}}

// outcome describes an answer or an error.
func outcome(answer vnflcm.GrantAnswer, err error) string {
	away, isAway := errors.AsType[*vnflcm.UnreachableError](err)
	switch {
	case isAway:
		return fmt.Sprintf("unreachable, sent %v, after %v: %v", away.Sent, away.After, err)
	case errors.Is(err, vnflcm.ErrGrantRejected):
		return "rejected: " + err.Error()
	case err != nil:
		return "failed: " + err.Error()
	case answer.Grant != nil:
		return "granted " + answer.Grant.ID
	}
	return fmt.Sprintf("undecided, after %v", answer.After)
}

// created is a fault: the NFVO answers with this document and header.
func created(document string, header ...string) nfvotest.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(document))
	}
}

// TestGrants asks for a grant and polls once while the grant is undecided.
func TestGrants(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(inside.Close)
	for name, c := range map[string]struct {
		nfvo   func(*nfvotest.NFVO)
		faults []nfvotest.Fault
		want   []string // part of the outcome of each request
	}{
		"created":                {nil, nil, []string{"granted grant-1"}},
		"accepted":               {func(n *nfvotest.NFVO) { n.Undecided = 1 }, nil, []string{"undecided, after 100ms", "undecided, after 100ms", "granted grant-1"}},
		"rejected":               {func(n *nfvotest.NFVO) { n.Decide = nfvotest.Reject("no quota") }, nil, []string{"rejected: vnflcm: the grant was rejected: the NFVO answers 403 Forbidden: Forbidden: no quota"}},
		"accepted, then refused": {func(n *nfvotest.NFVO) { n.Undecided = 1; n.Decide = nfvotest.Reject("no quota") }, nil, []string{"undecided", "undecided", "rejected: vnflcm: the grant was rejected: the NFVO answers 403"}},
		"overloaded":             {nil, []nfvotest.Fault{nfvotest.Status(503, "Retry-After", "7")}, []string{"unreachable, sent false, after 7s: the NFVO answers 503"}},
		"overloaded with a date": {nil, []nfvotest.Fault{nfvotest.Status(503, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT")}, []string{"unreachable, sent false, after 100ms"}},
		"too many requests":      {nil, []nfvotest.Fault{nfvotest.Status(429, "Retry-After", "1")}, []string{"unreachable, sent false, after 1s"}},
		"gateway without answer": {nil, []nfvotest.Fault{nfvotest.Status(504)}, []string{"unreachable, sent true, after 0s"}},
		"lost":                   {nil, []nfvotest.Fault{nfvotest.Lost}, []string{"unreachable, sent true, after 0s: the NFVO 127.0.0.1:"}},
		"cut":                    {nil, []nfvotest.Fault{nfvotest.Cut(10)}, []string{"undecided", "granted grant-1"}},
		"no such grant":          {func(n *nfvotest.NFVO) { n.Undecided = 1 }, []nfvotest.Fault{nil, nfvotest.Problem(404, "Not Found", "unknown")}, []string{"undecided", "failed: the NFVO answers 404 Not Found: Not Found: unknown"}},
		"not valid":              {nil, []nfvotest.Fault{nfvotest.Problem(422, "Unprocessable", "bad vnfdId")}, []string{"failed: the NFVO answers 422"}},
		"redirected":             {nil, []nfvotest.Fault{nfvotest.Status(307, "Location", inside.URL)}, []string{"failed: the NFVO answers 307 Temporary Redirect: redirects are not followed"}},
		"at another server":      {nil, []nfvotest.Fault{nfvotest.Status(202, "Location", inside.URL+"/g")}, []string{"failed: the NFVO names a resource at http://127.0.0.1:"}},
		"created elsewhere":      {nil, []nfvotest.Fault{created(`{"id":"g"}`, "Location", inside.URL+"/g")}, []string{"granted g"}},
		"without an id":          {nil, []nfvotest.Fault{created(`{}`)}, []string{"failed: the grant of the NFVO has no valid id"}},
		"too large":              {nil, []nfvotest.Fault{created(`{"id":"` + strings.Repeat("g", 5<<20) + `"}`)}, []string{"failed: the grant of the NFVO is larger than 4194304 bytes"}},
		"at no location":         {nil, []nfvotest.Fault{nfvotest.Status(202)}, []string{"failed: the NFVO accepts the request and names no location"}},
		"quotes secrets":         {nil, []nfvotest.Fault{nfvotest.Problem(400, nfvotest.Secret, "Bearer access-token-1")}, []string{"failed: the NFVO answers 400 Bad Request: ***: Bearer ***"}},
		"hangs":                  {nil, []nfvotest.Fault{nfvotest.Hang}, []string{"unreachable, sent true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nfvotest.Start(t)
			if c.nfvo != nil {
				c.nfvo(n)
			}
			n.Then(c.faults...)
			orchestrator := client(t, n, func(config *nfvo.Config) {
				if name == "hangs" {
					config.Timeout = time.Second
				}
			})
			answer, err := orchestrator.Ask(t.Context(), instantiation)
			location := answer.Location
			for i, want := range c.want {
				if i > 0 {
					answer, err = orchestrator.Poll(t.Context(), location)
				}
				got := outcome(answer, err)
				if !strings.HasPrefix(got, want) {
					t.Errorf("request %d: %s, want %s", i+1, got, want)
				}
				withoutSecrets(t, got)
			}
		})
	}
}

// TestTokens uses a token for many requests, and repeats a request once if the NFVO refuses the token.
func TestTokens(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nfvo    func(*nfvotest.NFVO)
		between func(*nfvotest.NFVO)
		secret  string
		faults  []nfvotest.Fault
		want    string // the outcome of the third request
		issued  int
	}{
		"valid":                     {nil, nil, nfvotest.Secret, nil, "granted grant-1", 1},
		"revoked":                   {nil, (*nfvotest.NFVO).Revoke, nfvotest.Secret, nil, "granted grant-1", 3},
		"good for one request":      {func(n *nfvotest.NFVO) { n.Lifetime = 1 }, nil, nfvotest.Secret, nil, "granted grant-1", 3},
		"refused again and again":   {nil, nil, nfvotest.Secret, []nfvotest.Fault{nil, nil, nfvotest.Status(401), nfvotest.Status(401)}, "failed: the NFVO answers 401 Unauthorized", 2},
		"the secret is not correct": {nil, nil, "other", nil, "failed: access token for the NFVO: the token endpoint answers 401 Unauthorized: invalid_client", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nfvotest.Start(t)
			if c.nfvo != nil {
				c.nfvo(n)
			}
			n.Then(c.faults...)
			orchestrator := client(t, n, func(config *nfvo.Config) {
				config.ClientSecret = func() (vnflcm.Secret, error) { return vnflcm.NewSecret(c.secret), nil }
			})
			var got string
			for i := range 3 {
				if i > 0 && c.between != nil {
					c.between(n)
				}
				got = outcome(orchestrator.Ask(t.Context(), instantiation))
				withoutSecrets(t, got)
			}
			if got != c.want || n.Issued() != c.issued {
				t.Errorf("%s, %d tokens; want %s, %d", got, n.Issued(), c.want, c.issued)
			}
		})
	}
}

// TestTokenOfAnotherRequest waits for a token that another request fetches, longer than for the answer to a request: the NFVO does not answer.
func TestTokenOfAnotherRequest(t *testing.T) {
	t.Parallel()
	held, release := make(chan struct{}), make(chan struct{})
	orchestrator := client(t, nfvotest.Start(t), func(c *nfvo.Config) {
		c.Timeout = 100 * time.Millisecond
		c.ClientSecret = func() (vnflcm.Secret, error) { close(held); <-release; return vnflcm.Secret{}, context.Canceled }
	})
	var first sync.WaitGroup
	first.Go(func() { _, _ = orchestrator.Ask(t.Context(), instantiation) })
	<-held
	_, err := orchestrator.Ask(t.Context(), instantiation)
	close(release)
	first.Wait()
	if !errors.Is(err, vnflcm.ErrNoNFVO) {
		t.Errorf("%v", err)
	}
}

// TestNoNFVO asks an NFVO that does not run: the request was not sent.
func TestNoNFVO(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	orchestrator, err := nfvo.New(nfvo.Config{URL: server.URL, LCM: "http://vnfm.example/vnflcm/v1"})
	must(t, err)
	_, err = orchestrator.Ask(t.Context(), instantiation)
	away, isAway := errors.AsType[*vnflcm.UnreachableError](err)
	if !isAway || away.Sent || !errors.Is(err, vnflcm.ErrNoNFVO) {
		t.Errorf("%v", err)
	}
}

// TestAllow connects to no address that the policy refuses.
func TestAllow(t *testing.T) {
	t.Parallel()
	n := nfvotest.Start(t)
	orchestrator := client(t, n, func(c *nfvo.Config) { c.Allow = outbound.RefuseLocal })
	if _, err := orchestrator.Ask(t.Context(), instantiation); !errors.Is(err, outbound.ErrAddress) || n.Issued() > 0 {
		t.Errorf("%v", err)
	}
}

// TestConfig names every fault of a Config.
func TestConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config nfvo.Config
		want   []string
	}{
		"empty":           {nfvo.Config{}, []string{"nfvo: Config.URL must be an absolute URL with the scheme https or http"}},
		"complete":        {nfvo.Config{URL: "https://nfvo.example/apis/", TokenURL: "https://nfvo.example/token", ClientID: "c", ClientSecret: noSecret}, nil},
		"token over http": {nfvo.Config{URL: "https://nfvo.example", TokenURL: "http://nfvo.example/token", ClientID: "c", ClientSecret: noSecret}, []string{"nfvo: Config.TokenURL must be an absolute URL with the scheme https, without user and fragment"}},
		"no identity":     {nfvo.Config{URL: "https://nfvo.example", TokenURL: "https://nfvo.example/token", SOL003: "2"}, []string{"nfvo: Config.SOL003 must be 2.6.1 or 3.3.1", "nfvo: Config.TokenURL and ClientID need each other", "nfvo: Config.ClientSecret is required, because there is no client certificate either"}},
		"password":        {nfvo.Config{URL: "https://a:b@nfvo.example"}, []string{"nfvo: Config.URL must have no user, query or fragment"}},
	} {
		_, err := nfvo.New(c.config)
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func noSecret() (vnflcm.Secret, error) { return vnflcm.Secret{}, context.Canceled }
