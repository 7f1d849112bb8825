package kubeadm

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/nodedrain"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// tokenTTL is how long the token of a batch lives; it is made anew when half of that has passed, and revoked
// after the batch.
const tokenTTL = 30 * time.Minute

// credentials let machines join. They are never stored.
type credentials struct {
	token          string
	certificateKey string // for control-plane nodes
}

// batch makes the credentials of the joins of one phase, when the first join asks for them.
type batch struct {
	d    *deployment
	mu   sync.Mutex
	made time.Time
	now  credentials
}

// credentials returns credentials that live for a while yet.
func (b *batch) credentials(ctx context.Context, controlPlane bool) (credentials, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.made) > tokenTTL/2 {
		b.now = credentials{}
	}
	leader, err := b.d.kube.Leader(ctx)
	if err != nil {
		return credentials{}, err
	}
	if b.now.token == "" {
		token := newToken()
		if err := b.d.createToken(ctx, leader, token); err != nil {
			return credentials{}, err
		}
		b.now.token, b.made = token, time.Now()
	}
	if controlPlane && b.now.certificateKey == "" {
		if err := b.d.op.State().Put(ctx, certificatesState, time.Now()); err != nil {
			return credentials{}, err
		}
		// The key is the last line.
		if b.now.certificateKey, err = output(ctx, leader, "kubeadm", "init", "phase", "upload-certs", "--upload-certs"); err != nil {
			return credentials{}, err
		}
	}
	return b.now, nil
}

// tokenState is where the ids of the tokens are noted that must be revoked, by whichever process comes to it.
// The id, the part before the dot, is public.
const tokenState = "jointoken/"

// createToken notes the id of the token before it is made: a process that dies leaves it to be revoked.
func (d *deployment) createToken(ctx context.Context, leader mgmt.Node, token string) error {
	id, _, _ := strings.Cut(token, ".")
	if err := d.op.State().Put(ctx, tokenState+id, time.Now()); err != nil {
		return err
	}
	config, err := marshal(initConfiguration{typeMeta: d.p.kind("InitConfiguration"), BootstrapTokens: []bootstrapToken{bootstrapTokenFor(token, tokenTTL)}})
	if err != nil {
		return err
	}
	return d.kubeadmWith(ctx, leader, config, "token", "create")
}

// certificatesState is where it is noted that certificates for control-plane nodes are in the cluster, encrypted.
const certificatesState = "uploadedcertificates"

// certificatesToken is how kubeadm describes the token by which those certificates end (cmd/phases/copycerts). A
// machine could join with it.
const certificatesToken = "Proxy for managing TTL for the kubeadm-certs secret"

// revokeTokens ends every token that was made for the cluster, and the certificates that were put into it, also
// when ctx has ended: they would live on otherwise.
func (d *deployment) revokeTokens(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	noted, err := d.op.State().Keys(ctx, tokenState)
	for _, key := range noted {
		if err = d.revoke(ctx, strings.TrimPrefix(key, tokenState)); err != nil {
			return err
		}
		if err = d.op.State().Delete(ctx, key); err != nil {
			return err
		}
	}
	return errors.Join(err, d.removeCertificates(ctx))
}

// removeCertificates takes back what "upload-certs" has put into the cluster, if it has.
func (d *deployment) removeCertificates(ctx context.Context) error {
	noted, err := d.op.State().Keys(ctx, certificatesState)
	if len(noted) == 0 || err != nil {
		return err
	}
	leader, err := d.kube.Leader(ctx)
	if err != nil {
		return err
	}
	if err := d.revokeListed(ctx, leader, func(description string) bool { return description == certificatesToken }); err != nil {
		return err
	}
	if err := d.kube.Delete(ctx, "kube-system", "secret", "kubeadm-certs"); err != nil {
		return err
	}
	return d.op.State().Delete(ctx, certificatesState)
}

// revoke deletes the token of that id, if there is one.
func (d *deployment) revoke(ctx context.Context, id string) error {
	return d.kube.Delete(ctx, "kube-system", "secret", "bootstrap-token-"+id)
}

// output is the last line that a command prints.
func output(ctx context.Context, n mgmt.Node, argv ...string) (string, error) {
	var out bytes.Buffer
	if err := n.RunRoot(ctx, argv, nil, &out, nil); err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return "", errors.New("kubeadm: " + argv[1] + " printed nothing")
	}
	return last, nil
}

// join makes a prepared machine a node.
func (d *deployment) join(ctx context.Context, n mgmt.Node, b bootstrap, tokens *batch, controlPlane bool) error {
	_, err := vnflcm.Run(ctx, d.op, vnflcm.Step[struct{}]{
		Name: "join", On: n.ID,
		Probe: func(ctx context.Context) (struct{}, bool, error) {
			joined, err := d.joined(ctx, n, controlPlane)
			return struct{}{}, joined, err
		},
		Do: func(ctx context.Context) (struct{}, error) {
			return struct{}{}, mgmt.Within(ctx, d.config.Timeouts.Install, func(ctx context.Context) error {
				return d.joinNow(ctx, n, b, tokens, controlPlane)
			})
		},
	})
	if err == nil && controlPlane {
		err = d.op.State().Delete(ctx, joiningState+n.ResourceID)
	}
	if err != nil {
		return err
	}
	return d.registriesAfterScript(ctx, n)
}

// joiningState is where it is noted, by resource id, on which machines the join of a control-plane node has begun
// and is not known to have ended well.
const joiningState = "joining/"

// settleJoins waits until no join of a control-plane node runs any more that an earlier process has begun: etcd takes
// one new member at a time. Other machines are not contacted: they may be starting yet, or dead.
func (d *deployment) settleJoins(ctx context.Context) error {
	noted, err := d.op.State().Keys(ctx, joiningState)
	if err != nil {
		return err
	}
	for _, n := range d.masters {
		if !slices.Contains(noted, joiningState+n.ResourceID) {
			continue
		}
		if err := d.settle(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// joined reports whether the machine is a node already, as what it shall be: kubeadm labels control-plane
// nodes last.
func (d *deployment) joined(ctx context.Context, n mgmt.Node, controlPlane bool) (bool, error) {
	if controlPlane {
		if err := d.settleJoins(ctx); err != nil {
			return false, err
		}
	}
	if err := d.settle(ctx, n); err != nil {
		return false, err
	}
	node, found, err := d.kube.NodeAt(ctx, n.IP)
	if !found || err != nil || node.ControlPlane != controlPlane {
		return false, err
	}
	return succeeds(ctx, n, "test", "-e", "/etc/kubernetes/kubelet.conf")
}

func (d *deployment) joinNow(ctx context.Context, n mgmt.Node, b bootstrap, tokens *batch, controlPlane bool) error {
	if controlPlane {
		if err := d.clearMembers(ctx, n); err != nil {
			return err
		}
	}
	if err := d.clean(ctx, n); err != nil {
		return err
	}
	// The object of an attempt that was cut short.
	if err := nodedrain.ForgetNode(ctx, d.kube, n); err != nil {
		return err
	}
	c, err := tokens.credentials(ctx, controlPlane)
	if err != nil {
		return err
	}
	if controlPlane {
		if err := d.op.State().Put(ctx, joiningState+n.ResourceID, time.Now()); err != nil {
			return err
		}
	}
	if d.p.ScriptPath != "" {
		return d.scriptJoin(ctx, n, b, c, controlPlane)
	}
	config, err := marshal(d.joinConfig(n, b, c, controlPlane))
	if err != nil {
		return err
	}
	return d.kubeadmWith(ctx, n, config, "join")
}

// credentialForms are bootstrap tokens (kubernetes.io, "Bootstrap token format") and certificate keys, which
// have the form of a CA hash but no "sha256:" before them.
var credentialForms = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|(sha256:)?\b[0-9a-f]{64}\b`)

// masked takes credentials out of what kubeadm or a script printed, also those that they made themselves, and the
// advice that kubeadm ends with: the last line is what a reader sees first.
func masked(err error) error {
	e, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok {
		return err
	}
	out := *e
	out.Stderr = maskedText(adviceForm.ReplaceAllString(out.Stderr, ""))
	return &out
}

func maskedText(text string) string {
	return credentialForms.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "sha256:") {
			return found
		}
		return vnflcm.Mask
	})
}

var adviceForm = regexp.MustCompile(`(?m)^To see the stack trace of this error.*\n?`)
