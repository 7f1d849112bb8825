package kubeaccess_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	certificate, key := client(t)
	const url = "https://10.0.0.1:6443"
	token := attrs{"bearer_token": canary, "auth_url": url}
	at := func(more attrs) attrs {
		out := attrs{"endpoint": url}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	file := func(cluster, user string) attrs { return attrs{"kubeconfig": kubeconfig(url, cluster, user)} }
	for name, c := range map[string]struct {
		inter, access, extra attrs
		want                 []string // paths
	}{
		"version 1":             {access: token},
		"version 2":             {inter: at(attrs{"ssl_ca_cert": certificate}), access: attrs{"bearer_token": canary}},
		"both":                  {inter: at(nil), access: token},
		"both, others":          {inter: attrs{"endpoint": url + "1"}, access: token, want: []string{"accessInfo.auth_url"}},
		"password":              {inter: at(nil), access: attrs{"username": "u", "password": canary}},
		"certificate":           {inter: at(nil), access: attrs{"client_certificate": certificate, "client_key": key}},
		"kubeconfig":            {access: file("certificate-authority-data: "+inline(certificate), "token: "+canary)},
		"kubeconfig, key":       {access: file("tls-server-name: k", "client-certificate-data: "+inline(certificate)+", client-key-data: "+inline(key))},
		"CA is None":            {inter: at(attrs{"ssl_ca_cert": "None"}), access: attrs{"bearer_token": canary}},
		"http to itself":        {inter: attrs{"endpoint": "http://127.0.0.1:8001"}, access: attrs{"bearer_token": canary}},
		"nothing":               {want: []string{"accessInfo.bearer_token", "interfaceInfo.endpoint"}},
		"http":                  {inter: attrs{"endpoint": "http://10.0.0.1:8080"}, access: attrs{"bearer_token": canary}, want: []string{"interfaceInfo.endpoint"}},
		"http with CA":          {inter: attrs{"endpoint": "http://127.0.0.1:8001", "ssl_ca_cert": certificate}, access: attrs{"bearer_token": canary}, want: []string{"interfaceInfo.endpoint"}},
		"no URL":                {inter: attrs{"endpoint": "10.0.0.1:6443"}, access: attrs{"bearer_token": canary}, want: []string{"interfaceInfo.endpoint"}},
		"password in the URL":   {inter: attrs{"endpoint": "https://u:" + canary + "@k"}, access: attrs{"bearer_token": canary}, want: []string{"interfaceInfo.endpoint"}},
		"query":                 {inter: attrs{"endpoint": "https://k?a=" + canary}, access: attrs{"bearer_token": canary}, want: []string{"interfaceInfo.endpoint"}},
		"no CA":                 {inter: at(attrs{"ssl_ca_cert": "hello"}), access: attrs{"bearer_token": canary}, want: []string{"interfaceInfo.ssl_ca_cert"}},
		"two ways":              {access: attrs{"bearer_token": canary, "auth_url": url, "client_certificate": "c", "client_key": canary}, want: []string{"accessInfo.bearer_token", "accessInfo.client_certificate"}},
		"password not needed":   {access: attrs{"bearer_token": canary, "auth_url": url, "username": "u", "password": canary}},
		"half a password":       {inter: at(nil), access: attrs{"password": canary}, want: []string{"accessInfo.password"}},
		"half a certificate":    {inter: at(nil), access: attrs{"client_certificate": certificate}, want: []string{"accessInfo.client_certificate"}},
		"wrong types":           {inter: at(attrs{"insecure_skip_tls_verify": "maybe"}), access: attrs{"bearer_token": []string{canary}}, want: []string{"accessInfo.bearer_token", "interfaceInfo.insecure_skip_tls_verify"}},
		"token with a line":     {inter: at(nil), access: attrs{"bearer_token": canary + "\nX: y"}, want: []string{"accessInfo.bearer_token"}},
		"CA for nothing":        {inter: at(attrs{"insecure_skip_tls_verify": "True", "ssl_ca_cert": certificate}), access: attrs{"bearer_token": canary}, want: []string{"interfaceInfo.insecure_skip_tls_verify"}},
		"jump host":             {access: token, extra: attrs{"jump_host": attrs{"address": "j"}, "helm_info": "x"}, want: []string{"extra.jump_host.password", "extra.jump_host.username"}},
		"kubeconfig and token":  {access: attrs{"bearer_token": canary, "kubeconfig": kubeconfig(url, "", "token: x")}, want: []string{"accessInfo.kubeconfig"}},
		"kubeconfig, endpoint":  {inter: at(nil), access: file("", "token: "+canary), want: []string{"interfaceInfo.endpoint"}},
		"no kubeconfig":         {access: attrs{"kubeconfig": canary}, want: []string{"accessInfo.kubeconfig"}},
		"exec":                  {access: file("", "exec: {command: sh, args: ["+canary+"], apiVersion: client.authentication.k8s.io/v1}"), want: []string{"accessInfo.kubeconfig"}},
		"files":                 {access: file("certificate-authority: /etc/passwd", "tokenFile: /etc/shadow"), want: []string{"accessInfo.kubeconfig"}},
		"somebody else":         {access: file("", "token: "+canary+", as: root"), want: []string{"accessInfo.kubeconfig"}},
		"proxy":                 {access: file("proxy-url: http://evil", "token: "+canary), want: []string{"accessInfo.kubeconfig"}},
		"insecure":              {access: file("insecure-skip-tls-verify: true", "token: "+canary), want: []string{"accessInfo.kubeconfig"}},
		"insecure, said":        {inter: attrs{"insecure_skip_tls_verify": true}, access: file("insecure-skip-tls-verify: true", "token: "+canary)},
		"no credentials":        {access: file("", ""), want: []string{"accessInfo.kubeconfig"}},
		"two contexts":          {access: attrs{"kubeconfig": strings.Replace(kubeconfig(url, "", "token: x"), "contexts: [", "contexts: [{name: d, context: {cluster: k, user: u}}, ", 1)}, want: []string{"accessInfo.kubeconfig"}},
		"other context":         {access: attrs{"kubeconfig": strings.Replace(kubeconfig(url, "", "token: x"), "current-context: c", "current-context: d", 1)}, want: []string{"accessInfo.kubeconfig"}},
		"unknown user":          {access: attrs{"kubeconfig": strings.Replace(kubeconfig(url, "", "token: x"), "user: u,", "user: v,", 1)}, want: []string{"accessInfo.kubeconfig"}},
		"kubeconfig over http":  {access: attrs{"kubeconfig": kubeconfig("http://k", "", "token: x")}, want: []string{"accessInfo.kubeconfig"}},
		"kubeconfig, no server": {access: attrs{"kubeconfig": kubeconfig("", "", "token: x")}, want: []string{"accessInfo.kubeconfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := kubeaccess.Check(t.Context(), vim(t, c.inter, c.access, c.extra), kubeaccess.Options{})
			var got []string
			for line := range strings.Lines(fmt.Sprint(err)) {
				if path, _, ok := strings.Cut(line, ":"); ok && err != nil {
					got = append(got, strings.TrimPrefix(path, "vimConnectionInfo."))
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if err != nil && (!errors.Is(err, vnflcm.ErrInvalidRequest) || strings.Contains(err.Error(), canary)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	plain := newAPI(t, (*httptest.Server).Start)
	certificate, key := client(t)
	other := strings.Replace(a.URL, "127.0.0.1", "localhost", 1) // not in the certificate
	token := attrs{"bearer_token": canary}
	for name, c := range map[string]struct {
		inter, access attrs
		want          error
		log           string
	}{
		"token":             {inter: attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca()}, access: token},
		"version 1":         {access: attrs{"auth_url": a.URL + "/", "ssl_ca_cert": a.ca(), "bearer_token": canary, "project_name": "default"}},
		"password":          {inter: attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca()}, access: attrs{"username": "u", "password": canary}},
		"certificate":       {inter: attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca()}, access: attrs{"client_certificate": certificate, "client_key": key}},
		"kubeconfig":        {access: attrs{"kubeconfig": kubeconfig(a.URL, "certificate-authority-data: "+inline(a.ca()), "token: "+canary)}},
		"other name":        {inter: attrs{"endpoint": other, "ssl_ca_cert": a.ca(), "tls_server_name": "example.com"}, access: token},
		"http":              {inter: attrs{"endpoint": plain.URL}, access: token, log: "not encrypted"},
		"not verified":      {inter: attrs{"endpoint": other, "insecure_skip_tls_verify": true}, access: token, log: "is not verified"},
		"unknown attribute": {inter: attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca(), "colour": "x"}, access: token, log: "interfaceInfo.colour"},
		"wrong token":       {inter: attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca()}, access: attrs{"bearer_token": canary + "-expired"}, want: kubeaccess.ErrAuth},
		"unknown CA":        {inter: attrs{"endpoint": a.URL}, access: token, want: kubeaccess.ErrTLS},
		"wrong name":        {inter: attrs{"endpoint": other, "ssl_ca_cert": a.ca()}, access: token, want: kubeaccess.ErrTLS},
		"no TLS":            {inter: attrs{"endpoint": strings.Replace(plain.URL, "http:", "https:", 1), "ssl_ca_cert": a.ca()}, access: token, want: kubeaccess.ErrTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			cluster, err := kubeaccess.Open(t.Context(), vim(t, c.inter, c.access, nil), kubeaccess.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			if !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, err)+log.String(), canary) {
				t.Errorf("a secret is shown: %v %s", err, &log)
			}
			if !strings.Contains(log.String(), c.log) || (c.log == "") != (log.Len() == 0) {
				t.Errorf("the log is %s", &log)
			}
			if err != nil {
				return
			}
			defer cluster.Close()
			want := "default"
			if name == "kubeconfig" {
				want = "mine"
			}
			if cluster.DefaultNamespace != want {
				t.Error(cluster.DefaultNamespace)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	times := func(n int32, do http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if atomic.AddInt32(&n, -1) < 0 {
				return false
			}
			do(w, r)
			return true
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(code)
		}
	}
	cut := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	page := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") }
	var requests atomic.Int32
	thenSilent := func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			<-r.Context().Done()
			return
		}
		page(w, r)
	}
	elsewhere := newAPI(t, (*httptest.Server).StartTLS)
	for name, c := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		want   error
		text   string
	}{
		"busy, then well":        {times(2, status(429)), nil, ""},
		"starting, then well":    {times(2, status(503)), nil, ""},
		"cut, then well":         {times(2, cut), nil, ""},
		"always cut":             {times(999, cut), kubeaccess.ErrUnreachable, ""},
		"always starting":        {times(999, status(503)), kubeaccess.ErrUnreachable, "/api"},
		"no Kubernetes":          {times(999, page), kubeaccess.ErrUnreachable, "not an answer of a Kubernetes API"},
		"no Kubernetes, silent":  {times(999, thenSilent), kubeaccess.ErrUnreachable, "not an answer of a Kubernetes API"},
		"forbidden":              {times(1, status(403)), nil, "Forbidden"},
		"sent on to another API": {times(1, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }), kubeaccess.ErrUnreachable, "redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, (*httptest.Server).StartTLS)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			enough := int32(4) // requests after which the caller of an API that does not get well gives up
			if strings.HasSuffix(name, "silent") {
				enough = 2
			}
			var requests atomic.Int32
			a.set(func(w http.ResponseWriter, r *http.Request) bool {
				if requests.Add(1) == enough && c.want != nil {
					cancel()
				}
				return c.before(w, r)
			})
			cluster, err := kubeaccess.Open(ctx, vim(t, attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca()}, attrs{"bearer_token": canary}, nil), kubeaccess.Options{})
			if err == nil {
				cluster.Close()
			}
			if c.want != nil && !errors.Is(err, c.want) || (c.want != nil || c.text != "") != (err != nil) || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Error(err)
			}
			if name == "forbidden" && a.count() != 1 {
				t.Errorf("%d requests", a.count())
			}
		})
	}
	if n := elsewhere.count(); n != 0 {
		t.Errorf("another API was asked %d times", n)
	}
}

// TestAnswerBreaksOff: a request is repeated when the connection ends in the middle of its answer.
func TestAnswerBreaksOff(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	cluster := a.open(t, kubeaccess.Options{})
	var requests atomic.Int32
	a.set(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1","metadata":`)
		if requests.Add(1) == 1 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprint(w, `{"name":"p"}}`)
		return true
	})
	err := cluster.Do(t.Context(), func(ctx context.Context) error {
		_, err := cluster.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("default").Get(ctx, "p", metav1.GetOptions{})
		return err
	})
	if err != nil || requests.Load() != 2 {
		t.Errorf("after %d requests: %v", requests.Load(), err)
	}
}

// TestPatience: a request whose context has no deadline is not repeated for ever, and each new reason is reported once.
func TestPatience(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	var mu sync.Mutex
	var said []string
	cluster := a.open(t, kubeaccess.Options{
		Patience: time.Second, Waiting: func(_ context.Context, reason error) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, reason.Error())
		}})
	failing := apierrors.NewInternalError(errors.New("no leader"))
	err := cluster.Do(t.Context(), func(context.Context) error { return failing })
	var limit kubeaccess.Overdue
	if !errors.As(err, &limit) || !errors.Is(err, failing) || !strings.Contains(err.Error(), "no success within 1s") {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{failing.Error()}, said); diff != "" {
		t.Error(diff)
	}
}

func TestNobody(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = kubeaccess.Open(ctx, vim(t, attrs{"endpoint": "https://" + l.Addr().String()}, attrs{"bearer_token": canary}, nil), kubeaccess.Options{})
	if !errors.Is(err, kubeaccess.ErrUnreachable) || strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
}

func TestJumpHost(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	var asked []string
	jump := sshtest.Start(t, sshtest.Config{Name: "jump", User: "jumper", Password: canary,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			asked = append(asked, addr)
			return new(net.Dialer).DialContext(ctx, network, a.Listener.Addr().String())
		}})
	entry := attrs{"jump_host": attrs{"address": jump.Addr(), "username": "jumper", "password": canary, "host_key": jump.PublicKey()}}
	info := vim(t, attrs{"endpoint": "https://example.com:6443", "ssl_ca_cert": a.ca()}, attrs{"bearer_token": canary}, entry)
	if _, err := kubeaccess.Open(t.Context(), info, kubeaccess.Options{}); err == nil {
		t.Error("without SSH")
	}
	pool := sshexec.NewPool(sshexec.Options{})
	defer func() { _ = pool.Close() }()
	cluster, err := kubeaccess.Open(t.Context(), info, kubeaccess.Options{SSH: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	if diff := cmp.Diff([]string{"example.com:6443"}, asked); diff != "" {
		t.Error(diff)
	}
}

// TestAddresses: the policy judges the API of a request's VIM, before a jump host gets the address, and not the operator's. An answer
// of another server is not quoted.
func TestAddresses(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 10)
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached <- r.URL.Path
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"password": "hunter2"}`))
	}))
	t.Cleanup(inside.Close)
	jump := sshtest.Start(t, sshtest.Config{Name: "jump", User: "jumper", Password: canary, Dial: new(net.Dialer).DialContext})
	pool := sshexec.NewPool(sshexec.Options{})
	defer func() { _ = pool.Close() }()
	via := attrs{"jump_host": attrs{"address": jump.Addr(), "username": "jumper", "password": canary, "host_key": jump.PublicKey()}}
	for name, c := range map[string]struct {
		extra    attrs
		operator bool
		options  kubeaccess.Options
		want     error
		reached  bool
	}{
		"of a request":                     {want: outbound.ErrAddress},
		"of a request, by the program":     {options: kubeaccess.Options{Dial: new(net.Dialer).DialContext}, want: outbound.ErrAddress},
		"of a request, behind a jump host": {extra: via, options: kubeaccess.Options{SSH: pool}, want: outbound.ErrAddress},
		"allowed":                          {options: kubeaccess.Options{Allow: outbound.AllowAny}, reached: true},
		"of the operator":                  {operator: true, reached: true},
	} {
		t.Run(name, func(t *testing.T) {
			info := vim(t, attrs{"endpoint": inside.URL}, attrs{"bearer_token": canary}, c.extra)
			info.FromOperator = c.operator
			_, err := kubeaccess.Open(t.Context(), info, c.options)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
			if got := len(reached) > 0; got != c.reached {
				t.Errorf("the server was reached: %t", got)
			}
			for len(reached) > 0 {
				<-reached
			}
		})
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	cluster := a.open(t, kubeaccess.Options{})
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	for range 2 {
		k, err := cluster.Kind(t.Context(), deployment)
		if err != nil || !k.Namespaced || !k.Scalable || k.Resource.Resource != "deployments" {
			t.Error(k, err)
		}
	}
	if n := a.count(); n != 2 {
		t.Errorf("%d requests, not 2", n)
	}
	if k, err := cluster.Kind(t.Context(), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}); err != nil || k.Scalable {
		t.Error(k, err)
	}
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	if _, err := cluster.Kind(t.Context(), widget); !errors.Is(err, kubeaccess.ErrNoKind) {
		t.Error(err)
	}
	a.mu.Lock()
	a.widgets = true
	a.mu.Unlock()
	if k, err := cluster.Kind(t.Context(), widget); err != nil || k.Namespaced {
		t.Error(k, err)
	}
}

// A token that expires in the middle is found wherever the error comes from.
func TestExpires(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	cluster := a.open(t, kubeaccess.Options{})
	a.set(func(w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(http.StatusUnauthorized); return true })
	_, err := cluster.Kind(t.Context(), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	if !errors.Is(err, kubeaccess.ErrAuth) {
		t.Error(err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("https://k:6443", canary, kubeconfig("https://k", "insecure-skip-tls-verify: true", "exec: {command: x}"))
	f.Add("http://[::1]:80", "", kubeconfig("https://k", "", "token: x"))
	f.Fuzz(func(t *testing.T, endpoint, token, file string) {
		err := kubeaccess.Check(t.Context(), vim(t, attrs{"endpoint": endpoint}, attrs{"bearer_token": token, "kubeconfig": file}, nil), kubeaccess.Options{})
		if err != nil && !errors.Is(err, vnflcm.ErrInvalidRequest) {
			t.Fatal(err)
		}
	})
}
