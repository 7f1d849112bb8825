package kubeadm

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// VIMType is the vimType of the entry that a cluster gets in the VIM registry.
const VIMType = "kubernetes"

// VIMID is the id of that entry: it follows from the id of the VNF instance.
func VIMID(instanceID string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("vnfkit/kubernetes/"+instanceID)).String()
}

// vimParam says as whom others reach the cluster. It goes beyond Tacker, whose account is a cluster
// administrator with a token that does not end.
type vimParam struct {
	ClusterRole     string `json:"cluster_role"`     // default cluster-admin; must be a role of the cluster
	Token           string `json:"token"`            // default "secret"
	TokenExpiration int64  `json:"token_expiration"` // seconds; with "request" only
}

// The values of vim_registration.token.
const (
	tokenSecret  = "secret"  // long-lived: it ends when the account is removed
	tokenRequest = "request" // ends by itself
)

// What the API server takes as the life of a token, in seconds (authentication.k8s.io/v1, TokenRequestSpec).
const (
	minTokenLife = 600
	maxTokenLife = 1 << 32
)

func (c *checker) vim(p vimParam) {
	const path = "vim_registration."
	if strings.ContainsAny(p.ClusterRole, "/%\x00") || p.ClusterRole == "." || p.ClusterRole == ".." {
		c.fault(path+"cluster_role", p.ClusterRole, "is no name of a ClusterRole")
	}
	given := ""
	if p.TokenExpiration != 0 {
		given = strconv.FormatInt(p.TokenExpiration, 10)
	}
	switch p.Token {
	case "", tokenSecret:
		if given != "" {
			c.fault(path+"token_expiration", given, `has no effect on a token in a secret: set token to "request"`)
		}
	case tokenRequest:
		if p.TokenExpiration < minTokenLife || p.TokenExpiration > maxTokenLife {
			c.fault(path+"token_expiration", given, `must be from 600 to 4294967296 seconds with token "request"`)
		}
	default:
		c.fault(path+"token", p.Token, `must be "secret" or "request"`)
	}
}

// account is what others reach the cluster as.
func (p vimParam) account() cluster.Account {
	return cluster.Account{Namespace: "kube-system", Name: "vnfkit-vim", ClusterRole: cmp.Or(p.ClusterRole, "cluster-admin"),
		TokenLife: time.Duration(p.TokenExpiration) * time.Second}
}

// registerVIM makes the cluster a VIM that CNFs can be instantiated on, or brings its entry up to date. The
// attribute names are Tacker's.
func (d *deployment) registerVIM(ctx context.Context) error {
	return vnflcm.Do(ctx, d.op, "register-vim", "", func(ctx context.Context) error {
		return within(ctx, d.config.Timeouts.Ready, func(ctx context.Context) error {
			endpoint, err := d.verifiedEndpoint(ctx)
			if err != nil {
				return err
			}
			c, err := d.kube.EnsureAccount(ctx, d.p.VIM.account())
			if err != nil {
				return err
			}
			access, err := vnflcm.NewParams(map[string]string{"auth_url": "https://" + endpoint, "bearer_token": c.Token, "ssl_ca_cert": c.CA})
			if err != nil {
				return err
			}
			extra, err := vnflcm.NewParams(d.vimExtra(c))
			if err != nil {
				return err
			}
			id := VIMID(d.op.InstanceID)
			return d.op.RegisterVIM(ctx, vnflcm.VimConnectionInfo{ID: id, VimID: id, VimType: VIMType, AccessInfo: access, Extra: extra})
		})
	})
}

// verifiedEndpoint is where others reach the API: the floating address, if there is one. A certificate that does
// not name it (a package's script may have made it) leaves the address that the nodes use, since nobody is to be
// registered whom a client cannot verify.
func (d *deployment) verifiedEndpoint(ctx context.Context) (string, error) {
	endpoint := d.endpoint()
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return "", err
	}
	if d.api.floating.IsValid() {
		err := d.kube.CheckName(ctx, d.api.floating.String())
		if err == nil {
			return net.JoinHostPort(d.api.floating.String(), port), nil
		}
		if ctx.Err() != nil {
			return "", err
		}
		d.op.Log.WarnContext(ctx, "the floating address is not registered: clients could not verify who answers there",
			"address", d.api.floating, "registered", endpoint, "error", err)
	}
	return endpoint, d.kube.CheckName(ctx, host)
}

// vimExtra has what is of no use to clients of the API: the name, when the token ends, and how Helm is reached.
func (d *deployment) vimExtra(c cluster.Credentials) map[string]any {
	extra := map[string]any{"vim_name": cmp.Or(d.p.VIMName, "kubernetes_vim_"+d.op.InstanceID)}
	if !c.Expires.IsZero() {
		extra["bearer_token_expires"] = c.Expires.UTC().Format(time.RFC3339)
	}
	if d.p.HelmScript != "" {
		extra["helm_info"] = d.helmInfo()
	}
	return extra
}

// helmInfo is how others log in to the control-plane nodes, where Helm is: one address as text, several as a
// list. The registry keeps it sealed.
func (d *deployment) helmInfo() map[string]any {
	var addrs []string
	for _, n := range d.masters {
		cp, _ := n.CP(d.p.Master.SSHCPName)
		addrs = append(addrs, cp.Address().String())
	}
	info := map[string]any{"masternode_ip": addrs, "masternode_username": d.p.Master.Username, "masternode_password": d.p.Master.Password.Reveal()}
	if len(addrs) == 1 {
		info["masternode_ip"] = addrs[0]
	}
	return info
}

func removeVIM(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Do(ctx, op, "remove-vim", "", func(ctx context.Context) error {
		return op.RemoveVIM(ctx, VIMID(op.InstanceID))
	})
}

// accountTimeout is how long a cluster that is about to go is given to answer.
const accountTimeout = 30 * time.Second

// removeAccount ends the token of the registration. The cluster need not answer any more, nor need there be one.
func (d *Driver) removeAccount(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Do(ctx, op, "remove-account", "", func(ctx context.Context) error {
		dep, err := d.open(op)
		if err == nil {
			defer dep.close()
			err = within(ctx, accountTimeout, func(ctx context.Context) error { return dep.kube.RemoveAccount(ctx, dep.p.VIM.account()) })
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			op.Log.WarnContext(ctx, "the service account of the VIM could not be removed: it ends with the cluster", "error", err)
		}
		return nil
	})
}
