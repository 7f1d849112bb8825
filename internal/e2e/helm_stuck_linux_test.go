package e2e_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vnfkit/vnfkit/helmclient"
)

// dead is an age at which an unfinished operation counts as dead: these tests know that it is.
const dead = time.Nanosecond

// inState reports whether a revision of a release is kept in a state.
func inState(t testing.TB, client kubernetes.Interface, name helmclient.Name, state helmclient.State) bool {
	t.Helper()
	list, err := client.CoreV1().Secrets(name.Namespace).List(t.Context(), meta.ListOptions{LabelSelector: "owner=helm,name=" + name.Release + ",status=" + string(state)})
	return err == nil && len(list.Items) > 0
}

// states are those of all revisions of a release.
func states(t testing.TB, client helmclient.Client, name helmclient.Name) (out []helmclient.State) {
	t.Helper()
	history, err := client.History(t.Context(), name)
	must(t, err)
	for _, r := range history {
		out = append(out, r.State)
	}
	return out
}

// TestHelmStuck: a helm program is killed with SIGKILL while it installs, upgrades or rolls back. The next client gets an
// error that names the unfinished release. If this client then says that the former process is dead, it finishes the
// release. The history of the release shows all attempts.
func TestHelmStuck(t *testing.T) {
	cluster := needCluster(t)
	program := newHelm(t, cluster)
	chart := program.file("web.tgz", chartOf(t, "web", "1.0.0", web))
	api := typed(t, cluster.Client())
	for _, s := range []struct {
		state  helmclient.State
		before [][]string // what helm has done before
		killed []string
		want   []helmclient.State
	}{
		{helmclient.PendingInstall, nil, []string{"install", "web", chart, "--set=never=true", "--wait"},
			[]helmclient.State{helmclient.Superseded, helmclient.Deployed}}, // as Helm has it: it was the newest when another one took its place
		{helmclient.PendingUpgrade, [][]string{{"install", "web", chart}}, []string{"upgrade", "web", chart, "--set=never=true", "--wait"},
			[]helmclient.State{helmclient.Superseded, helmclient.Failed, helmclient.Deployed}},
		{helmclient.PendingRollback, [][]string{{"install", "web", chart, "--set=never=true"}, {"upgrade", "web", chart}}, []string{"rollback", "web", "1", "--wait"},
			[]helmclient.State{helmclient.Superseded, helmclient.Superseded, helmclient.Failed, helmclient.Deployed}},
	} {
		t.Run(string(s.state), func(t *testing.T) {
			onEveryHelm(t, func(t *testing.T, k helmKind) {
				client, ctx := k.open(t, cluster.Client()), within(t, 2*time.Minute)
				name := helmclient.Name{Namespace: newNamespace(t, cluster.Client()), Release: "web"}
				own := *program
				own.t = t
				for _, args := range s.before {
					own.run(append(args, "--namespace="+name.Namespace)...)
				}
				own.killed(func() bool { return inState(t, api, name, s.state) }, append(s.killed, "--namespace="+name.Namespace)...)

				request := helmclient.Upgrade{OrInstall: true, Install: helmclient.Install{Name: name, Chart: streamed(chartOf(t, "web", "1.0.1", web)),
					Values: helmclient.Values{Set: []string{"never=false"}}, Wait: helmclient.Wait{Ready: true}}}
				_, err := client.Upgrade(ctx, request)
				if stale, ok := errors.AsType[*helmclient.StaleError](err); !ok || stale.State != s.state {
					t.Fatalf("without a limit: %v", err)
				}
				request.Stale = dead
				release, err := client.Upgrade(ctx, request)
				if err != nil || release.State != helmclient.Deployed {
					t.Fatalf("%+v, %v", release, err)
				}
				if diff := cmp.Diff(s.want, states(t, client, name)); diff != "" {
					t.Errorf("history (-want +got):\n%s", diff)
				}
				must(t, client.Uninstall(ctx, helmclient.Uninstall{Name: name}))
			})
		})
	}
}

// helmChildVariable makes this test binary a program that installs a release, and says how.
const helmChildVariable = "VNFKIT_E2E_HELM_CHILD"

// helmJob is an installation that never ends, so that a test can kill it while it runs.
type helmJob struct {
	Helm      helmOpening
	Namespace string
	Chart     []byte
	Ready     time.Duration // how long helm waits; on a master it waits as long after its caller has died
}

func (j helmJob) run(ctx context.Context) error {
	client, end, err := j.Helm.open()
	if err != nil {
		return err
	}
	_, err = client.Install(ctx, helmclient.Install{Name: helmclient.Name{Namespace: j.Namespace, Release: "web"}, Chart: streamed(j.Chart),
		Values: helmclient.Values{Set: []string{"never=true"}}, Wait: helmclient.Wait{Ready: true, Timeout: j.Ready}})
	return errors.Join(err, end())
}

// TestHelmProcessKilled: the process with the Helm library is killed with SIGKILL during an installation. The next process
// finishes the installation.
func TestHelmProcessKilled(t *testing.T) {
	cluster := needCluster(t)
	api := typed(t, cluster.Client())
	onEveryHelm(t, func(t *testing.T, k helmKind) {
		name := helmclient.Name{Namespace: newNamespace(t, cluster.Client()), Release: "web"}
		opening, masters := k.prepare(t, cluster.Client())
		child := startChild(t, helmChildVariable, helmJob{Helm: opening, Namespace: name.Namespace, Chart: chartOf(t, "web", "1.0.0", web), Ready: 20 * time.Second})
		await(t, "the child to begin", func() bool { return inState(t, api, name, helmclient.PendingInstall) })
		must(t, child.Process.Signal(syscall.SIGKILL))
		if err := child.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		client, ctx := opening.opened(t), within(t, 5*time.Minute)
		request := helmclient.Upgrade{OrInstall: true, Install: helmclient.Install{Name: name, Chart: streamed(chartOf(t, "web", "1.0.1", web)),
			Values: helmclient.Values{Set: []string{"never=false"}}, Wait: helmclient.Wait{Ready: true}, Stale: dead}}
		release, err := client.Upgrade(ctx, request)
		for errors.Is(err, helmclient.ErrBusy) && ctx.Err() == nil { // helm on a master lives longer than who has started it
			release, err = client.Upgrade(ctx, request)
		}
		if err != nil || release.State != helmclient.Deployed {
			t.Fatalf("%+v, %v", release, err)
		}
		if atWork(t, masters) {
			t.Error("helm is still at work")
		}
		if diff := cmp.Diff([]helmclient.State{helmclient.Superseded, helmclient.Deployed}, states(t, client, name)); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	})
}

// TestHelmTwoAtOnce: while one process works on a release another one is refused, and what the first does is not harmed.
func TestHelmTwoAtOnce(t *testing.T) {
	cluster := needCluster(t)
	api := typed(t, cluster.Client())
	onEveryHelm(t, func(t *testing.T, k helmKind) {
		name := helmclient.Name{Namespace: newNamespace(t, cluster.Client()), Release: "web"}
		opening, _ := k.prepare(t, cluster.Client())
		child := startChild(t, helmChildVariable, helmJob{Helm: opening, Namespace: name.Namespace, Chart: chartOf(t, "web", "1.0.0", web), Ready: 5 * time.Minute})
		await(t, "the child to begin", func() bool { return inState(t, api, name, helmclient.PendingInstall) })
		client := opening.opened(t)
		request := helmclient.Install{Name: name, Chart: streamed(chartOf(t, "web", "1.0.1", web)), Stale: time.Hour}
		_, err := client.Install(within(t, time.Minute), request)
		if !errors.Is(err, helmclient.ErrBusy) {
			t.Errorf("install: %v", err)
		}
		if _, err = client.Upgrade(within(t, time.Minute), helmclient.Upgrade{Install: request}); !errors.Is(err, helmclient.ErrBusy) {
			t.Errorf("upgrade: %v", err)
		}
		letRun(t, api, name)
		if err := child.Wait(); err != nil {
			t.Errorf("the first: %v", err)
		}
		if diff := cmp.Diff([]helmclient.State{helmclient.Deployed}, states(t, client, name)); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	})
}

// letRun makes a node that fits what never becomes ready otherwise.
func letRun(t *testing.T, api kubernetes.Interface, name helmclient.Name) {
	t.Helper()
	deployment, err := api.AppsV1().Deployments(name.Namespace).Get(t.Context(), name.Release, meta.GetOptions{})
	must(t, err)
	deployment.Spec.Template.Spec.NodeSelector = nil
	_, err = api.AppsV1().Deployments(name.Namespace).Update(t.Context(), deployment, meta.UpdateOptions{})
	must(t, err)
}
