package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/jointoken"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// tokenTTL is how long a token is valid. Another one is made when half of that has passed, and all are revoked after the joins.
const tokenTTL = 30 * time.Minute

// Tokens makes the credentials of the joins of one phase, when the first join asks for them.
type Tokens struct {
	Kubeadm func() Kubeadm // of the version that the cluster is known to have by then
	Kube    *clusternodes.Cluster
	State   *vnflcm.State // where it is noted what must be revoked

	mu   sync.Mutex
	made time.Time
	now  Credentials
}

// Credentials returns credentials that live for a while yet.
func (b *Tokens) Credentials(ctx context.Context, controlPlane bool) (Credentials, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.made) > tokenTTL/2 {
		b.now = Credentials{}
	}
	leader, err := b.Kube.Leader(ctx)
	if err != nil {
		return Credentials{}, err
	}
	if b.now.Token == "" {
		token := jointoken.New()
		if err := b.create(ctx, leader, token); err != nil {
			return Credentials{}, err
		}
		b.now.Token, b.made = token, time.Now()
	}
	if controlPlane && b.now.CertificateKey == "" {
		if err := b.State.Put(ctx, certificatesState, time.Now()); err != nil {
			return Credentials{}, err
		}
		// The key is the last line.
		if b.now.CertificateKey, err = output(ctx, leader, "kubeadm", "init", "phase", "upload-certs", "--upload-certs"); err != nil {
			return Credentials{}, err
		}
	}
	return b.now, nil
}

// tokenState is where the ids of the tokens are noted that must be revoked, by whichever process comes to it.
// The id, the part before the dot, is public.
const tokenState = "jointoken/"

// create notes the id of the token before it is made: a process that dies leaves it to be revoked.
func (b *Tokens) create(ctx context.Context, leader mgmt.Node, token string) error {
	id, _, _ := strings.Cut(token, ".")
	if err := b.State.Put(ctx, tokenState+id, time.Now()); err != nil {
		return err
	}
	return b.Kubeadm().createToken(ctx, leader, token)
}

// certificatesState is where it is noted that certificates for control-plane nodes are in the cluster, encrypted.
const certificatesState = "uploadedcertificates"

// certificatesToken is how kubeadm describes the token by which those certificates end (cmd/phases/copycerts). A
// machine could join with it.
const certificatesToken = "Proxy for managing TTL for the kubeadm-certs secret"

// Revoke ends every token that was made for the cluster, and the certificates that were put into it. They would live on
// otherwise.
func (b *Tokens) Revoke(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	noted, err := b.State.Keys(ctx, tokenState)
	for _, key := range noted {
		if err = b.revoke(ctx, strings.TrimPrefix(key, tokenState)); err != nil {
			return err
		}
		if err = b.State.Delete(ctx, key); err != nil {
			return err
		}
	}
	return errors.Join(err, b.removeCertificates(ctx))
}

// removeCertificates takes back what "upload-certs" has put into the cluster, if it has.
func (b *Tokens) removeCertificates(ctx context.Context) error {
	noted, err := b.State.Keys(ctx, certificatesState)
	if len(noted) == 0 || err != nil {
		return err
	}
	leader, err := b.Kube.Leader(ctx)
	if err != nil {
		return err
	}
	if err := b.revokeListed(ctx, leader, func(description string) bool { return description == certificatesToken }); err != nil {
		return err
	}
	if err := b.Kube.Delete(ctx, "kube-system", "secret", "kubeadm-certs"); err != nil {
		return err
	}
	return b.State.Delete(ctx, certificatesState)
}

// revoke deletes the token of that id, if there is one.
func (b *Tokens) revoke(ctx context.Context, id string) error {
	return b.Kube.Delete(ctx, "kube-system", "secret", "bootstrap-token-"+id)
}

// output is the last line that a command prints.
func output(ctx context.Context, n mgmt.Node, argv ...string) (string, error) {
	out, err := n.SSH.Output(ctx, sshexec.Command{Argv: argv, Root: true})
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return "", errors.New("kubeadm: " + argv[1] + " printed nothing")
	}
	return last, nil
}

// RevokeAll deletes every bootstrap token of a cluster that has just been made: kubeadm init insists on one,
// and a package's script prints one. Joins use fresh ones.
func (b *Tokens) RevokeAll(ctx context.Context, n mgmt.Node) error {
	return b.revokeListed(ctx, n, func(string) bool { return true })
}

// revokeListed deletes the bootstrap tokens whose description is as wanted, asking kubeadm on a node which there are.
func (b *Tokens) revokeListed(ctx context.Context, n mgmt.Node, wanted func(description string) bool) error {
	out, err := n.SSH.Output(ctx, sshexec.Command{Argv: []string{"kubeadm", "token", "list", "-o", "json"}, Root: true})
	if err != nil {
		return err
	}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var token struct {
			Token       string `json:"token"`
			Description string `json:"description"`
		}
		if err := list.Decode(&token); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("kubeadm token list: %w", err)
		}
		if !wanted(token.Description) {
			continue
		}
		id, _, _ := strings.Cut(token.Token, ".")
		if err := b.revoke(ctx, id); err != nil {
			return err
		}
	}
}
