package cnftest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
)

// Cluster is a simulated cluster. It is safe for concurrent use.
type Cluster struct {
	t     testing.TB
	kube  *kubeapi.Standalone
	tls   *tls.Config
	token string

	mu       sync.Mutex
	address  string
	server   *http.Server
	requests sync.WaitGroup // that are being answered, and the server
	faults   []*fault
	observe  func(method, path string)
}

// Option changes what Start starts.
type Option func(*options)

type options struct{ kubeapi.StandaloneOptions }

// Nodes is how many nodes there are: node-1, node-2, ... Default 3.
func Nodes(n int) Option {
	return func(o *options) {
		o.Nodes = nil
		for i := range n {
			o.Nodes = append(o.Nodes, fmt.Sprintf("node-%d", i+1))
		}
	}
}

// PodDelay is how long pods take to start, to end in Jobs, and to stop. Default 20 ms.
func PodDelay(d time.Duration) Option { return func(o *options) { o.Delay = d } }

// Start starts a cluster, which ends with the test.
func Start(t testing.TB, with ...Option) *Cluster {
	t.Helper()
	c, err := Open(with...)
	if err != nil {
		t.Fatal(err)
	}
	c.t = t
	t.Cleanup(c.Stop)
	return c
}

// Open starts a cluster that runs until Stop. Its methods that need a test panic: Start and Kubeconfig.
func Open(with ...Option) (*Cluster, error) {
	var o options
	Nodes(3)(&o)
	PodDelay(20 * time.Millisecond)(&o)
	for _, option := range with {
		option(&o)
	}
	kube, err := kubeapi.NewStandalone(o.StandaloneOptions)
	if err != nil {
		return nil, err
	}
	cert, err := kube.Certificate(net.IPv4(127, 0, 0, 1))
	if err != nil {
		return nil, err
	}
	c := &Cluster{kube: kube, address: "127.0.0.1:0", tls: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
		ClientCAs: kube.ClientCAs(), ClientAuth: tls.VerifyClientCertIfGiven, NextProtos: []string{"h2", "http/1.1"}}}
	if c.token, err = c.NewToken("admin", 24*time.Hour); err != nil {
		return nil, err
	}
	return c, c.listen()
}

// Start starts the API server again after Stop, at the same address and with all that it knew.
func (c *Cluster) Start() {
	c.t.Helper()
	if err := c.listen(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) listen() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", c.address)
	if err != nil {
		return err
	}
	c.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	c.server = &http.Server{Handler: http.HandlerFunc(c.serve), TLSConfig: c.tls, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	server := c.server
	c.requests.Go(func() {
		defer cancel()
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) && c.t != nil {
			c.t.Error(err)
		}
	})
	return nil
}

// Stop stops the API server: connections end, new ones are refused.
func (c *Cluster) Stop() {
	c.mu.Lock()
	server := c.server
	c.server = nil
	c.mu.Unlock()
	if server == nil {
		return
	}
	_ = server.Close()
	c.requests.Wait()
}

// URL is the endpoint of the API.
func (c *Cluster) URL() string { return "https://" + c.address }

// CA is the certificate of the authority that the API's own is signed by, as PEM.
func (c *Cluster) CA() string { return c.kube.CA() }

// Token is the bearer token of an administrator that Config uses.
func (c *Cluster) Token() string { return c.token }

// NewToken makes another one, of the service account of that name in kube-system.
func (c *Cluster) NewToken(account string, lives time.Duration) (string, error) {
	return c.kube.Token(account, time.Now().Add(lives))
}

// ExpireToken ends Token's life: from now on requests with it are Unauthorized.
func (c *Cluster) ExpireToken() { c.kube.Expire(c.token) }

// ClientCertificate makes one of an administrator, and its key, as PEM.
func (c *Cluster) ClientCertificate(name string) (cert, key string, err error) {
	return c.kube.ClientCertificate(name)
}

// SetNodeDown makes a node NotReady, or Ready again.
func (c *Cluster) SetNodeDown(name string, down bool) { c.kube.SetNodeDown(name, down) }

// Config is client-go's configuration for the cluster, without a rate limit.
func (c *Cluster) Config() *rest.Config {
	return &rest.Config{Host: c.URL(), BearerToken: c.token, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(c.CA())}, QPS: -1}
}

// Kubeconfig is a kubeconfig file for the cluster.
func (c *Cluster) Kubeconfig() string {
	c.t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["simulated"] = &clientcmdapi.Cluster{Server: c.URL(), CertificateAuthorityData: []byte(c.CA())}
	k.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: c.token}
	k.Contexts["simulated"] = &clientcmdapi.Context{Cluster: "simulated", AuthInfo: "admin"}
	k.CurrentContext = "simulated"
	text, err := clientcmd.Write(*k)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}
