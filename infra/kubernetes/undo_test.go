package kubernetes_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// failingHook runs after the workloads of its chart are made.
const failingHook = `apiVersion: batch/v1
kind: Job
metadata: {name: "migrate-{{ .Release.Name }}", annotations: {helm.sh/hook: post-install}}
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, nodeSelector: {{ if .Values.never }}{never: ready}{{ else }}{}{{ end }}, containers: [{name: migrate, image: {{ .Values.image | quote }}}]}
`

// unreadable is a Helm that cannot read the manifests of releases.
type unreadable struct{ helmclient.Client }

func (unreadable) Manifest(context.Context, helmclient.Name, int) (string, error) {
	return "", errors.New("the manifest cannot be read")
}

func oneRelease(value string) string {
	return `{"use_helm": true, "namespace": "shop", "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/web-0.1.0.tgz",
		"helmreleasename": "w1", "helmparameter": ["` + value + `"]}]}`
}

// TestInstallationIsUndone: what fails up to and including the installation removes what was installed, and the error has the
// state of it before.
func TestInstallationIsUndone(t *testing.T) {
	t.Parallel()
	quota := func(hard string) func(l *lab) func() {
		return func(l *lab) func() {
			l.create("", "namespaces", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}`)
			l.create("shop", "resourcequotas", `{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {%q: "0"}}}`, hard)
			return func() {
				if err := l.dynamic.Resource(resources["resourcequotas"]).Namespace("shop").Delete(t.Context(), "few", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		params  string
		trouble func(l *lab) (remove func())
		parts   []string
	}{
		"hook": {oneRelease("image=fail:1"), nil, []string{"release w1: helm: release shop/w1: failed after ", "Job migrate-w1, it has failed: BackoffLimitExceeded: Job has reached the specified backoff limit, pod migrate-w1-",
			"before it was undone: ", "last lines of container migrate: migrate begins | fatal: migrate cannot go on"}},
		"hook that is not scheduled": {oneRelease("image=web:1,never=true"), nil, []string{"not ready after 2s", "Job migrate-w1, Job in progress", "Unschedulable", "FailedScheduling"}},
		"hook that crashes":          {oneRelease("image=crash:1"), nil, []string{"not ready after 2s", "CrashLoopBackOff", "last lines of container migrate: migrate begins | fatal: migrate cannot go on"}},
		"manifest of the release": {oneRelease("image=web:1"), func(l *lab) func() {
			l.Manager = l.start(func(cfg *kubernetes.Config) {
				inner := cfg.Helm
				cfg.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
					client, err := inner(cluster, dir)
					return unreadable{client}, err
				}
			})
			return func() { l.Manager = l.start() }
		}, []string{"the manifest cannot be read"}},
		"manifests": {plainParams, quota("count/statefulsets.apps"), []string{"StatefulSet shop/db", `statefulsets.apps "db" is forbidden: exceeded quota: few, requested: count/statefulsets.apps=1, used: count/statefulsets.apps=0, limited: count/statefulsets.apps=0`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.files["Files/web-0.1.0.tgz"].Data = chart("web", webDeployment, greeting, failingHook).pack(t)
			l.Manager = l.start(func(cfg *kubernetes.Config) { cfg.Hooks = 2 * time.Second })
			remove := func() {}
			if c.trouble != nil {
				remove = c.trouble(l)
			}
			op, err := l.Instantiate(t.Context(), l.id, l.request("simple", c.params))
			err = l.failsWith(op, err, c.parts...)
			if text := err.Error(); strings.Count(text, "BackoffLimitExceeded") > 1 {
				t.Errorf("the reason is there more than once: %s", text)
			}
			if left := l.objects("shop", "deployments", "statefulsets", "configmaps", "services", "secrets"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if remove(); !strings.HasPrefix(name, "hook") {
				l.must(op, l.Retry(t.Context(), op))
			}
		})
	}
}

// TestNotReadyStays: objects that do not become ready stay for a retry, a rollback or a look, and the error has the last lines
// of their containers.
func TestNotReadyStays(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.files["Files/plain.yaml"].Data = []byte(strings.Replace(plainManifests, "name: web, image: web", "name: web, image: crash", 1))
	l.Manager = l.start(brief)
	op, err := l.Instantiate(t.Context(), l.id, l.request("simple", plainParams))
	l.failsWith(op, err, "Deployment web", "CrashLoopBackOff", "last lines of container web: web begins | fatal: web cannot go on")
	if diff := cmp.Diff([]string{"configmaps/settings", "deployments/web", "services/web", "statefulsets/db"}, l.objects("shop", "deployments", "statefulsets", "configmaps", "services")); diff != "" {
		t.Error(diff)
	}
	l.Manager = l.start()
	l.rollback(op)
	if left := l.objects("shop", "deployments", "statefulsets", "configmaps", "services"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestRefusals: an object that a webhook, a quota or a namespace refuses is neither a wrong credential nor an unreachable
// cluster.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(l *lab){
		"failing webhook": func(l *lab) { l.webhook("CREATE", "apps", "deployments") },
		"denying webhook": func(l *lab) {
			l.cluster.Fail(cnftest.Fault{Method: http.MethodPost, Path: "/deployments", Code: http.StatusForbidden, Times: -1,
				Message: `admission webhook "policy.example.com" denied the request: image "web:1" is not signed`})
		},
		"quota": func(l *lab) {
			l.create("", "namespaces", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}`)
			l.create("shop", "resourcequotas", `{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"count/deployments.apps": "0"}}}`)
		},
		"Pod Security": func(l *lab) {
			l.cluster.Fail(cnftest.Fault{Method: http.MethodPost, Path: "/deployments", Code: http.StatusForbidden, Times: -1,
				Message: `pods "web" is forbidden: violates PodSecurity "baseline:latest": privileged (container "web" must not set securityContext.privileged=true)`})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			trouble(l)
			var failure error
			l.Manager = l.start(func(cfg *kubernetes.Config) {
				inner := cfg.Helm
				cfg.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
					client, err := inner(cluster, dir)
					return failing{client, &failure}, err
				}
			})
			op, err := l.Instantiate(t.Context(), l.id, l.request("simple", oneRelease("image=web:1")))
			l.fails(op, err)
			if !errors.Is(failure, helmclient.ErrRefused) || errors.Is(failure, helmclient.ErrDenied) || errors.Is(failure, helmclient.ErrUnreachable) {
				t.Error(failure)
			}
		})
	}
}

// failing is a Helm that keeps the error of an installation.
type failing struct {
	helmclient.Client
	err *error
}

func (f failing) Install(ctx context.Context, r helmclient.Install) (*helmclient.Release, error) {
	out, err := f.Client.Install(ctx, r)
	*f.err = err
	return out, err
}

// brusque is a Helm whose Uninstall says no more than the helm program when objects stay.
type brusque struct{ helmclient.Client }

func (b brusque) Uninstall(ctx context.Context, r helmclient.Uninstall) error {
	if err := b.Client.Uninstall(ctx, r); err != nil {
		return helmclient.ErrNotReady
	}
	return nil
}

// TestHeldObjectIsNamed: the error of a termination names the object that still exists and its finalizer, once, for both ways to
// run Helm.
func TestHeldObjectIsNamed(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(helmclient.Client) helmclient.Client{
		"in the process": func(c helmclient.Client) helmclient.Client { return c },
		"by the program": func(c helmclient.Client) helmclient.Client { return brusque{c} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.files["Files/web-0.1.0.tgz"].Data = chart("web", webDeployment, strings.Replace(greeting, "metadata: {", "metadata: {finalizers: [example.com/hold], ", 1)).pack(t)
			l.instantiate("simple", oneRelease("image=web:1"))
			l.Manager = l.start(func(cfg *kubernetes.Config) {
				brief(cfg)
				inner := cfg.Helm
				cfg.Helm = func(cluster *rest.Config, dir string) (helmclient.Client, error) {
					client, err := inner(cluster, dir)
					return wrap(client), err
				}
			})
			op, err := l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
			err = l.failsWith(op, err, "greeting-w1", "held by the finalizers example.com/hold")
			if strings.Count(err.Error(), "example.com/hold") != 1 {
				t.Error(err)
			}
		})
	}
}
