package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
)

// TestHelmAPIStopped: the API server is away for 10 seconds while a release waits for its pods. Nothing is harmed.
func TestHelmAPIStopped(t *testing.T) {
	cluster := needCluster(t)
	onEveryHelm(t, func(t *testing.T, k helmKind) {
		api := typed(t, cluster.Client())
		client := k.open(t, cluster.Client())
		name := helmclient.Name{Namespace: newNamespace(t, cluster.Client()), Release: "web"}
		type result struct {
			release *helmclient.Release
			err     error
		}
		ended := make(chan result, 1)
		ctx := within(t, 11*time.Minute)
		go func() {
			release, err := client.Install(ctx, helmclient.Install{Name: name, Chart: streamed(chartOf(t, "web", "1.0.0", web)),
				Values: helmclient.Values{Set: []string{"never=true"}}, Wait: helmclient.Wait{Ready: true, Timeout: 10 * time.Minute}})
			ended <- result{release, err}
		}()
		await(t, "the release to wait", func() bool { return inState(t, api, name, helmclient.PendingInstall) && hasPods(t, api, name) })
		cluster.StopAPI()
		away := time.NewTimer(10 * time.Second)
		select {
		case r := <-ended:
			t.Errorf("ended while the API was away: %v", r.err)
			ended <- r
			<-away.C
		case <-away.C:
		}
		must(t, cluster.StartAPI(within(t, time.Minute)))
		letRun(t, typed(t, cluster.Client()), name)
		r := <-ended
		if r.err != nil || r.release.State != helmclient.Deployed {
			t.Fatalf("%+v, %v", r.release, r.err)
		}
		if release, err := client.Status(ctx, name); err != nil || release.State != helmclient.Deployed {
			t.Errorf("afterwards: %+v, %v", release, err)
		}
	})
}

// TestHelmAPIAway: if the API server does not answer, errors say that it is unreachable. After its restart the client works
// again.
func TestHelmAPIAway(t *testing.T) {
	cluster := needCluster(t)
	onEveryHelm(t, func(t *testing.T, k helmKind) {
		client := k.open(t, cluster.Client())
		name := helmclient.Name{Namespace: newNamespace(t, cluster.Client()), Release: "web"}
		cluster.StopAPI()
		_, err := client.Install(within(t, time.Minute), helmclient.Install{Name: name, Chart: streamed(chartOf(t, "web", "1.0.0", web))})
		must(t, cluster.StartAPI(within(t, time.Minute)))
		if !errors.Is(err, helmclient.ErrUnreachable) {
			t.Errorf("got %v", err)
		}
		if _, err := client.Install(within(t, time.Minute), helmclient.Install{Name: name, Chart: streamed(chartOf(t, "web", "1.0.0", web))}); err != nil {
			t.Error(err)
		}
	})
}

// TestHelmTokenExpired: a token that has expired is refused, and its text is nowhere in the error.
func TestHelmTokenExpired(t *testing.T) {
	cluster := needCluster(t)
	onEveryHelm(t, func(t *testing.T, k helmKind) {
		config := cluster.Client()
		var err error
		config.BearerToken, err = cluster.TokenUntil(t.Context(), "helm", time.Now().Add(-time.Minute))
		must(t, err)
		client := k.open(t, config)
		name := helmclient.Name{Namespace: newNamespace(t, cluster.Client()), Release: "web"}
		_, errInstall := client.Install(within(t, time.Minute), helmclient.Install{Name: name, Chart: streamed(chartOf(t, "web", "1.0.0", web))})
		_, errStatus := client.Status(within(t, time.Minute), name)
		for what, err := range map[string]error{"install": errInstall, "status": errStatus} {
			if !errors.Is(err, helmclient.ErrDenied) || strings.Contains(err.Error(), config.BearerToken) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestHelmMasterDown: of two masters the first is dead, and then dies in mid-install.
func TestHelmMasterDown(t *testing.T) {
	cluster := needCluster(t)
	api := typed(t, cluster.Client())
	opening, masters := openCLI(t, cluster.Client(), 3, helm3Program(t))
	client := opening.opened(t)
	ctx := within(t, 3*time.Minute)
	name := helmclient.Name{Namespace: newNamespace(t, cluster.Client()), Release: "web"}
	install := helmclient.Install{Name: name, Chart: streamed(chartOf(t, "web", "1.0.0", web)), Wait: helmclient.Wait{Ready: true}}
	must(t, masters[0].machine.Kill())
	begin := time.Now()
	if release, err := client.Install(ctx, install); err != nil || release.State != helmclient.Deployed {
		t.Fatalf("with the first master dead: %+v, %v", release, err)
	}
	t.Logf("installed by the second master after %s", time.Since(begin).Round(100*time.Millisecond))
	must(t, client.Uninstall(ctx, helmclient.Uninstall{Name: name, Wait: helmclient.Wait{Ready: true}}))

	ended := make(chan error, 1)
	install.Values, install.Timeout, install.Stale = helmclient.Values{Set: []string{"never=true"}}, 2*time.Minute, 5*time.Second
	go func() {
		_, err := client.Install(ctx, install)
		ended <- err
	}()
	await(t, "the install to begin", func() bool { return inState(t, api, name, helmclient.PendingInstall) && hasPods(t, api, name) })
	must(t, masters[1].machine.Kill())
	if _, stale := errors.AsType[*helmclient.StaleError](<-ended); !stale {
		t.Error("the master was lost in mid-install, and nobody says so")
	}
	install.Values = helmclient.Values{Set: []string{"never=false"}}
	if release, err := client.Upgrade(ctx, helmclient.Upgrade{Install: install, OrInstall: true}); err != nil || release.State != helmclient.Deployed {
		t.Fatalf("the third master: %+v, %v", release, err)
	}
	must(t, masters[2].machine.Kill())
	if _, err := client.Status(within(t, time.Minute), name); !errors.Is(err, helmclient.ErrUnreachable) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("all masters dead: %v", err)
	}
}
