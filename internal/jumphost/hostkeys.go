package jumphost

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// HostKeys keeps host keys in the sealed state of the operation's instance, below "hostkey/". The key that the VIM tells of a
// machine takes precedence.
func HostKeys(op *vnflcm.Operation) sshexec.HostKeyStore { return hostKeys{op} }

type hostKeys struct{ op *vnflcm.Operation }

func (k hostKeys) HostKey(ctx context.Context, id string) (key string, err error) {
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

func (k hostKeys) PutHostKey(ctx context.Context, id, key string) error {
	return k.op.State().Put(ctx, "hostkey/"+id, key)
}

func (k hostKeys) DeleteHostKey(ctx context.Context, id string) error {
	return k.op.State().Delete(ctx, "hostkey/"+id)
}
