package kubeaccess_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	clientcmd "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// supply has every VIM be reached by a rest.Config.
func supply(config *rest.Config) kubeaccess.Options {
	return kubeaccess.Options{Cluster: func(context.Context, vnflcm.VimConnectionInfo) (*rest.Config, error) { return config, nil }}
}

// plugin is a program that prints credentials.
func plugin(t *testing.T, status string) *clientcmd.ExecConfig {
	t.Helper()
	return &clientcmd.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "sh", InteractiveMode: clientcmd.NeverExecInteractiveMode,
		Args: []string{"-c", `cat <<'EOF'
{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":` + status + `}
EOF`}}
}

// TestSupplied: the program supplies credentials that a VIM entry cannot have. The entry has none.
func TestSupplied(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	plain := newAPI(t, (*httptest.Server).Start)
	certificate, key := client(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	trusting := rest.TLSClientConfig{CAData: []byte(a.ca())}
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate())
	own := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(own.CloseIdleConnections)
	proxied := false
	for name, c := range map[string]struct {
		config rest.Config
		want   error
		log    string
	}{
		"token":          {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, BearerToken: canary}},
		"file":           {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, BearerTokenFile: file}},
		"host and port":  {config: rest.Config{Host: a.Listener.Addr().String(), TLSClientConfig: trusting, BearerToken: canary}},
		"password":       {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, Username: "u", Password: canary}},
		"certificate":    {config: rest.Config{Host: a.URL, TLSClientConfig: rest.TLSClientConfig{CAData: trusting.CAData, CertData: []byte(certificate), KeyData: []byte(key)}}},
		"plugin":         {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, ExecProvider: plugin(t, `{"token":"`+canary+`"}`)}},
		"plugin, client": {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, ExecProvider: plugin(t, fmt.Sprintf(`{"clientCertificateData":%q,"clientKeyData":%q}`, certificate, key))}},
		"wrapped": {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Header.Set("Authorization", "Bearer "+canary)
				return next.RoundTrip(r)
			})
		}}},
		"own transport": {config: rest.Config{Host: a.URL, Transport: own, BearerToken: canary}},
		"proxy": {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, BearerToken: canary, Proxy: func(*http.Request) (*url.URL, error) {
			proxied = true
			return nil, nil
		}}},
		"not verified":        {config: rest.Config{Host: a.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, BearerToken: canary}, log: "is not verified"},
		"http":                {config: rest.Config{Host: plain.URL, BearerToken: canary}, log: "not encrypted"},
		"wrong token":         {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, BearerToken: canary + "-expired"}, want: kubeaccess.ErrAuth},
		"wrong plugin":        {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, ExecProvider: plugin(t, `{"token":"`+canary+`-expired"}`)}, want: kubeaccess.ErrAuth},
		"unknown CA":          {config: rest.Config{Host: a.URL, BearerToken: canary}, want: kubeaccess.ErrTLS},
		"transport and TLS":   {config: rest.Config{Host: a.URL, Transport: own, TLSClientConfig: trusting, BearerToken: canary}, want: vnflcm.ErrProgramming},
		"transport, plugin":   {config: rest.Config{Host: a.URL, Transport: own, ExecProvider: plugin(t, `{}`)}, want: vnflcm.ErrProgramming},
		"two ways":            {config: rest.Config{Host: a.URL, TLSClientConfig: trusting, BearerToken: canary, Username: "u", Password: canary}, want: vnflcm.ErrProgramming},
		"no CA":               {config: rest.Config{Host: a.URL, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(canary)}}, want: vnflcm.ErrProgramming},
		"http to others":      {config: rest.Config{Host: "http://10.0.0.1:8080", BearerToken: canary}, want: vnflcm.ErrProgramming},
		"no scheme, no CA":    {config: rest.Config{Host: "10.0.0.1:6443", BearerToken: canary}, want: vnflcm.ErrProgramming},
		"password in the URL": {config: rest.Config{Host: "https://u:" + canary + "@k"}, want: vnflcm.ErrProgramming},
		"no URL":              {config: rest.Config{Host: "https://k:port", BearerToken: canary}, want: vnflcm.ErrProgramming},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			o := supply(&c.config)
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			entry := vim(t, nil, attrs{"account": canary}, nil)
			if err := kubeaccess.Check(t.Context(), entry, o); err != nil && !errors.Is(err, c.want) {
				t.Error(err)
			}
			cluster, err := kubeaccess.Open(t.Context(), entry, o)
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
			if cluster.DefaultNamespace != "default" || name == "proxy" && !proxied {
				t.Errorf("namespace %s, proxied %v", cluster.DefaultNamespace, proxied)
			}
			// Other clients are made of Config.
			other, err := rest.HTTPClientFor(cluster.Config)
			if err != nil {
				t.Fatal(err)
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cluster.Config.Host+"/api", nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := other.Do(request)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%+v, %v", answer, err)
			}
			_ = answer.Body.Close()
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// TestSuppliedFaults: credentials are given to no other host, and what fails is sorted as with a VIM.
func TestSuppliedFaults(t *testing.T) {
	t.Parallel()
	elsewhere := newAPI(t, (*httptest.Server).StartTLS)
	for name, c := range map[string]struct {
		plugin string
		answer http.HandlerFunc
		text   string
	}{
		"redirect":  {`{"token":"` + canary + `"}`, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, "redirects"},
		"cut":       {`{"token":"` + canary + `"}`, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "cannot be reached"},
		"no plugin": {"", nil, "getting credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, (*httptest.Server).StartTLS)
			limit := time.Minute
			if c.plugin == "" { // no request tells when to give up
				limit = time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var requests atomic.Int32
			a.set(func(w http.ResponseWriter, r *http.Request) bool {
				if requests.Add(1) == 4 { // the caller gives up
					cancel()
				}
				c.answer(w, r)
				return true
			})
			config := &rest.Config{Host: a.URL, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(a.ca())}, ExecProvider: plugin(t, c.plugin)}
			if c.plugin == "" {
				config.ExecProvider.Command = "/nowhere"
			}
			_, err := kubeaccess.Open(ctx, vim(t, nil, nil, nil), supply(config))
			if !errors.Is(err, kubeaccess.ErrUnreachable) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), canary) {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		if n := elsewhere.count(); n != 0 {
			t.Errorf("%d requests to the other host", n)
		}
	})
}

// TestSuppliedWay: by the jump host of the VIM, or as the rest.Config dials; not by both.
func TestSuppliedWay(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, a.Listener.Addr().String())
	}
	var asked []string
	jump := sshtest.Start(t, sshtest.Config{Name: "jump", User: "jumper", Password: canary,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			asked = append(asked, addr)
			return dial(ctx, network, addr)
		}})
	jumping := vim(t, nil, nil, attrs{"jump_host": attrs{"address": jump.Addr(), "username": "jumper", "password": canary, "host_key": jump.PublicKey()}})
	pool := sshexec.NewPool(sshexec.Options{})
	defer func() { _ = pool.Close() }()
	config := rest.Config{Host: "https://example.com:6443", TLSClientConfig: rest.TLSClientConfig{CAData: []byte(a.ca())}, BearerToken: canary}
	dialing := config
	dialing.Dial = dial
	for name, c := range map[string]struct {
		vim    vnflcm.VimConnectionInfo
		config rest.Config
		want   error
	}{
		"jump host": {jumping, config, nil},
		"dialer":    {vim(t, nil, nil, nil), dialing, nil},
		"both":      {jumping, dialing, vnflcm.ErrProgramming},
	} {
		o := supply(&c.config)
		o.SSH = pool
		cluster, err := kubeaccess.Open(t.Context(), c.vim, o)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			cluster.Close()
		}
	}
	if diff := cmp.Diff([]string{"example.com:6443"}, asked); diff != "" {
		t.Error(diff)
	}
}

// TestSuppliedNothing: without a rest.Config it is as the VIM says; an error of the program ends it.
func TestSuppliedNothing(t *testing.T) {
	t.Parallel()
	a := newAPI(t, (*httptest.Server).StartTLS)
	cluster, err := kubeaccess.Open(t.Context(), vim(t, attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca()}, attrs{"bearer_token": canary}, nil), supply(nil))
	if err != nil {
		t.Fatal(err)
	}
	cluster.Close()
	if err := kubeaccess.Check(t.Context(), vim(t, nil, nil, nil), supply(nil)); !errors.Is(err, vnflcm.ErrInvalidRequest) {
		t.Errorf("without attributes: %v", err)
	}
	failed := errors.New("the cloud does not answer")
	o := kubeaccess.Options{Cluster: func(context.Context, vnflcm.VimConnectionInfo) (*rest.Config, error) { return nil, failed }}
	if _, err := kubeaccess.Open(t.Context(), vim(t, nil, nil, nil), o); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := kubeaccess.Check(t.Context(), vim(t, nil, nil, nil), o); !errors.Is(err, failed) {
		t.Error(err)
	}
}
