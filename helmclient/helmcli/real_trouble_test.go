package helmcli_test

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// nowhere are values by which web never becomes ready.
var nowhere = helmclient.Values{Map: map[string]any{"node": map[string]string{"no": "where"}}}

// killer kills helm, hard, some time after an operation was begun.
type killer struct {
	shell
	verb  string
	after time.Duration
}

func (k killer) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if !strings.Contains(strings.Join(argv, " "), " helm "+k.verb+" ") {
		return k.shell.Run(ctx, argv, stdin, stdout, stderr)
	}
	kill := append([]string{"timeout", "-s", "KILL", "--foreground", k.after.String()}, argv...)
	return k.shell.Run(ctx, kill, stdin, stdout, stderr)
}

// left leaves a release pending, as another client's helm does that is killed with SIGKILL.
func left(t *testing.T, n helmclient.Name, args ...string) {
	t.Helper()
	dir := t.TempDir()
	chart := dir + "/web.tgz"
	save(t, chart, web(t, nil))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	argv := append([]string{args[0], n.Release}, args[1:]...)
	if args[0] != "rollback" {
		argv = append(argv, chart)
	}
	argv = append(argv, "--namespace", "default", "--wait", "--kubeconfig", kubeconfig(t))
	_ = exec.CommandContext(ctx, "helm", argv...).Run() // it is killed when ctx ends
}

func TestRealStale(t *testing.T) {
	c := real(t)
	ctx := t.Context()
	for _, state := range []helmclient.State{helmclient.PendingInstall, helmclient.PendingUpgrade, helmclient.PendingRollback} {
		n := helmclient.Name{Namespace: "default", Release: string(state)}
		uninstalled(t, c, n)
		t.Cleanup(func() { uninstalled(t, c, n) })
		in := helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, nil)}, Wait: helmclient.Wait{Ready: true, Timeout: time.Minute}}
		revision := 1
		if state != helmclient.PendingInstall {
			in.Values = nowhere
			first := in
			first.Wait = helmclient.Wait{}
			if _, err := c.Install(ctx, first); err != nil {
				t.Fatal(err)
			}
			revision = 2
		}
		switch state {
		case helmclient.PendingInstall:
			left(t, n, "install", "--set", "node.no=where")
		case helmclient.PendingUpgrade:
			left(t, n, "upgrade", "--set", "node.no=where,image=x")
		default:
			up := helmclient.Upgrade{Install: in, Reuse: helmclient.ReuseReset}
			up.Values = helmclient.Values{}
			if _, err := c.Upgrade(ctx, up); err != nil {
				t.Fatal(err)
			}
			left(t, n, "rollback")
			revision = 3
			in.Wait = helmclient.Wait{} // helm compares with the revision that was deployed last: what the dead one has changed stays
		}
		if r, err := c.Status(ctx, n); err != nil || r.State != state || r.Revision != revision {
			t.Fatal(r, err)
		}
		in.Values = helmclient.Values{}
		up := helmclient.Upgrade{Install: in, Reuse: helmclient.ReuseReset}
		run := func(stale time.Duration) (*helmclient.Release, error) {
			if state == helmclient.PendingInstall {
				in.Stale = stale
				return c.Install(ctx, in)
			}
			up.Stale = stale
			return c.Upgrade(ctx, up)
		}
		for _, stale := range []time.Duration{0, time.Hour} {
			_, err := run(stale)
			if e, ok := errors.AsType[*helmclient.StaleError](err); !ok || e.State != state || stale > 0 && !errors.Is(err, helmclient.ErrBusy) {
				t.Fatal(err)
			}
		}
		r, err := run(time.Second)
		if err != nil || r.Revision != revision+1 || r.State != helmclient.Deployed {
			t.Fatal(r, err)
		}
		history, err := c.History(ctx, n)
		if err != nil || len(history) != revision+1 || !strings.Contains(history[revision-1].Description, "never finished") {
			t.Error(history, err)
		}
	}
}

func TestRealHelmKilled(t *testing.T) {
	c := real(t, helmcli.Machine{Name: "m1", Runner: killer{verb: "install", after: 3 * time.Second}})
	n := helmclient.Name{Release: "killed"}
	uninstalled(t, c, n)
	t.Cleanup(func() { uninstalled(t, c, n) })
	_, err := c.Install(t.Context(), helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, nil)}, Values: nowhere,
		Wait: helmclient.Wait{Ready: true, Timeout: time.Minute}})
	if err == nil {
		t.Fatal("the killed helm has succeeded")
	}
	if r, statusErr := c.Status(t.Context(), n); statusErr != nil || r.State != helmclient.Failed {
		t.Fatal(r, statusErr, err)
	}
}

// breaking is a Runner whose connection breaks while a helm runs. That helm continues to run.
type breaking struct {
	shell
	verb   string
	after  time.Duration
	broken *atomic.Bool
	began  *atomic.Int32
}

func (b breaking) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if b.broken.Load() {
		return errors.New("connection lost")
	}
	if !strings.Contains(strings.Join(argv, " "), " helm "+b.verb+" ") {
		return b.shell.Run(ctx, argv, stdin, stdout, stderr)
	}
	b.began.Add(1)
	if b.after < 0 { // it was never begun
		b.broken.Store(true)
		return errors.New("connection lost")
	}
	data := ""
	if stdin != nil {
		all, _ := io.ReadAll(stdin)
		data = string(all)
	}
	go func() {
		_ = b.shell.Run(context.WithoutCancel(ctx), argv, strings.NewReader(data), io.Discard, io.Discard)
	}()
	select {
	case <-time.After(b.after):
	case <-ctx.Done():
	}
	b.broken.Store(true)
	return errors.New("connection lost")
}

func TestRealConnectionLost(t *testing.T) {
	for name, after := range map[string]time.Duration{"before": -1, "during": 1500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			var began, second atomic.Int32
			one := breaking{verb: "install", after: after, broken: &atomic.Bool{}, began: &began}
			two := counting{verb: "install", began: &second}
			c := real(t, helmcli.Machine{Name: "m1", Runner: one}, helmcli.Machine{Name: "m2", Runner: two})
			n := helmclient.Name{Release: "lost-" + name}
			other := real(t)
			uninstalled(t, other, n)
			t.Cleanup(func() { uninstalled(t, other, n) })
			slow := map[string]string{"web/templates/hook.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: '{{.Release.Name}}', annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}\n"}
			r, err := c.Install(t.Context(), helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, slow)}, Wait: helmclient.Wait{Ready: true, Timeout: time.Minute}})
			if err != nil || r.State != helmclient.Deployed || r.Revision != 1 {
				t.Fatal(r, err)
			}
			if want := int32(0); after < 0 {
				want = 1
				if second.Load() != want {
					t.Error("installed on the second machine", second.Load(), "times")
				}
			} else if second.Load() != want {
				t.Error("installed twice")
			}
			if err := c.Uninstall(t.Context(), helmclient.Uninstall{Name: n}); err != nil {
				t.Error(err)
			}
		})
	}
}

// counting counts how often a helm was begun.
type counting struct {
	shell
	verb  string
	began *atomic.Int32
}

func (r counting) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if strings.Contains(strings.Join(argv, " "), " helm "+r.verb+" ") {
		r.began.Add(1)
	}
	return r.shell.Run(ctx, argv, stdin, stdout, stderr)
}

func TestRealFailures(t *testing.T) {
	c := real(t)
	ctx := t.Context()
	archive := helmclient.Chart{Archive: web(t, nil)}
	ghost := helmclient.Name{Release: "ghost"}
	install := func(chart helmclient.Chart, v helmclient.Values) error {
		_, err := c.Install(ctx, helmclient.Install{Name: ghost, Chart: chart, Values: v})
		_ = c.Uninstall(ctx, helmclient.Uninstall{Name: ghost})
		return err
	}
	chart := func(file, content string) helmclient.Chart {
		return helmclient.Chart{Archive: web(t, map[string]string{"web/" + file: content})}
	}
	for _, tc := range []struct {
		name string
		err  error
		want error
	}{
		{"upgrade", second(c.Upgrade(ctx, helmclient.Upgrade{Install: helmclient.Install{Name: ghost, Chart: archive}})), helmclient.ErrNotFound},
		{"rollback", second(c.Rollback(ctx, helmclient.Rollback{Name: ghost})), helmclient.ErrNotFound},
		{"uninstall", c.Uninstall(ctx, helmclient.Uninstall{Name: ghost}), helmclient.ErrNotFound},
		{"history", second(c.History(ctx, ghost)), helmclient.ErrNotFound},
		{"values", second(c.Values(ctx, ghost, 0, false)), helmclient.ErrNotFound},
		{"manifest", second(c.Manifest(ctx, ghost, 3)), helmclient.ErrNotFound},
		{"template", install(chart("templates/x.yaml", "{{ .Values.x.y.z }}"), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"fail", install(chart("templates/x.yaml", `{{ fail "no" }}`), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"required", install(chart("templates/x.yaml", `{{ required "x is needed" .Values.x }}`), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"parse", install(chart("templates/x.yaml", `{{ if }}`), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"yaml", install(chart("templates/x.yaml", "a: b: c\n"), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"kind", install(chart("templates/x.yaml", "apiVersion: no/v1\nkind: Such\nmetadata: {name: x}\n"), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"schema", install(chart("values.schema.json", `{"properties":{"replicas":{"type":"string"}}}`), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"kubeVersion", install(chart("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: '<1.2'\n"), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"dependency", install(chart("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: x, version: 1, repository: 'http://127.0.0.1:1'}]\n"), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"version", install(chart("Chart.yaml", "apiVersion: v2\nname: web\n"), helmclient.Values{}), helmclient.ErrInvalidChart},
		{"repository", install(helmclient.Chart{Ref: "nosuch/web"}, helmclient.Values{}), helmclient.ErrInvalid},
		{"path", install(helmclient.Chart{Path: "/nosuch"}, helmclient.Values{}), helmclient.ErrInvalidChart},
		{"closed port", install(helmclient.Chart{Ref: "http://127.0.0.1:1/x.tgz"}, helmclient.Values{}), helmclient.ErrUnreachable},
		{"closed registry", install(helmclient.Chart{Ref: "oci://127.0.0.1:1/x"}, helmclient.Values{}), helmclient.ErrUnreachable},
		{"closed repository", c.AddRepository(ctx, helmclient.Repository{Name: "x", URL: "http://127.0.0.1:1"}), helmclient.ErrUnreachable},
		{"grammar", install(archive, helmclient.Values{Set: []string{"canary"}}), helmclient.ErrInvalid},
	} {
		if !errors.Is(tc.err, tc.want) || strings.Contains(tc.err.Error(), "canary") {
			t.Errorf("%s: %v, want %v", tc.name, tc.err, tc.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
