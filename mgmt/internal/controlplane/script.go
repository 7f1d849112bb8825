package controlplane

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Script is the Program of a package, by Tacker's contract.
type Script struct {
	Name string                                   // in the package
	Open func(name string) (io.ReadCloser, error) // opens files of the package
	// Masters are the control-plane nodes. The first one makes the cluster: scripts of Tacker initialise a new cluster on the node that
	// finds its own address there.
	Masters                  []mgmt.Node
	API                      string // host
	PodSubnet, ServiceSubnet string
	Env                      map[string]string // the proxy of the nodes
	Registries               client.Connections
}

// scriptFile is where Tacker puts the package's script.
const scriptFile = "/tmp/install_k8s_cluster.sh"

// scriptLock is held while the script runs, by the login user; not by what the script leaves running (flock -o).
const scriptLock = scriptFile + ".lock"

// Upload puts the script on a machine.
func (s Script) Upload(ctx context.Context, n mgmt.Node) error {
	f, err := s.Open(s.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	return n.SSH.Upload(ctx, f, sshexec.File{Path: scriptFile, Mode: 0o755})
}

// AwaitScript waits until the script does not run on a machine any more.
func AwaitScript(ctx context.Context, n mgmt.Node) error {
	return n.SSH.Run(ctx, []string{"flock", scriptLock, "true"}, nil, nil, nil)
}

// keptOutput is how much of a script's output is kept: its contract is in the last lines.
const keptOutput = 1 << 20

// Init implements Program. The token that it prints is not used.
func (s Script) Init(ctx context.Context, n mgmt.Node) error {
	out, faults := linux.Tail{Most: keptOutput}, linux.Tail{Most: keptOutput}
	if err := s.run(ctx, n, s.masterArgs(), nil, &out, &faults); err != nil {
		return err
	}
	for _, label := range []string{"token:", "server:", "ssl_ca_cert_hash:"} {
		if Line(out.String(), label) == "" {
			return fmt.Errorf("kubeadm: %s printed no line %q; standard output ends with %q, standard error with %q", s.Name, label,
				scriptTail(out.String()), scriptTail(faults.String()))
		}
	}
	return nil
}

// maxScriptTail bounds what an error shows of a script's output.
const maxScriptTail = 1 << 10

// scriptTail returns the end of a script's output without credentials. They are masked before the text is cut.
func scriptTail(text string) string {
	text = jointoken.MaskedText(strings.TrimSpace(text))
	return strings.ToValidUTF8(text[max(0, len(text)-maxScriptTail):], "")
}

// Line returns what follows label on the last line that begins with it.
func Line(out, label string) string {
	found := ""
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), label); ok {
			found = strings.TrimSpace(rest)
		}
	}
	return found
}

// masterArgs are the arguments for control-plane nodes.
func (s Script) masterArgs() []string {
	var ips []string
	for _, m := range s.Masters {
		ips = append(ips, m.IP.String())
	}
	return []string{"-m", strings.Join(ips, ","), "-i", s.API, "-p", s.PodSubnet, "-a", s.ServiceSubnet}
}

// Join implements Program. Tacker's contract has the credentials on the command line:
// the one place where we do that, and they are revoked after the batch.
func (s Script) Join(ctx context.Context, n mgmt.Node, b Bootstrap, c Credentials, controlPlane bool) error {
	join := []string{"-t", c.Token, "-s", strings.TrimPrefix(b.CAHash, "sha256:")}
	secrets := []string{c.Token}
	if controlPlane {
		return s.run(ctx, n, slices.Concat(s.masterArgs(), join, []string{"-k", c.CertificateKey}), append(secrets, c.CertificateKey), nil, nil)
	}
	return s.run(ctx, n, slices.Concat([]string{"-w", n.IP.String(), "-i", s.API}, join), secrets, nil, nil)
}

func (s Script) run(ctx context.Context, n mgmt.Node, args, secrets []string, stdout, stderr io.Writer) error {
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["ha_flag"] = "False"
	if len(s.Masters) > 1 {
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

// httpRegistries is the list of registries without TLS in the form that Tacker's script puts into
// daemon.json: "a:5000","b:5000".
func (s Script) httpRegistries() string {
	var out []string
	for _, r := range s.Registries {
		if r.Type == client.HTTP {
			out = append(out, `"`+r.Server+`"`)
		}
	}
	return strings.Join(out, ",")
}
