package helmcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/mask"
)

// machine is a Machine, and the version of its helm.
type machine struct {
	name, dir, kubeconfig string
	runner                Runner

	major atomic.Int32 // major version of its helm, 0 until it is known to be supported
}

// frame runs a command in the environment that all commands of this package share: of the caller's login only the
// location of the cluster is used, and files are accessible only to their owner. The command holds its lock by an open
// file, so the lock shows whether the command still runs after its connection was lost.
//
//	$1 directory, $2 whether to make it, $3 kubeconfig, $4 lock and $5 how many seconds to wait for it, then the command
const frame = `umask 077; d=$1; ` +
	`if [ -n "$2" ]; then mkdir -p "$d" || exit 74; fi; ` +
	`if [ -d "$d" ]; then cd "$d" || exit 74; KUBECACHEDIR=$d/cache/kube; export KUBECACHEDIR; else cd /; fi; ` +
	`if [ -n "$3" ]; then KUBECONFIG=$3; ` +
	`elif [ -z "$KUBECONFIG" ] && [ ! -r "$HOME/.kube/config" ] && [ -r /etc/kubernetes/admin.conf ]; then KUBECONFIG=/etc/kubernetes/admin.conf; fi; ` +
	`if [ -n "$KUBECONFIG" ]; then export KUBECONFIG; fi; ` +
	`HELM_DRIVER=secret HELM_CACHE_HOME=$d/cache HELM_CONFIG_HOME=$d/config HELM_DATA_HOME=$d/data HELM_PLUGINS=$d/plugins; ` +
	`HELM_REPOSITORY_CONFIG=$d/repositories.yaml HELM_REPOSITORY_CACHE=$d/cache/repository HELM_REGISTRY_CONFIG=$d/registry.json; ` +
	`export HELM_DRIVER HELM_CACHE_HOME HELM_CONFIG_HOME HELM_DATA_HOME HELM_PLUGINS HELM_REPOSITORY_CONFIG HELM_REPOSITORY_CACHE HELM_REGISTRY_CONFIG; ` +
	`unset HELM_NAMESPACE HELM_KUBECONTEXT HELM_KUBEAPISERVER HELM_KUBETOKEN HELM_KUBEASUSER HELM_KUBEASGROUPS HELM_DEBUG HELM_CONTENT_CACHE HELM_COLOR HELM_NO_PLUGINS; ` +
	`if [ -n "$4" ] && command -v flock >/dev/null 2>&1; then exec 9>"$4" || exit 74; flock -w "$5" 9 || exit 75; fi; ` +
	`shift 5; exec "$@"`

// Exit codes of frame, which helm and kubectl do not use.
const (
	exitNoDirectory = 74
	exitLocked      = 75
	exitNoProgram   = 127
)

// command is a command on a machine.
type command struct {
	argv    []string
	stdin   io.Reader
	files   bool   // needs the directory
	lock    string // held while the command runs
	wait    int    // seconds for the lock
	secrets []string
}

// maxOutput bounds the output of a command: a release is at most 1 MiB packed, and notes and manifests are text.
const maxOutput = 64 << 20

// output is a buffer with a limit. It drops the rest, so that the command is not disturbed.
type output struct {
	bytes.Buffer
	full bool
}

func (o *output) Write(p []byte) (int, error) {
	if o.Len()+len(p) > maxOutput {
		o.full = true
		return len(p), nil
	}
	return o.Buffer.Write(p)
}

// run runs a command. Its error is a *failure if the command ran and failed, and *lost if the machine could not be
// reached or the connection broke.
func (m *machine) run(ctx context.Context, c command) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	made := ""
	if c.files || c.lock != "" {
		made = "1"
	}
	argv := append([]string{"/bin/sh", "-c", frame, "sh", m.dir, made, m.kubeconfig, c.lock, fmt.Sprint(c.wait)}, m.arguments(c.argv)...)
	var stdout output
	stderr := mask.Tail{Masker: mask.New(c.secrets...), Most: tailBytes}
	err := m.runner.Run(ctx, argv, c.stdin, &stdout, &stderr)
	if err == nil && stdout.full {
		return nil, fmt.Errorf("helm: %s: %s printed more than %d MiB", m.name, c.verb(), maxOutput>>20)
	}
	if err == nil {
		return stdout.Bytes(), nil
	}
	if code, ran := exitCode(err); ran {
		return stdout.Bytes(), &failure{machine: m.name, verb: c.verb(), code: code, stderr: stderr.String(), ctx: context.Cause(ctx)}
	}
	return stdout.Bytes(), &lost{machine: m.name, err: err, ctx: context.Cause(ctx)}
}

// verb describes the command in messages: only the arguments that are fixed words.
func (c command) verb() string {
	words := []string{c.argv[0]}
	for _, a := range c.argv[1:] {
		if strings.HasPrefix(a, "-") || len(words) == 3 || !subcommands[a] {
			break
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

var subcommands = map[string]bool{"install": true, "upgrade": true, "rollback": true, "uninstall": true, "status": true, "history": true,
	"list": true, "get": true, "metadata": true, "all": true, "values": true, "manifest": true, "template": true, "show": true, "chart": true, "crds": true, "pull": true,
	"package": true, "repo": true, "add": true, "update": true, "remove": true, "version": true, "apply": true, "create": true, "replace": true, "secret": true, "events": true}

// exitCode returns the exit code of a command that ran and failed.
func exitCode(err error) (int, bool) {
	var byMethod interface{ ExitCode() int }
	if errors.As(err, &byMethod) {
		return byMethod.ExitCode(), true
	}
	var byFields interface {
		CommandFailure() (host, command string, exitCode int, stderr string)
	}
	if errors.As(err, &byFields) {
		_, _, code, _ := byFields.CommandFailure()
		return code, true
	}
	return 0, false
}

// lost reports that a machine could not be reached, or that the connection broke while a command ran.
type lost struct {
	machine string
	err     error
	ctx     error // the cause, if the context had ended
}

func (e *lost) Error() string { return "helm: " + e.machine + ": " + e.err.Error() }

func (e *lost) Unwrap() []error {
	if e.ctx != nil {
		return []error{e.err, e.ctx}
	}
	return []error{e.err, helmclient.ErrUnreachable}
}

// tailBytes bounds how much standard error a failure carries.
const tailBytes = 8 << 10
