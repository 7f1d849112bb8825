package inprocess

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Call is the state of one call of a method: values for which Helm's interfaces have no parameter, and Helm's access to
// the cluster for the call.
type Call struct {
	Name    helmclient.Name
	Clients kubernetes.Interface // requests end with the call
	Records kubernetes.Interface // for the records of releases: how a call has ended is written after its end, too
	Getter  *Getter
	Dynamic dynamic.Interface

	client *Client
	helm   Release
	ctx    context.Context //nolint:containedctx // Helm's interfaces take none
	// grace is longer than ctx: for recording how it ended, and for undoing it.
	grace    context.Context //nolint:containedctx // as above
	cleansUp bool            // what failed is undone, after the end of ctx too
	progress func(helmclient.Progress)

	answered atomic.Bool // the API server has answered

	mu       sync.Mutex
	ended    bool  // a wait has been broken off by the end of ctx
	reported error // the error of a step: Helm keeps only the text of some
}

// How long recording the end of a release, and undoing what failed, may take after ctx has ended.
const (
	recordGrace = 10 * time.Second
	undoGrace   = time.Minute
)

// open prepares one call. The caller calls end after Helm has ended.
func (c *Client) open(ctx context.Context, n helmclient.Name, cleansUp bool) (k *Call, end func(), err error) {
	if ctx.Err() != nil {
		return nil, nil, stopped(ctx, nil)
	}
	k = &Call{client: c, Name: n, ctx: ctx, cleansUp: cleansUp}
	grace, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	k.grace = grace
	var mu sync.Mutex
	var timer *time.Timer
	stop := context.AfterFunc(ctx, func() {
		after := recordGrace
		if cleansUp {
			after = undoGrace
		}
		mu.Lock()
		defer mu.Unlock()
		timer = time.AfterFunc(after, func() { cancel(context.Cause(ctx)) })
	})
	end = func() {
		stop()
		cancel(nil)
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Stop()
		}
	}
	if err := k.configure(); err != nil {
		end()
		return nil, nil, err
	}
	return k, end, nil
}

// config is the cluster with the transport of this call.
func (k *Call) config(records bool) *rest.Config {
	from := k.client.cluster
	return &rest.Config{
		Host: k.client.host, APIPath: from.APIPath, ContentConfig: from.ContentConfig, UserAgent: from.UserAgent,
		QPS: from.QPS, Burst: from.Burst, Timeout: from.Timeout, WarningHandler: rest.NoWarnings{},
		Transport: &transport{base: k.client.transport, call: k, records: records},
	}
}

func (k *Call) configure() (err error) {
	config := k.config(false)
	cached, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return badCluster(err)
	}
	found := memory.NewMemCacheClient(cached)
	k.Getter = &Getter{config: config, discovery: found, mapper: restmapper.NewDeferredDiscoveryRESTMapper(found), namespace: k.Name.Namespace}
	var err2, err3 error
	k.Dynamic, err = dynamic.NewForConfig(config)
	k.Clients, err2 = kubernetes.NewForConfig(config)
	k.Records, err3 = kubernetes.NewForConfig(k.config(true))
	if err := errors.Join(err, err2, err3); err != nil {
		return badCluster(err)
	}
	k.helm, err = k.client.helm.Open(k)
	return err
}

func badCluster(err error) error {
	return fmt.Errorf("%w: Config.Cluster: %w", helmclient.ErrInvalid, err)
}

// Debug logs a message of Helm.
func (k *Call) Debug(format string, values ...any) {
	k.Log().DebugContext(k.ctx, strings.TrimSpace(fmt.Sprintf(format, values...)))
}

// Log is the log of the client for this call.
func (k *Call) Log() *slog.Logger { return k.client.log.With("release", k.Name.String()) }

// Report stores the error of a step of Helm, and returns it.
func (k *Call) Report(err error) error {
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.reported == nil || k.ctx.Err() == nil {
			k.reported = err
		}
	}
	return err
}

func (k *Call) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reported
}

// waits returns the context for a wait: the context of the call or, after that has ended during an earlier wait and the
// call is undoing its changes, the longer context.
func (k *Call) waits() context.Context {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil && k.cleansUp && k.ended {
		return k.grace
	}
	return k.ctx
}

func (k *Call) broken(err error) error {
	k.mu.Lock()
	k.ended = k.ended || k.ctx.Err() != nil
	k.mu.Unlock()
	return err
}

// Getter is how Helm finds the cluster; made by hand, so that no kubeconfig and no environment counts.
type Getter struct {
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.ResettableRESTMapper
	namespace string
}

// ToRESTConfig is the configuration of clients.
func (g *Getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns the client that reads the APIs of the server.
func (g *Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

// ToRESTMapper finds the resources of kinds.
func (g *Getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader is a kubeconfig that only has the namespace.
func (g *Getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}

// stopped returns the error of a call whose ctx has ended.
func stopped(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		return fmt.Errorf("helm: stopped: %w", cause)
	case errors.Is(err, cause):
		return fmt.Errorf("helm: stopped: %w", err)
	}
	return fmt.Errorf("helm: stopped: %w: %w", cause, err)
}
