package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
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

// call is one call of a method: Helm's configuration, and what the methods of Helm's interfaces have no parameter for.
type call struct {
	client *Client
	name   helmclient.Name
	ctx    context.Context //nolint:containedctx // Helm's interfaces take none
	// grace is longer than ctx: for recording how it ended, and for undoing it.
	grace    context.Context //nolint:containedctx // as above
	cleansUp bool            // what failed is undone, after the end of ctx too
	progress func(helmclient.Progress)

	cfg      *action.Configuration
	dynamic  dynamic.Interface
	mapper   meta.RESTMapper
	answered atomic.Bool // the API server has answered

	mu       sync.Mutex
	ended    bool  // a wait has been broken off by the end of ctx
	reported error // what a step of Helm failed with: Helm keeps only the text of some
}

// How long recording the end of a release, and undoing what failed, may take after ctx has ended.
const (
	recordGrace = 10 * time.Second
	undoGrace   = time.Minute
)

// open makes what one call needs. end must be called when nothing of Helm runs any more.
func (c *Client) open(ctx context.Context, n helmclient.Name, cleansUp bool) (k *call, end func(), err error) {
	if ctx.Err() != nil {
		return nil, nil, stopped(ctx, nil)
	}
	k = &call{client: c, name: n, ctx: ctx, cleansUp: cleansUp}
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
func (k *call) config(records bool) *rest.Config {
	from := k.client.cluster
	return &rest.Config{
		Host: k.client.host, APIPath: from.APIPath, ContentConfig: from.ContentConfig, UserAgent: from.UserAgent,
		QPS: from.QPS, Burst: from.Burst, Timeout: from.Timeout, WarningHandler: rest.NoWarnings{},
		Transport: &transport{base: k.client.transport, call: k, records: records},
	}
}

func (k *call) configure() error {
	config := k.config(false)
	cached, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("%w: Config.Cluster: %w", helmclient.ErrInvalid, err)
	}
	found := memory.NewMemCacheClient(cached)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(found)
	k.mapper = mapper
	if k.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("%w: Config.Cluster: %w", helmclient.ErrInvalid, err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("%w: Config.Cluster: %w", helmclient.ErrInvalid, err)
	}
	g := &getter{config: config, discovery: found, mapper: mapper, namespace: k.name.Namespace}
	helm := kube.New(g)
	helm.Namespace = k.name.Namespace
	helm.Log = k.debug
	releases, err := k.releases()
	if err != nil {
		return err
	}
	k.cfg = &action.Configuration{
		RESTClientGetter: g, Releases: releases, Log: k.debug,
		KubeClient:     &kubeClient{Client: helm, call: k, clients: clients},
		HookOutputFunc: func(_, _, _ string) io.Writer { return io.Discard },
	}
	return nil
}

func (k *call) debug(format string, values ...any) {
	k.client.log.DebugContext(k.ctx, strings.TrimSpace(fmt.Sprintf(format, values...)), "release", k.name.String())
}

// report keeps what a step failed with.
func (k *call) report(err error) error {
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.reported == nil || k.ctx.Err() == nil {
			k.reported = err
		}
	}
	return err
}

func (k *call) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reported
}

// waits returns the context of a wait: that of the call, and when that has broken off one wait already and what was made
// is being undone now, the longer one.
func (k *call) waits() context.Context {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil && k.cleansUp && k.ended {
		return k.grace
	}
	return k.ctx
}

func (k *call) broken(err error) error {
	k.mu.Lock()
	k.ended = k.ended || k.ctx.Err() != nil
	k.mu.Unlock()
	return err
}

// getter is how Helm finds the cluster; made by hand, so that no kubeconfig and no environment counts.
type getter struct {
	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.ResettableRESTMapper
	namespace string
}

func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}

// stopped is the error of a call whose ctx has ended.
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
