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
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// tokenTTL is how long a token is valid. The driver makes a new one after half of this time, and revokes all tokens after
// the joins.
const tokenTTL = 30 * time.Minute

// Tokens makes the credentials for the joins of one phase. It makes them when the first join asks for them.
type Tokens struct {
	Kubeadm func() Kubeadm // called when a token is needed, because the version of an existing cluster is read only then
	Kube    *clusternodes.Cluster
	State   *vnflcm.State // has the ids of tokens that must be revoked

	mu   sync.Mutex
	made time.Time
	now  Credentials
}

// Credentials returns credentials that are valid for at least half of tokenTTL.
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
		// kubeadm prints the key on the last line.
		if b.now.CertificateKey, err = output(ctx, leader, "kubeadm", "init", "phase", "upload-certs", "--upload-certs"); err != nil {
			return Credentials{}, err
		}
	}
	return b.now, nil
}

// tokenState is the prefix of the state keys of tokens that must be revoked. A later process reads them if this one dies.
// The id of a token, the part before the dot, is not secret.
const tokenState = "jointoken/"

// create records the id of the token before it creates the token, so that another process can revoke the token if this one
// dies.
func (b *Tokens) create(ctx context.Context, leader mgmt.Node, token string) error {
	id, _, _ := strings.Cut(token, ".")
	if err := b.State.Put(ctx, tokenState+id, time.Now()); err != nil {
		return err
	}
	return b.Kubeadm().createToken(ctx, leader, token)
}

// certificatesState is the state key that records that encrypted certificates for control-plane nodes are stored in the
// cluster.
const certificatesState = "uploadedcertificates"

// certificatesToken is kubeadm's description of the token that bounds the life of these certificates
// (cmd/phases/copycerts). A machine could join with this token, so it must be revoked.
const certificatesToken = "Proxy for managing TTL for the kubeadm-certs secret"

// Revoke deletes every token that was made for the cluster, and the uploaded certificates. Without it they would remain
// valid for some time.
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

// removeCertificates deletes the certificates that "upload-certs" has stored in the cluster, if there are any.
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

// revoke deletes the token with this id, if it exists.
func (b *Tokens) revoke(ctx context.Context, id string) error {
	return b.Kube.Delete(ctx, "kube-system", "secret", "bootstrap-token-"+id)
}

// output returns the last line that a command prints.
func output(ctx context.Context, n mgmt.Node, argv ...string) (string, error) {
	out, err := n.Root().Output(ctx, sshexec.Command{Argv: argv})
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

// RevokeAll deletes every bootstrap token of a new cluster: kubeadm init always makes one, and a package's script prints
// one. Joins use new tokens.
func (b *Tokens) RevokeAll(ctx context.Context, n mgmt.Node) error {
	return b.revokeListed(ctx, n, func(string) bool { return true })
}

// revokeListed deletes the bootstrap tokens whose description is wanted. It runs kubeadm on a node to list the tokens.
func (b *Tokens) revokeListed(ctx context.Context, n mgmt.Node, wanted func(description string) bool) error {
	out, err := n.Root().Output(ctx, sshexec.Command{Argv: []string{"kubeadm", "token", "list", "-o", "json"}})
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
