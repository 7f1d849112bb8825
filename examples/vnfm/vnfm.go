package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/examples/internal/sealing"
	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/mgmt/script"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// vnfm is a VNF manager, composed of parts of the SDK.
type vnfm struct {
	*vnflcm.Manager
	config   *config
	log      *slog.Logger
	notifier *notify.Notifier
	packages *onboarding.Repository // nil without onboarding
	folder   vnflcm.PackageLister   // nil without a folder of packages
	// orchestrator is the NFVO, fetched are its packages; nil without.
	orchestrator *nfvo.Client
	fetched      *nfvo.PackageCache
	handler      http.Handler
	pages        *pages
	measured     measured

	workflows *workflows // nil without Temporal
	beside    bool       // another process may have the data folder, and the world of the sandbox

	closers []func() error // in the order in which they were opened
}

// close closes what compose has opened, the latest first.
func (v *vnfm) close() {
	for _, end := range slices.Backward(v.closers) {
		if err := end(); err != nil {
			v.log.Error("closing", "error", err)
		}
	}
}

func (v *vnfm) atEnd(end func() error) { v.closers = append(v.closers, end) }

// compose makes the VNF manager.
func compose(ctx context.Context, c *config, log *slog.Logger) (_ *vnfm, err error) {
	v := &vnfm{config: c, log: log}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	managed, err1 := v.openData(ctx)
	vims, err2 := v.config.vims()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := v.measure(ctx); err != nil {
		return nil, err
	}
	window, err := c.Maintenance.window()
	if err != nil {
		return nil, fmt.Errorf("maintenance: %w", err)
	}
	managed.Maintenance, managed.KnownVIMs, managed.KnownVIMsSource = window, vims, c.source
	if err := c.Snapshots.attach(&managed); err != nil {
		return nil, err
	}
	if err := v.addDrivers(&managed); err != nil { //nolint:contextcheck // a world is closed, not cancelled
		return nil, err
	}
	if c.Temporal.Address != "" {
		v.workflows = new(workflows)
		if err := v.workflows.attach(ctx, v, &managed); err != nil {
			return nil, err
		}
	}
	v.measured.attach(&managed)                      //nolint:contextcheck // an event has no context
	if err := v.askForGrants(&managed); err != nil { //nolint:contextcheck // the same
		return nil, err
	}
	if v.Manager, err = vnflcm.New(ctx, managed); err != nil {
		return nil, err
	}
	v.atEnd(func() error { return v.Close(context.WithoutCancel(ctx)) })
	if err := v.shareVIMs(ctx, vims); err != nil {
		return nil, err
	}
	return v, v.addAPI(ctx)
}

// openData opens the database, and returns the settings with which a Manager can read it.
func (v *vnfm) openData(ctx context.Context) (vnflcm.Config, error) {
	if err := v.prepareData(); err != nil {
		return vnflcm.Config{}, err
	}
	key, err1 := v.key(ctx)
	oldKeys, err2 := v.config.readOldKeys()
	store, err3 := v.openStore(ctx)
	packages, err4 := v.openPackages()
	return vnflcm.Config{Store: store, Key: key, OldKeys: oldKeys, Packages: packages, Logger: v.log}, errors.Join(err1, err2, err3, err4)
}

// addAPI makes the HTTP interface.
func (v *vnfm) addAPI(ctx context.Context) error {
	authorize, err1 := v.config.authorize(ctx, v.log)
	audit, err2 := v.config.auditTo(v.log)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	v.notifier = notify.New(v.Manager, notify.Options{Allow: v.config.policy(), GivenUp: v.measured.givenUp(), Logger: v.log})
	if err := v.measured.watch(v.notifier); err != nil {
		return err
	}
	return v.serveAs(sol003.Options{Authorize: authorize, InsecureAllowAnyone: authorize == nil, Challenge: v.config.challenge(),
		Subscriptions: v.notifier, APIRoot: v.config.APIRoot, Audit: audit, Logger: v.log})
}

// serveAs makes the API and the pages for the same senders.
func (v *vnfm) serveAs(o sol003.Options) (err error) {
	o.VIMs = v.VIMRegistry()
	if v.packages != nil {
		o.Packages = v.packages
	}
	if v.handler, err = sol003.NewHandler(v.Manager, o); err != nil {
		return err
	}
	senders, err := sol003.NewAuthorizer(o)
	v.pages = &pages{manager: v.Manager, packages: v.packages, senders: senders, apiRoot: v.config.APIRoot, login: v.config.curlLogin()}
	return err
}

func (v *vnfm) prepareData() error {
	if v.config.Data != "" {
		return os.MkdirAll(v.config.Data, 0o700)
	}
	dir, err := os.MkdirTemp("", "vnfm-*")
	v.config.Data = dir
	v.atEnd(func() error { return os.RemoveAll(dir) })
	return err
}

// key reads the key that seals the database. A key that other users can read is refused if this program has made it; the operator is
// warned of others.
func (v *vnfm) key(ctx context.Context) ([]byte, error) {
	for _, name := range append([]string{v.config.Key.File, v.config.TLS.Key.File}, v.config.secretFiles...) {
		if err := sealing.Check(name); errors.Is(err, sealing.ErrReadable) {
			v.log.WarnContext(ctx, "a secret is not protected", "error", err)
		}
	}
	if v.config.Key.Env != "" {
		return v.config.Key.sealingKey()
	}
	key, err := sealing.Key(cmp.Or(v.config.Key.File, filepath.Join(v.config.Data, "key")))
	if errors.Is(err, sealing.ErrReadable) && v.config.Key.File != "" {
		return os.ReadFile(v.config.Key.File)
	}
	return key, err
}

// openStore opens the database.
func (v *vnfm) openStore(ctx context.Context) (store.Store, error) {
	if v.config.Postgres.given() {
		dsn, err := v.config.Postgres.read()
		if err != nil {
			return nil, fmt.Errorf("postgres: %w", err)
		}
		store, err := postgres.Open(ctx, dsn.Reveal(), postgres.Options{})
		if err != nil {
			return nil, err
		}
		v.atEnd(store.Close)
		return store, nil
	}
	if err := v.lock(); err != nil {
		return nil, err
	}
	path := filepath.Join(v.config.Data, "vnfm.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		v.log.WarnContext(ctx, "there is no database: the VNFM begins without VNF instances", "file", path)
	}
	file, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	v.atEnd(file.Close)
	return file, nil
}

// lock keeps other processes that serve out of the data folder.
func (v *vnfm) lock() error {
	if v.beside {
		return nil
	}
	lock := flock.New(filepath.Join(v.config.Data, "lock"))
	if locked, err := lock.TryLock(); err != nil || !locked {
		return errors.Join(fmt.Errorf("data: another process uses %s", v.config.Data), err)
	}
	v.atEnd(lock.Unlock)
	return nil
}

// addDrivers adds every driver of the SDK, under the names that Tacker's packages give them.
func (v *vnfm) addDrivers(c *vnflcm.Config) error {
	policy := v.config.policy()
	connections := sshexec.Options{Dial: policy.DialContext, Allow: policy.CheckHost, DialTrusted: outbound.Policy(outbound.AllowAny).DialContext,
		Observe: v.measured.commands.Command}
	var dial func(ctx context.Context, network, address string) (net.Conn, error)                  // to APIs of clusters; nil: as policy allows
	heat := openstack.New(openstack.Config{Allow: policy, UserData: map[string]openstack.UserData{ // the classes of Tacker's sample packages
		"KubernetesClusterUserData": openstack.DefaultUserData, "SampleUserData": openstack.DefaultUserData}})
	v.atEnd(func() error { heat.Close(); return nil })
	c.Infra = map[string]vnflcm.InfraDriver{openstack.VimTypeV1: heat, openstack.VimTypeV2: heat}
	if v.config.onSandbox && !v.beside {
		// Slow programs take a moment, so that there is something to see.
		world, err := sandbox.Open(sandbox.Config{Dir: filepath.Join(v.config.Data, "world"), Takes: 300 * time.Millisecond,
			Virtual: []string{"vip_CP"}, PublicImages: []string{"registry:latest"}, Floating: v.config.Sandbox.Floating, Ansible: v.config.Sandbox.Ansible})
		if err != nil {
			return err
		}
		v.atEnd(world.Close)
		c.Infra["sandbox"], dial = world, world.Dial
		connections.Dial, connections.DialTrusted = world.Dial, world.Dial
		for _, kind := range v.config.Sandbox.VIMs {
			for _, name := range vnflcm.VIMTypeNames(kind) {
				c.Infra[name] = world
			}
		}
	}
	connections.Dial, connections.DialTrusted = v.measured.commands.Dial(connections.Dial), v.measured.commands.Dial(connections.DialTrusted)
	pool := sshexec.NewPool(connections)
	v.atEnd(pool.Close)
	clusters := kubernetes.New(kubernetes.Config{SSH: pool, Dial: dial, Allow: policy, Helm: linkHelm(policy), HelmBy: v.config.helmBy(), Dir: filepath.Join(v.config.Data, "helm")})
	for _, kind := range []string{kubernetes.VimTypeV1, kubernetes.VimTypeV2, kubernetes.VimTypeHelm} {
		c.Infra[kind] = clusters
	}
	c.Mgmt = map[string]vnflcm.MgmtDriver{
		"mgmt-drivers-kubernetes":       kubeadm.New(kubeadm.Config{Pool: pool, Allow: policy}),
		"mgmt-drivers-kubespray":        kubespray.New(kubespray.Config{Pool: pool, Allow: policy}),
		"mgmt-drivers-private-registry": registry.New(registry.Config{Pool: pool, Allow: policy}),
		"vnflcm_noop":                   vnflcm.NoopDriver{},
		"mgmt-drivers-cnf-nodeport":     expose.New(expose.Config{Pool: pool, Dial: dial, Allow: policy}),
	}
	for i, name := range v.config.Scripts {
		if c.Mgmt[name] != nil || name == "" {
			return fmt.Errorf("scripts[%d]: %q is the name of another driver, or empty", i, name)
		}
		c.Mgmt[name] = script.New(name, script.Config{Pool: pool})
	}
	if v.config.CoordinationScripts {
		c.Coordinator = script.NewCoordinator(script.Config{Pool: pool})
	}
	return nil
}

// linkHelm links Helm into the program.
func linkHelm(policy outbound.Policy) func(cluster *rest.Config, dir string) (helmclient.Client, error) {
	transport := policy.Transport()
	return func(cluster *rest.Config, dir string) (helmclient.Client, error) {
		return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir, Transport: transport})
	}
}

// serve answers requests until ctx ends. Then it answers those that have begun, and leaves operations to the next
// process.
func (v *vnfm) serve(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", v.config.Listen)
	if err != nil {
		return err
	}
	tlsConfig, err := v.config.TLS.server(v.log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: v.routes(ctx.Done()), TLSConfig: tlsConfig, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(v.log.Handler(), slog.LevelInfo),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute}
	var background sync.WaitGroup
	defer background.Wait()
	work, stop := context.WithCancel(ctx)
	defer stop()
	if v.workflows != nil {
		background.Go(func() { v.report("running workflows", v.runWorkflows(work)) })
	}
	if v.packages != nil {
		background.Go(func() { v.report("onboarding packages", v.packages.Run(work)) })
	}
	if v.fetched != nil {
		background.Go(func() { v.report("following the packages of the NFVO", v.fetched.Run(work)) })
	}
	background.Go(func() { v.report("sending notifications", v.notifier.Run(work)) })
	background.Go(func() { v.report("serving metrics", v.serveMetrics(work)) })
	background.Go(func() { v.report("checking VIMs", v.checkVIMs(work)) })
	background.Go(func() { v.report("purging", v.purgeRegularly(work)) })
	background.Go(func() { v.logPackages(work) })
	ended := make(chan error, 1)
	go func() {
		if tlsConfig == nil {
			ended <- server.Serve(listener)
		} else {
			ended <- server.ServeTLS(listener, "", "")
		}
	}()
	v.greet(listener.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	v.log.InfoContext(ctx, "shutting down")
	rest, done := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer done()
	return server.Shutdown(rest)
}

// report logs why something has ended that should not.
func (v *vnfm) report(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, vnflcm.ErrShutdown) {
		v.log.Error(what+" has ended", "error", err)
	}
}

// routes are the API, pages for people, and the health of the process. /readyz fails while the process shuts down or the store does not answer.
func (v *vnfm) routes(ending <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	for pattern, resource := range v.resources(ending) {
		mux.Handle(pattern, resource)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path.Clean(r.URL.Path) {
			v.handler.ServeHTTP(w, r) // mux would redirect before the sender is authorized
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// resources are what routes serves, by pattern.
func (v *vnfm) resources(ending <-chan struct{}) map[string]http.Handler {
	out := v.pages.resources()
	out["/"] = v.handler // also for what does not exist: the API identifies the sender first, and writes the audit record
	if v.fetched != nil {
		out[nfvoPackagesPath] = v.fetched
	}
	out["GET /healthz"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	out["GET /readyz"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ending:
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
			return
		default:
		}
		if _, err := v.LatestChange(r.Context()); err != nil {
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		}
	})
	return out
}
