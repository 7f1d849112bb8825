package sol003_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// subscriber is an NFVO that records notifications. It detects repeated notifications by their ids.
type subscriber struct {
	*httptest.Server
	x *checker

	mu     sync.Mutex
	got    []object
	seen   map[[2]any]bool                 // by the ids of subscription and notification
	tests  int                             // test calls
	answer func(*http.Request, object) int // nil: 204
	woken  chan struct{}                   // closed by the next notification
}

// newSubscriber starts an NFVO. change configures TLS of its server; nil starts the server without TLS.
func newSubscriber(t *testing.T, change func(*tls.Config)) *subscriber {
	t.Helper()
	s := &subscriber{x: newChecker(t), seen: map[[2]any]bool{}, woken: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if change == nil {
		s.Start()
	} else {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		change(s.TLS)
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *subscriber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var document object
	if len(body) > 0 && json.Unmarshal(body, &document) != nil {
		s.x.t.Errorf("a notification is not JSON: %s", body)
	}
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	status := http.StatusNoContent
	if answer != nil {
		status = answer(r, document)
	}
	if status < 300 {
		s.record(r, document, string(body))
	}
	if status/100 == 3 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

func (s *subscriber) record(r *http.Request, document object, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		s.tests++
		return
	}
	fault := func(format string, args ...any) {
		s.x.t.Errorf("notification %s: %s", body, fmt.Sprintf(format, args...))
	}
	if strings.Contains(body, canary) {
		fault("a secret is in it")
	}
	if version := r.Header.Get("Version"); r.Header.Get("Content-Type") != "application/json" || !slices.Contains([]string{"1.3.0", "2.0.0", "1.2.0", "2.1.0"}, version) {
		fault("headers %v", r.Header)
	} else if version == "1.3.0" {
		s.x.validate(fault, notificationSchemas[document["notificationType"]], document)
	} else if document["vnfPkgId"] != nil { // only version 1 has a schema, which also fits version 2
		s.x.validate(fault, fmt.Sprint("vnfpkgm ", document["notificationType"]), document)
	}
	key := [2]any{document["subscriptionId"], document["id"]}
	if s.seen[key] {
		return
	}
	s.seen[key] = true
	s.got = append(s.got, document)
	close(s.woken)
	s.woken = make(chan struct{})
}

func (s *subscriber) setAnswer(answer func(*http.Request, object) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// told waits for n notifications and returns a short text of each.
func (s *subscriber) told(t *testing.T, n int) []string {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		got, woken := slices.Clone(s.got), s.woken
		s.mu.Unlock()
		if len(got) >= n {
			return inShort(got)
		}
		select {
		case <-woken:
		case <-deadline:
			t.Fatalf("%d notifications, want %d: %v", len(got), n, inShort(got))
		}
	}
}

func inShort(list []object) (out []string) {
	for _, d := range list {
		kind, _ := d["notificationType"].(string)
		if kind == "VnfLcmOperationOccurrenceNotification" {
			kind = fmt.Sprint(d["operation"], " ", d["operationState"])
		}
		out = append(out, strings.TrimPrefix(kind, "VnfIdentifier"))
	}
	return out
}

// newNotifyingVNFM starts a VNFM that sends notifications, also to loopback addresses.
func newNotifyingVNFM(t *testing.T, o notify.Options, options sol003.Options) *vnfm {
	t.Helper()
	if o.Allow == nil {
		o.Allow = outbound.AllowAny
	}
	return newVNFMWith(t, nil, options, func(m *vnflcm.Manager, options *sol003.Options) sol003.Manager {
		n := notify.New(m, o)
		send(t, n)
		options.Subscriptions = n
		return m
	})
}

// send runs the notifier until the test ends.
func send(t *testing.T, n *notify.Notifier) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) && !errors.Is(err, vnflcm.ErrShutdown) {
			t.Errorf("the notifier ended with %v", err)
		}
	})
}

func (x *vnfm) subscribe(api, body string) (uri string) {
	x.t.Helper()
	return x.send("POST", "/vnflcm/"+api+"/subscriptions", body, 201).Header.Get("Location")
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	nfvo := newSubscriber(t, nil)
	x := newNotifyingVNFM(t, notify.Options{}, sol003.Options{PageSize: 2, Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant")}, nil
	}})
	for _, api := range versions {
		base := "/vnflcm/" + api + "/subscriptions"
		body := `{"filter":{"vnfInstanceSubscriptionFilter":{"vnfdIds":["` + api + `"]},"notificationTypes":["VnfIdentifierCreationNotification"]},"callbackUri":"` + nfvo.URL + `/x?t=1",
			"authentication":{"authType":["BASIC"],"paramsBasic":{"userName":"u","password":"` + canary + `"}}}`
		a := x.send("POST", base, body, 201)
		uri := a.Header.Get("Location")
		if diff := cmp.Diff([]string{"_links", "callbackUri", "filter", "id"}, slices.DeleteFunc(keys(a.object()), func(k string) bool { return k == "verbosity" })); diff != "" {
			t.Errorf("the document:\n%s", diff)
		}
		if again := x.send("POST", base, body, 303).Header.Get("Location"); again != uri {
			t.Errorf("the same request returned %s, want %s", again, uri)
		}
		other := x.subscribe(api, strings.Replace(body, canary, "other"+canary, 1))
		mine := x.send("POST", base, body, 201, "X-Tenant", "a").Header.Get("Location")
		x.send("GET", uri, "", 200)
		for _, method := range []string{"GET", "DELETE"} {
			x.send(method, uri, "", 404, "X-Tenant", "a")
			x.send(method, base+"/unknown", "", 404)
		}
		x.send("GET", mine, "", 200, "X-Tenant", "a")
		var listed []string
		for next := base; next != ""; {
			page := x.send("GET", next, "", 200)
			listed = append(listed, page.ids()...)
			next, _, _ = strings.Cut(strings.TrimPrefix(page.Header.Get("Link"), "<"), ">")
		}
		if len(listed) < 3 {
			t.Errorf("the list: %v", listed)
		}
		if got := x.send("GET", base+"?filter=(eq,callbackUri,x)", "", 200).ids(); len(got) > 0 {
			t.Errorf("a filter that matches nothing: %v", got)
		}
		x.send("PUT", base, "{}", 405)
		x.send("PATCH", uri, "{}", 405)
		for _, each := range []string{uri, other, mine} {
			x.send("DELETE", each, "", 204)
			x.send("GET", each, "", 404)
		}
	}
	nfvo.mu.Lock()
	defer nfvo.mu.Unlock()
	if nfvo.tests != 6 {
		t.Errorf("%d test calls, want one for each subscription", nfvo.tests)
	}
}

// TestDamagedSubscription checks that a list contains the other subscriptions if one cannot be read.
func TestDamagedSubscription(t *testing.T) {
	t.Parallel()
	nfvo := newSubscriber(t, nil)
	db := store.NewMemory()
	m, _, err := newManager(t.Context(), t.TempDir(), func(c *vnflcm.Config) { c.Store = db })
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.Background())) })
	n := notify.New(m, notify.Options{Allow: outbound.AllowAny})
	for i := range 5 {
		req := sol003.SubscriptionRequest{CallbackURI: fmt.Sprintf("%s/%d", nfvo.URL, i)}
		_, _, err := n.Subscribe(t.Context(), sol003.Subscriber{API: "v1", APIRoot: nfvo.URL}, req)
		must(t, err)
	}
	all, err := n.Subscriptions(t.Context(), "", "", 0)
	must(t, err)
	damaged, err := db.Get(t.Context(), "document", "subscription/"+all[1].ID)
	must(t, err)
	damaged.Body = []byte("damaged")
	must(t, db.Apply(t.Context(), store.Batch{Put: []store.Record{damaged}}))
	var listed []string
	for after, page := "", 2; page == 2; {
		list, err := n.Subscriptions(t.Context(), "", after, 2)
		must(t, err)
		page = len(list)
		for _, s := range list {
			after = s.ID
			listed = append(listed, s.ID)
		}
	}
	if diff := cmp.Diff([]string{all[0].ID, all[2].ID, all[3].ID, all[4].ID}, listed); diff != "" {
		t.Error(diff)
	}
	must(t, m.Forget(t.Context(), "document", "subscription/"+all[1].ID))
}

// TestFaultySubscriptions sends requests that must be refused, and checks that the answer has every fault.
func TestFaultySubscriptions(t *testing.T) {
	t.Parallel()
	nfvo := newSubscriber(t, nil)
	strict := newSubscriber(t, func(*tls.Config) {})
	x := newNotifyingVNFM(t, notify.Options{}, sol003.Options{})
	nfvo.setAnswer(func(r *http.Request, _ object) int {
		switch r.URL.Path {
		case "/moved":
			return http.StatusTemporaryRedirect
		case "/gone":
			return http.StatusNotFound
		}
		return http.StatusNoContent
	})
	closed := httptest.NewServer(nil)
	closed.Close()
	for body, want := range map[string][]string{
		`{}`:                          {"callbackUri: is required"},
		`{"callbackUri":"ftp://h/x"}`: {"callbackUri: must be an absolute URI"},
		`{"callbackUri":"/x"}`:        {"callbackUri: must be an absolute URI"},
		`{"callbackUri":"http://u:` + canary + `@h/"}`:                 {"callbackUri: must not contain a user"},
		`{"callbackUri":"http://h/#x"}`:                                {"callbackUri: must not have a fragment"},
		`{"callbackUri":"http://h/` + strings.Repeat("x", 2100) + `"}`: {"callbackUri: is longer than 2048"},
		`{"callbackUri":"` + nfvo.URL + `/moved"}`:                     {"callbackUri", "not with 307"},
		`{"callbackUri":"` + nfvo.URL + `/gone"}`:                      {"callbackUri", "not with 404"},
		`{"callbackUri":"` + closed.URL + `"}`:                         {"callbackUri: cannot be reached"},
		`{"callbackUri":"` + strict.URL + `"}`:                         {"callbackUri: cannot be reached"},
		`{"callbackUri":"http://h/","verbosity":"LOUD","filter":{"notificationTypes":["Nothing"],"operationTypes":["HEAL","SING"],"operationStates":["OLD"]},
			"authentication":{"authType":["BASIC","OAUTH2_CLIENT_CREDENTIALS","HANDSHAKE"],"paramsOauth2ClientCredentials":{"tokenEndpoint":"http://h/"}}}`: {
			"verbosity", "filter.notificationTypes[0]", "filter.operationTypes[1]", "filter.operationStates[0]", "authentication.authType[2]", "authentication.paramsBasic",
			"paramsOauth2ClientCredentials.clientId", "paramsOauth2ClientCredentials.clientPassword", "paramsOauth2ClientCredentials.tokenEndpoint: must be an absolute URI with the scheme https"},
		`{"callbackUri":"http://h/","authentication":{"authType":[]}}`:                                                        {"authentication.authType: is required"},
		`{"callbackUri":"http://h/","authentication":{"authType":["TLS_CERT"]}}`:                                              {"authentication.authType", "no client certificate"},
		`{"callbackUri":"http://h/","authentication":{"authType":["BASIC"],"paramsBasic":{"userName":"u","password":"***"}}}`: {"authentication.paramsBasic.password"},
		`{"callbackUri":["` + canary + `"]}`:                                                                                  {"callbackUri"},
	} {
		detail := x.send("POST", "/vnflcm/v2/subscriptions", body, 422).detail()
		for _, fault := range want {
			if !strings.Contains(detail, fault) {
				t.Errorf("%s:\n%s\nlacks %q", body, detail, fault)
			}
		}
	}
	if got := x.send("GET", "/vnflcm/v2/subscriptions", "", 200).ids(); len(got) > 0 {
		t.Errorf("subscriptions of faulty requests: %v", got)
	}
	guarded := newNotifyingVNFM(t, notify.Options{Allow: outbound.RefuseLocal}, sol003.Options{})
	for _, uri := range []string{nfvo.URL, strings.Replace(nfvo.URL, "127.0.0.1", "localhost", 1), "http://169.254.169.254/latest", "http://[::1]:1/", "http://0.0.0.0:1/", "http://[::ffff:127.0.0.1]:1/"} {
		if detail := guarded.send("POST", "/vnflcm/v1/subscriptions", `{"callbackUri":"`+uri+`"}`, 422).detail(); !strings.Contains(detail, "does not call") {
			t.Errorf("%s: %s", uri, detail)
		}
	}
	newVNFM(t, nil, sol003.Options{}).send("GET", "/vnflcm/v1/subscriptions", "", 404)
}

// TestNotifications compares the notifications of a VNF's whole life with its state changes.
func TestNotifications(t *testing.T) {
	t.Parallel()
	x := newNotifyingVNFM(t, notify.Options{}, sol003.Options{})
	one, two, short := newSubscriber(t, nil), newSubscriber(t, nil), newSubscriber(t, nil)
	x.subscribe("v1", `{"callbackUri":"`+one.URL+`"}`)
	x.subscribe("v2", `{"callbackUri":"`+two.URL+`"}`)
	subscription := x.subscribe("v2", `{"callbackUri":"`+short.URL+`","verbosity":"SHORT"}`)

	uri := x.running("v1")
	x.cloud.setFault(vnflcm.OpScale, errors.New("no room for "+canary))
	failed := x.begin(uri+"/scale", `{"type":"SCALE_OUT","aspectId":"workers","additionalParams":{"password":"`+canary+`"}}`, vnflcm.FailedTemp)
	x.cloud.setFault(vnflcm.OpScale, nil)
	occ := failed.Request.URL.String()
	x.send("POST", occ+"/rollback", "", 202)
	x.await(occ, vnflcm.RolledBack)
	x.begin(uri+"/terminate", `{"terminationType":"FORCEFUL"}`, vnflcm.Completed)
	x.send("DELETE", uri, "", 204)

	want := []string{"CreationNotification", "INSTANTIATE STARTING", "INSTANTIATE PROCESSING", "INSTANTIATE COMPLETED", "SCALE STARTING", "SCALE PROCESSING",
		"SCALE FAILED_TEMP", "SCALE ROLLING_BACK", "SCALE ROLLED_BACK", "TERMINATE STARTING", "TERMINATE PROCESSING", "TERMINATE COMPLETED", "DeletionNotification"}
	for name, s := range map[string]*subscriber{"version 1": one, "version 2": two, "short": short} {
		if diff := cmp.Diff(want, s.told(t, len(want))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for i := range want {
		if one.got[i]["id"] != two.got[i]["id"] {
			t.Errorf("%s has another id for each subscriber (SOL003 v2.6.1 5.5.2.17)", want[i])
		}
	}
	detail := func(s *subscriber, i int) []string {
		return slices.DeleteFunc(keys(s.got[i]), func(k string) bool {
			return slices.Contains([]string{"id", "notificationType", "subscriptionId", "timeStamp", "vnfInstanceId", "_links", "vnfLcmOpOccId", "operation", "operationState", "isAutomaticInvocation"}, k)
		})
	}
	for i, attributes := range map[int][]string{1: {"notificationStatus"}, 3: {"affectedVnfcs", "changedInfo", "notificationStatus"}, 6: {"error", "notificationStatus"}} {
		if diff := cmp.Diff(attributes, detail(one, i)); diff != "" {
			t.Errorf("%s:\n%s", want[i], diff)
		}
		brief := slices.DeleteFunc(append(slices.Clone(attributes), "verbosity"), func(k string) bool { return k == "affectedVnfcs" })
		if diff := cmp.Diff(brief, detail(short, i)); diff != "" {
			t.Errorf("%s, short:\n%s", want[i], diff)
		}
	}
	info, _ := two.got[3]["changedInfo"].(object)
	if _, isMap := info["vimConnectionInfo"].(object); !isMap {
		t.Errorf("version 2 has the connections of version 1: %v", two.got[3])
	}
	links, _ := two.got[6]["_links"].(object)
	if diff := cmp.Diff(object{"vnfInstance": object{"href": strings.Replace(uri, "v1", "v2", 1)}, "vnfLcmOpOcc": object{"href": strings.Replace(occ, "v1", "v2", 1)},
		"subscription": links["subscription"]}, links); diff != "" {
		t.Errorf("the links:\n%s", diff)
	}

	x.send("DELETE", subscription, "", 204)
	x.create("v1")
	one.told(t, len(want)+1)
	if got := short.told(t, len(want)); len(got) > len(want) {
		t.Errorf("notifications after the end of the subscription: %v", got[len(want):])
	}
}

// TestNotificationFilters creates subscriptions with filters and compares their notifications.
func TestNotificationFilters(t *testing.T) {
	t.Parallel()
	x := newNotifyingVNFM(t, notify.Options{}, sol003.Options{})
	all := []string{"CreationNotification", "INSTANTIATE STARTING", "INSTANTIATE PROCESSING", "INSTANTIATE COMPLETED"}
	product := func(provider, name, software, vnfd string) string {
		return fmt.Sprintf(`{"vnfInstanceSubscriptionFilter":{"vnfProductsFromProviders":[{"vnfProvider":"Other"},{"vnfProvider":%q,"vnfProducts":[{"vnfProductName":%q,
			"versions":[{"vnfSoftwareVersion":%q,"vnfdVersions":["0.9",%q]}]}]}]}}`, provider, name, software, vnfd)
	}
	cases := map[string]struct {
		filter string
		want   []string
	}{
		"no filter":            {`{}`, all},
		"VNFD":                 {`{"vnfInstanceSubscriptionFilter":{"vnfdIds":["x","` + toyVNFD + `"],"vnfInstanceNames":["toy"]}}`, all},
		"another VNFD":         {`{"vnfInstanceSubscriptionFilter":{"vnfdIds":["x"]}}`, nil},
		"another instance":     {`{"vnfInstanceSubscriptionFilter":{"vnfInstanceIds":["x"]}}`, nil},
		"another name":         {`{"vnfInstanceSubscriptionFilter":{"vnfInstanceNames":["x"]}}`, nil},
		"provider":             {`{"vnfInstanceSubscriptionFilter":{"vnfProductsFromProviders":[{"vnfProvider":"Toys"}]}}`, all},
		"product":              {product("Toys", "Toy", "1.2", "1.0"), all},
		"another product":      {product("Toys", "Doll", "1.2", "1.0"), nil},
		"another software":     {product("Toys", "Toy", "1.3", "1.0"), nil},
		"another VNFD version": {product("Toys", "Toy", "1.2", "1.1"), nil},
		"types":                {`{"notificationTypes":["VnfIdentifierCreationNotification"]}`, all[:1]},
		"states":               {`{"notificationTypes":["VnfLcmOperationOccurrenceNotification"],"operationStates":["COMPLETED","FAILED"]}`, all[3:]},
		"operations":           {`{"operationTypes":["SCALE"]}`, all[:1]},
	}
	got := map[string]*subscriber{}
	for name, c := range cases {
		got[name] = newSubscriber(t, nil)
		x.subscribe("v1", `{"filter":`+c.filter+`,"callbackUri":"`+got[name].URL+`"}`)
	}
	x.running("v1")
	got["no filter"].told(t, len(all))
	for name, c := range cases {
		if diff := cmp.Diff(c.want, got[name].told(t, len(c.want))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestNotificationAuthentication sends notifications to subscribers that require credentials.
func TestNotificationAuthentication(t *testing.T) {
	t.Parallel()
	nfvo := newSubscriber(t, func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert })
	var issued atomic.Int32
	login := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, secret, _ := r.BasicAuth(); id != "vnfm" || secret != canary || r.FormValue("grant_type") != "client_credentials" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, issued.Add(1))
	}))
	defer login.Close()
	certificate := nfvo.TLS.Certificates[0] // any will do
	pool := nfvo.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs.Clone()
	pool.AddCert(login.Certificate())
	var log bytes.Buffer
	x := newNotifyingVNFM(t, notify.Options{TLS: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		Logger: slog.New(slog.NewTextHandler(&log, nil))}, sol003.Options{})
	good := "Bearer token-1"
	var used []string
	nfvo.setAnswer(func(r *http.Request, _ object) int {
		user, password, basic := r.BasicAuth()
		ok := map[string]bool{
			"/basic":  basic && user == "u" && password == canary,
			"/oauth2": r.Header.Get("Authorization") == good,
			"/cert":   len(r.TLS.PeerCertificates) == 1 && r.Header.Get("Authorization") == "",
		}[r.URL.Path]
		if !ok {
			return http.StatusUnauthorized
		}
		nfvo.mu.Lock()
		defer nfvo.mu.Unlock()
		used = append(used, r.Method+" "+r.URL.Path)
		return http.StatusNoContent
	})
	for path, authentication := range map[string]string{
		"/basic":  `{"authType":["BASIC"],"paramsBasic":{"userName":"u","password":"` + canary + `"}}`,
		"/oauth2": `{"authType":["BASIC","OAUTH2_CLIENT_CREDENTIALS"],"paramsBasic":{"userName":"x","password":"x"},"paramsOauth2ClientCredentials":{"clientId":"vnfm","clientPassword":"` + canary + `","tokenEndpoint":"` + login.URL + `"}}`,
		"/cert":   `{"authType":["TLS_CERT"]}`,
	} {
		body := `{"callbackUri":"` + nfvo.URL + path + `?k=` + canary[:5] + `","authentication":` + authentication + `}`
		x.subscribe("v2", body)
		if path != "/cert" {
			x.send("POST", "/vnflcm/v2/subscriptions", strings.Replace(body, `"`+canary+`"`, `"wrong"`, 1), 422)
		}
	}
	good = "Bearer token-3" // the tokens of the test call and of the sender become invalid
	x.create("v2")
	nfvo.told(t, 3)
	for _, path := range []string{"/basic", "/oauth2", "/cert"} {
		if !slices.Contains(used, "GET "+path) || !slices.Contains(used, "POST "+path) {
			t.Errorf("%s: only %v", path, used)
		}
	}
	if strings.Contains(log.String(), canary[:5]) || strings.Contains(log.String(), "token-") {
		t.Errorf("the log has a secret: %s", log.String())
	}
}

// TestSubscribersThatFail sends notifications to subscribers that fail and to one that accepts them.
func TestSubscribersThatFail(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	x := newNotifyingVNFM(t, notify.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, sol003.Options{})
	good, late, picky, silent, moved := newSubscriber(t, nil), newSubscriber(t, nil), newSubscriber(t, nil), newSubscriber(t, nil), newSubscriber(t, nil)
	for _, s := range []*subscriber{good, late, picky, silent, moved} {
		x.subscribe("v1", `{"callbackUri":"`+s.URL+`/?token=hidden"}`)
	}
	var calls atomic.Int32
	late.setAnswer(func(*http.Request, object) int {
		if calls.Add(1) == 1 {
			return http.StatusServiceUnavailable
		}
		return http.StatusNoContent
	})
	picky.setAnswer(func(_ *http.Request, d object) int {
		if d["operationState"] == "PROCESSING" {
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	})
	released := make(chan struct{})
	silent.setAnswer(func(*http.Request, object) int { <-released; return http.StatusNoContent })
	moved.setAnswer(func(r *http.Request, _ object) int {
		if r.URL.Path == "/elsewhere" {
			t.Error("a redirect was followed")
		}
		return http.StatusPermanentRedirect
	})
	x.running("v1")
	want := []string{"CreationNotification", "INSTANTIATE STARTING", "INSTANTIATE PROCESSING", "INSTANTIATE COMPLETED"}
	if diff := cmp.Diff(want, good.told(t, 4)); diff != "" {
		t.Errorf("beside subscribers that fail:\n%s", diff)
	}
	if diff := cmp.Diff(want, late.told(t, 4)); diff != "" {
		t.Errorf("after a failure:\n%s", diff)
	}
	if diff := cmp.Diff(slices.Delete(slices.Clone(want), 2, 3), picky.told(t, 3)); diff != "" {
		t.Errorf("with one that is refused:\n%s", diff)
	}
	close(released)
	if diff := cmp.Diff(want, silent.told(t, 4)); diff != "" {
		t.Errorf("after a silence:\n%s", diff)
	}
	if text := log.String(); !strings.Contains(text, "refuses a notification") || strings.Contains(text, "is given up") || strings.Contains(text, "hidden") || strings.Contains(text, "http://") {
		t.Errorf("the log: %s", text)
	}
}

// TestNotificationsAreGivenUp sends notifications to a subscriber that fails for longer than GiveUpAfter.
func TestNotificationsAreGivenUp(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	var reported atomic.Int32
	x := newNotifyingVNFM(t, notify.Options{GiveUpAfter: time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		GivenUp: func(id string, err error) {
			if id != "" && err != nil {
				reported.Add(1)
			}
		}}, sol003.Options{})
	nfvo := newSubscriber(t, nil)
	x.subscribe("v1", `{"callbackUri":"`+nfvo.URL+`/?token=hidden"}`)
	nfvo.setAnswer(func(*http.Request, object) int { return http.StatusServiceUnavailable })
	x.running("v1")
	for deadline := time.Now().Add(patience); strings.Count(log.String(), "is given up") < 4 || reported.Load() < 4; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("notifications are not given up: %s", log.String())
		}
	}
	if text := log.String(); strings.Contains(text, "hidden") || strings.Contains(text, "http://") {
		t.Errorf("the log: %s", text)
	}
}

// TestDelayedNotifications checks that a notification counts as delayed after a failed attempt, until the subscriber accepts it.
func TestDelayedNotifications(t *testing.T) {
	t.Parallel()
	var n *notify.Notifier
	x := newVNFMWith(t, nil, sol003.Options{}, func(m *vnflcm.Manager, options *sol003.Options) sol003.Manager {
		n = notify.New(m, notify.Options{Allow: outbound.AllowAny})
		send(t, n)
		options.Subscriptions = n
		return m
	})
	nfvo := newSubscriber(t, nil)
	x.subscribe("v1", `{"callbackUri":"`+nfvo.URL+`"}`)
	if delay := n.Delay(); delay != 0 {
		t.Errorf("before any change: %v", delay)
	}
	await := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); (n.Delay() > 0) != want; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("delayed %v, want %v", n.Delay(), want)
			}
		}
	}
	nfvo.setAnswer(func(*http.Request, object) int { return http.StatusServiceUnavailable })
	x.running("v1")
	await(true)
	nfvo.setAnswer(func(*http.Request, object) int { return http.StatusNoContent })
	nfvo.told(t, 4)
	await(false)
}

// lockedBuffer is a buffer for a log.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestNotifiersShareTheWork runs two processes on one store. Only one of them may send.
func TestNotifiersShareTheWork(t *testing.T) {
	t.Parallel()
	store := store.NewMemory()
	compose := func() (*vnfm, *notify.Notifier) {
		var n *notify.Notifier
		return newVNFMWith(t, func(cfg *vnflcm.Config) { cfg.Store = store }, sol003.Options{}, func(m *vnflcm.Manager, options *sol003.Options) sol003.Manager {
			n = notify.New(m, notify.Options{Allow: outbound.AllowAny})
			options.Subscriptions = n
			return m
		}), n
	}
	first, firstNotifier := compose()
	second, secondNotifier := compose()
	nfvo, other := newSubscriber(t, nil), newSubscriber(t, nil)
	send(t, firstNotifier)
	subscription := second.subscribe("v1", `{"callbackUri":"`+nfvo.URL+`"}`)
	second.subscribe("v1", `{"callbackUri":"`+other.URL+`"}`)
	second.create("v1")
	nfvo.told(t, 1) // the first process sends the notification of the second process's operation
	send(t, secondNotifier)
	second.create("v1")
	nfvo.told(t, 2)
	must(t, first.Close(t.Context()))
	second.create("v1")
	second.create("v1")
	nfvo.told(t, 4)
	second.send("DELETE", subscription, "", 204)
	second.create("v1")
	other.told(t, 5)
	if got := nfvo.told(t, 4); len(got) != 4 { // without the request that Close interrupts, which is repeated
		t.Errorf("notifications after the end of the subscription: %v", got)
	}
}
