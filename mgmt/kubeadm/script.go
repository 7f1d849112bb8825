package kubeadm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/sshexec"
)

// scriptFile is where Tacker puts the package's script.
const scriptFile = "/tmp/install_k8s_cluster.sh"

// scriptLock is held while the script runs, by the login user; not by what the script leaves running (flock -o).
const scriptLock = scriptFile + ".lock"

func (d *deployment) uploadScript(ctx context.Context, n mgmt.Node) error {
	name, err := d.op.Package.Artifact(d.p.ScriptPath)
	if err != nil {
		return err
	}
	f, err := d.op.Package.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return n.SSH.Upload(ctx, f, sshexec.File{Path: scriptFile, Mode: 0o755})
}

// checkScriptNames refuses machines that the script would give the same host name: it takes the role and the
// last part of the address (Tacker's contract).
func (d *deployment) checkScriptNames() error {
	if d.p.ScriptPath == "" {
		return nil
	}
	var faults []error
	for _, group := range []struct {
		role  string
		nodes []mgmt.Node
	}{{"master", d.masters}, {"worker", d.workers}} {
		seen := map[byte]netip.Addr{}
		for _, n := range group.nodes {
			last := n.IP.AsSlice()[len(n.IP.AsSlice())-1]
			if other, taken := seen[last]; taken {
				faults = append(faults, fmt.Errorf("kubeadm: script_path names nodes by the last part of their address: %s and %s would both be %s%d",
					other, n.IP, group.role, last))
			}
			seen[last] = n.IP
		}
	}
	return errors.Join(faults...)
}

// scriptInit runs the script on the first control-plane node. The token that it prints is not used.
func (d *deployment) scriptInit(ctx context.Context, n mgmt.Node) error {
	var out, faults bytes.Buffer
	if err := d.runScript(ctx, n, d.masterArgs(), nil, &out, &faults); err != nil {
		return err
	}
	for _, label := range []string{"token:", "server:", "ssl_ca_cert_hash:"} {
		if scriptLine(out.String(), label) == "" {
			return fmt.Errorf("kubeadm: %s printed no line %q; standard output ends with %q, standard error with %q", d.p.ScriptPath, label,
				scriptTail(out.String()), scriptTail(faults.String()))
		}
	}
	return nil
}

// maxScriptTail bounds what an error shows of a script's output.
const maxScriptTail = 1 << 10

// scriptTail returns the end of a script's output without credentials. They are masked before the text is cut.
func scriptTail(text string) string {
	text = maskedText(strings.TrimSpace(text))
	return strings.ToValidUTF8(text[max(0, len(text)-maxScriptTail):], "")
}

// scriptLine returns what follows label on the last line that begins with it.
func scriptLine(out, label string) string {
	found := ""
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), label); ok {
			found = strings.TrimSpace(rest)
		}
	}
	return found
}

func (d *deployment) masterArgs() []string {
	var ips []string
	for _, m := range d.masters {
		ips = append(ips, m.IP.String())
	}
	return []string{"-m", strings.Join(ips, ","), "-i", d.api.String(), "-p", d.p.Master.PodCIDR, "-a", d.p.Master.ClusterCIDR}
}

// scriptJoin runs the script on a further node. Tacker's contract has the credentials on the command line:
// the one place where we do that, and they are revoked after the batch.
func (d *deployment) scriptJoin(ctx context.Context, n mgmt.Node, b bootstrap, c credentials, controlPlane bool) error {
	join := []string{"-t", c.token, "-s", strings.TrimPrefix(b.CAHash, "sha256:")}
	secrets := []string{c.token}
	if controlPlane {
		return d.runScript(ctx, n, slices.Concat(d.masterArgs(), join, []string{"-k", c.certificateKey}), append(secrets, c.certificateKey), nil, nil)
	}
	return d.runScript(ctx, n, slices.Concat([]string{"-w", n.IP.String(), "-i", d.api.String()}, join), secrets, nil, nil)
}

func (d *deployment) runScript(ctx context.Context, n mgmt.Node, args, secrets []string, stdout, stderr io.Writer) error {
	env := d.environment()
	if env == nil {
		env = map[string]string{}
	}
	env["ha_flag"] = "False"
	if len(d.masters) > 1 {
		env["ha_flag"] = "True"
	}
	if http := d.httpRegistries(); http != "" {
		env["HTTP_PRIVATE_REGISTRIES"] = http
		if err := client.Reserve(ctx, n.SSH, d.p.Registries); err != nil {
			return err
		}
	}
	argv := append([]string{"flock", "-o", scriptLock, "bash", scriptFile}, args...)
	return masked(n.SSH.Exec(ctx, sshexec.Command{Argv: argv, Env: env, Secrets: secrets, Stdout: stdout, Stderr: stderr}))
}
