package controlplane

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Script is a Program that runs a script of the package, as in Tacker's contract.
type Script struct {
	Name string                                   // path in the package
	Open func(name string) (io.ReadCloser, error) // opens files of the package
	// The first control-plane node initialises the cluster: Tacker's scripts run kubeadm init on the
	// node whose address is first in the list.
	ControlPlane             []mgmt.Node
	API                      string // host of the API
	PodSubnet, ServiceSubnet string
	Env                      map[string]string // the proxy of the nodes
	Registries               client.Connections
}

// scriptFile is the path on machines to which Tacker uploads the package's script.
const scriptFile = "/tmp/install_k8s_cluster.sh"

// scriptLock is held by the login user while the script runs. Processes that the script leaves running do not hold it
// (flock -o).
const scriptLock = scriptFile + ".lock"

// Upload uploads the script to a machine.
func (s Script) Upload(ctx context.Context, n mgmt.Node) error {
	f, err := s.Open(s.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	return n.SSH.Upload(ctx, f, sshexec.File{Path: scriptFile, Mode: 0o755})
}

// AwaitScript waits until the script does not run on a machine.
func AwaitScript(ctx context.Context, n mgmt.Node) error {
	return n.SSH.Run(ctx, []string{"flock", scriptLock, "true"}, nil, nil, nil)
}

// keptOutput bounds the output of a script that is stored: the lines of the contract are the last ones.
const keptOutput = 1 << 20

// Init implements Program. It ignores the token that the script prints.
func (s Script) Init(ctx context.Context, n mgmt.Node) error {
	out, faults := linux.Tail{Most: keptOutput}, linux.Tail{Most: keptOutput}
	if err := s.run(ctx, n, s.controlPlaneArgs(), nil, &out, &faults); err != nil {
		return err
	}
	for _, label := range []string{"token:", "server:", "ssl_ca_cert_hash:"} {
		if Line(out.String(), label) == "" {
			return fmt.Errorf("kubeadm: %s printed no line %q (docs/tacker.md#a-script-that-prints-no-line-token); standard output ends with %q, standard error with %q",
				s.Name, label, scriptTail(out.String()), scriptTail(faults.String()))
		}
	}
	return nil
}

// maxScriptTail bounds how much of a script's output an error quotes.
const maxScriptTail = 1 << 10

// scriptTail returns the end of a script's output. It masks credentials before it cuts the text.
func scriptTail(text string) string {
	text = jointoken.MaskedText(strings.TrimSpace(text))
	return strings.ToValidUTF8(text[max(0, len(text)-maxScriptTail):], "")
}

// Line returns the text after label on the last line that begins with label.
func Line(out, label string) string {
	found := ""
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), label); ok {
			found = strings.TrimSpace(rest)
		}
	}
	return found
}

// controlPlaneArgs returns the arguments of the script that are the same for all control-plane nodes.
func (s Script) controlPlaneArgs() []string {
	var ips []string
	for _, m := range s.ControlPlane {
		ips = append(ips, m.IP.String())
	}
	return []string{"-m", strings.Join(ips, ","), "-i", s.API, "-p", s.PodSubnet, "-a", s.ServiceSubnet}
}

// Join implements Program. Tacker's contract has credentials on the command line. No other code does this, and the driver
// revokes the credentials after the joins.
func (s Script) Join(ctx context.Context, n mgmt.Node, b Bootstrap, c Credentials, controlPlane bool) error {
	join := []string{"-t", c.Token, "-s", strings.TrimPrefix(b.CAHash, "sha256:")}
	secrets := []string{c.Token}
	if controlPlane {
		return s.run(ctx, n, slices.Concat(s.controlPlaneArgs(), join, []string{"-k", c.CertificateKey}), append(secrets, c.CertificateKey), nil, nil)
	}
	return s.run(ctx, n, slices.Concat([]string{"-w", n.IP.String(), "-i", s.API}, join), secrets, nil, nil)
}

func (s Script) run(ctx context.Context, n mgmt.Node, args, secrets []string, stdout, stderr io.Writer) error {
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["ha_flag"] = "False"
	if len(s.ControlPlane) > 1 {
		env["ha_flag"] = "True"
	}
	if http := s.httpRegistries(); http != "" {
		env["HTTP_PRIVATE_REGISTRIES"] = http
		if err := client.Reserve(ctx, n.SSH, s.Registries); err != nil {
			return err
		}
	}
	argv := append([]string{"flock", "-o", scriptLock, "bash", scriptFile}, args...)
	return jointoken.Masked(n.SSH.Exec(ctx, sshexec.Command{Argv: argv, Env: env, Secrets: secrets, Stdout: stdout, Stderr: stderr}))
}

// httpRegistries returns the registries without TLS in the form that Tacker's script writes into daemon.json:
// "a:5000","b:5000".
func (s Script) httpRegistries() string {
	var out []string
	for _, r := range s.Registries {
		if r.Type == client.HTTP {
			out = append(out, `"`+r.Server+`"`)
		}
	}
	return strings.Join(out, ",")
}
