// Package hostkeys keeps the SSH host keys of machines in the state of their VNF instance, for all drivers that log in to one.
package hostkeys

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Of returns a store of host keys in the sealed state of the operation's instance, below "hostkey/". A key that the VIM
// reports for a machine takes precedence. PutHostKey stores the first key that a machine shows, and logs a warning that
// names the machine.
func Of(op *vnflcm.Operation) sshexec.HostKeyStore { return store{op: op} }

// Keep stores the key of a machine, from a trustworthy source, in the store of Of.
func Keep(ctx context.Context, op *vnflcm.Operation, id, key string) error {
	return store{op: op, told: true}.PutHostKey(ctx, id, key)
}

// Policy trusts the stored key of a machine. A machine without one must present one of the listed keys, which are lines
// in authorized_keys form and take precedence over the key that the VIM reports. Without listed keys the first key that
// the machine shows is trusted.
func Policy(op *vnflcm.Operation, listed []string) (sshexec.HostKeyPolicy, error) {
	if len(listed) == 0 {
		return sshexec.AcceptNewHostKeys(Of(op)), nil
	}
	return sshexec.AcceptListedHostKeys(store{op: op, told: true}, listed...)
}

type store struct {
	op   *vnflcm.Operation
	told bool // the keys come from a trustworthy source other than the VIM
}

func (k store) HostKey(ctx context.Context, id string) (key string, err error) {
	if v := k.vnfc(id); v.HostKey != "" && !k.told {
		return v.HostKey, nil
	}
	err = k.op.State().Get(ctx, "hostkey/"+id, &key)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return "", nil
	}
	return key, err
}

func (k store) PutHostKey(ctx context.Context, id, key string) error {
	err := k.op.State().Put(ctx, "hostkey/"+id, key)
	if err == nil && !k.told {
		k.op.Log.WarnContext(ctx, "the host key of a machine is trusted because it is the first one seen: neither the request nor the VIM states the key",
			"machine", id, "name", k.vnfc(id).Label(), "host_key", key)
	}
	return err
}

func (k store) DeleteHostKey(ctx context.Context, id string) error {
	return k.op.State().Delete(ctx, "hostkey/"+id)
}

// vnfc returns the VNFC of the machine, the zero VNFC for another machine, such as a jump host.
func (k store) vnfc(id string) vnflcm.VNFC {
	for _, v := range k.op.VNFCs {
		if v.ResourceID == id {
			return v
		}
	}
	return vnflcm.VNFC{}
}
