// Package vimentry creates, renews and removes the entry of a cluster in the VIM registry.
package vimentry

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/internal/jumphost"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// VIMType is the vimType of a cluster's entry in the VIM registry.
const VIMType = "kubernetes"

// VIMID returns the id of the cluster's entry in the VIM registry. It depends only on the id of the VNF instance.
func VIMID(instanceID string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("vnfkit/kubernetes/"+instanceID)).String()
}

// VIMParam is the parameter vim_registration: the role and the token of the account in the cluster's entry. Tacker has no
// such parameter; its account is a cluster administrator with a token that never expires.
type VIMParam struct {
	ClusterRole     string `json:"cluster_role"`     // default cluster-admin; the role must exist in the cluster
	Token           string `json:"token"`            // default "secret"
	TokenExpiration int64  `json:"token_expiration"` // in seconds; with "request" only
}

// The values of the parameter vim_registration.token.
const (
	tokenSecret  = "secret"  // valid until the account is removed
	tokenRequest = "request" // expires after token_expiration
)

// Bounds of a token's life in seconds that the API server accepts (authentication.k8s.io/v1, TokenRequestSpec).
const (
	minTokenLife = 600
	maxTokenLife = 1 << 32
)

// Check checks the parameter vim_registration.
func (p VIMParam) Check(c *clusterparam.Checker) {
	const path = "vim_registration."
	if strings.ContainsAny(p.ClusterRole, "/%\x00") || p.ClusterRole == "." || p.ClusterRole == ".." {
		c.Fault(path+"cluster_role", p.ClusterRole, "is no name of a ClusterRole")
	}
	given := ""
	if p.TokenExpiration != 0 {
		given = strconv.FormatInt(p.TokenExpiration, 10)
	}
	switch p.Token {
	case "", tokenSecret:
		if given != "" {
			c.Fault(path+"token_expiration", given, `has no effect on a token in a secret: set token to "request"`)
		}
	case tokenRequest:
		if p.TokenExpiration < minTokenLife || p.TokenExpiration > maxTokenLife {
			c.Fault(path+"token_expiration", given, `must be from 600 to 4294967296 seconds with token "request"`)
		}
	default:
		c.Fault(path+"token", p.Token, `must be "secret" or "request"`)
	}
}

// account returns the service account for clients of the cluster.
func (p VIMParam) account() cluster.Account {
	return cluster.Account{Namespace: "kube-system", Name: "vnfkit-vim", ClusterRole: cmp.Or(p.ClusterRole, "cluster-admin"),
		TokenLife: time.Duration(p.TokenExpiration) * time.Second}
}

// Registration has the values of a cluster's entry in the VIM registry.
type Registration struct {
	VIMParam
	Name string // default: kubernetes_vim_<instance id>
	// Endpoint returns host:port of the API for clients. The API's certificate must name the host.
	Endpoint func(context.Context) (string, error)
	// Extra returns further attributes for the field extra of the entry; may be nil.
	Extra func(context.Context) (map[string]any, error)
}

// RegisterVIM creates or updates the cluster's entry in the VIM registry, so that CNFs can be instantiated on the cluster.
// It is the step "register-vim". The attributes have Tacker's names. The entry always has the CA that verifies the API,
// which Tacker leaves out for clusters of kubespray.
func RegisterVIM(ctx context.Context, op *vnflcm.Operation, kube *clusternodes.Cluster, limit time.Duration, r Registration) error {
	return vnflcm.Do(ctx, op, "register-vim", "", func(ctx context.Context) error {
		return mgmt.Within(ctx, limit, func(ctx context.Context) error {
			endpoint, err := r.Endpoint(ctx)
			if err != nil {
				return err
			}
			c, err := kube.EnsureAccount(ctx, r.account())
			if err != nil {
				return err
			}
			access, err := vnflcm.NewParams(map[string]string{"auth_url": "https://" + endpoint})
			if err != nil {
				return err
			}
			extra, err := r.extra(ctx, op)
			if err != nil {
				return err
			}
			id := VIMID(op.InstanceID)
			info, validity, err := withCredentials(vnflcm.VimConnectionInfo{ID: id, VimID: id, VimType: VIMType, AccessInfo: access, Extra: extra}, c)
			if err != nil {
				return err
			}
			return op.RegisterVIMUntil(ctx, info, validity)
		})
	})
}

// withCredentials adds the credentials of the account to an entry, and returns the entry and how long the credentials are
// valid.
func withCredentials(info vnflcm.VimConnectionInfo, c cluster.Credentials) (vnflcm.VimConnectionInfo, vnflcm.Validity, error) {
	access, err1 := vnflcm.NewParams(map[string]string{"bearer_token": c.Token, "ssl_ca_cert": c.CA})
	ends := map[string]string{}
	if !c.Expires.IsZero() {
		ends["bearer_token_expires"] = c.Expires.UTC().Format(time.RFC3339)
	}
	extra, err2 := vnflcm.NewParams(ends)
	var err3, err4 error
	info.AccessInfo, err3 = info.AccessInfo.Merge(access)
	info.Extra, err4 = info.Extra.Merge(extra)
	return info, vnflcm.Validity{Until: c.Expires, For: c.Life}, errors.Join(err1, err2, err3, err4)
}

// RenewVIM requests a new token for the account that RegisterVIM has created. It uses only control-plane nodes whose host
// key an earlier operation has recorded.
func RenewVIM(ctx context.Context, op *vnflcm.Operation, controlPlane []mgmt.Node, vim vnflcm.VimConnectionInfo, was vnflcm.Validity) (vnflcm.VimConnectionInfo, vnflcm.Validity, error) {
	known, err := clusternodes.Known(ctx, op, controlPlane)
	if err != nil {
		return vim, was, err
	}
	kube := cluster.New(known)
	defer kube.Close()
	c, err := kube.RequestToken(ctx, VIMParam{TokenExpiration: max(minTokenLife, int64(was.For/time.Second))}.account())
	if err != nil {
		return vim, was, err
	}
	return withCredentials(vim, c)
}

// extra returns the name, the jump host of the VIM of the machines, and the attributes of r.Extra.
func (r Registration) extra(ctx context.Context, op *vnflcm.Operation) (vnflcm.Params, error) {
	extra := map[string]any{}
	if r.Extra != nil {
		var err error
		if extra, err = r.Extra(ctx); err != nil {
			return vnflcm.Params{}, err
		}
	}
	via, err := jumphost.Of(op.VIM)
	if err != nil {
		return vnflcm.Params{}, err
	}
	if via != nil {
		extra["jump_host"] = via
	}
	extra["vim_name"] = cmp.Or(r.Name, "kubernetes_vim_"+op.InstanceID)
	return vnflcm.NewParams(extra)
}

// RemoveVIM removes the entry from the registry. It is the step "remove-vim".
func RemoveVIM(ctx context.Context, op *vnflcm.Operation) error {
	return vnflcm.Do(ctx, op, "remove-vim", "", func(ctx context.Context) error {
		return op.RemoveVIM(ctx, VIMID(op.InstanceID))
	})
}

// accountTimeout bounds how long a cluster that will be removed may take to answer.
const accountTimeout = 30 * time.Second

// RemoveAccount deletes the service account of the entry, and its token with it. It is the step "remove-account". open
// connects to the cluster. If there is no cluster or it does not answer, RemoveAccount logs a warning and succeeds.
func RemoveAccount(ctx context.Context, op *vnflcm.Operation, open func(context.Context) (*clusternodes.Cluster, VIMParam, error)) error {
	return vnflcm.Do(ctx, op, "remove-account", "", func(ctx context.Context) error {
		kube, param, err := open(ctx)
		if err == nil {
			defer kube.Close()
			err = mgmt.Within(ctx, accountTimeout, func(ctx context.Context) error { return kube.RemoveAccount(ctx, param.account()) })
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
