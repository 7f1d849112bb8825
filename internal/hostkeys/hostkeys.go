// Package hostkeys keeps the SSH host keys of machines in the state of their VNF instance, for all drivers that log in to one.
package hostkeys

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Of returns a store that keeps host keys in the sealed state of the operation's instance, below "hostkey/". The key that the VIM tells of a
// machine takes precedence.
func Of(op *vnflcm.Operation) sshexec.HostKeyStore { return store{op} }

type store struct{ op *vnflcm.Operation }

func (k store) HostKey(ctx context.Context, id string) (key string, err error) {
	for _, v := range k.op.VNFCs {
		if v.ResourceID == id && v.HostKey != "" {
			return v.HostKey, nil
		}
	}
	err = k.op.State().Get(ctx, "hostkey/"+id, &key)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return "", nil
	}
	return key, err
}

func (k store) PutHostKey(ctx context.Context, id, key string) error {
	return k.op.State().Put(ctx, "hostkey/"+id, key)
}

func (k store) DeleteHostKey(ctx context.Context, id string) error {
	return k.op.State().Delete(ctx, "hostkey/"+id)
}
