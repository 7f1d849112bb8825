package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
)

// kubeletFile is the file in which the kubelet looks for credentials (kubernetes.io, "Configuring nodes to authenticate
// to a private registry"). It has the form of Docker's config.json, and other programs may write it too.
const kubeletFile = "/var/lib/kubelet/config.json"

// writeKubelet brings the credentials of the kubelet up to date.
func (c *connector) writeKubelet(ctx context.Context) error {
	auths := map[string]string{}
	for _, w := range c.wanted {
		if c.now[w.Server].Kubelet {
			auths[w.Server] = w.credentials()
		}
	}
	var gone []string
	for server, had := range c.old.Registries {
		if had.Kubelet && !c.now[server].Kubelet {
			gone = append(gone, server)
		}
	}
	if len(auths) == 0 && len(gone) == 0 {
		return nil
	}
	_, err := c.update(ctx, kubeletFile, 0o600, func(old []byte) ([]byte, error) { return withAuths(old, auths, gone) })
	return err
}

// withAuths sets and removes credentials ("name:password" by server) of a config.json; what else is in it stays byte
// for byte.
func withAuths(config []byte, set map[string]string, remove []string) ([]byte, error) {
	auths, err := memberOf(config, "auths")
	if err != nil {
		return nil, err
	}
	if string(auths) == "null" {
		auths = nil
	}
	for _, server := range remove {
		if auths, err = withoutMember(auths, server); err != nil {
			return nil, err
		}
	}
	for _, server := range slices.Sorted(maps.Keys(set)) {
		entry, err := json.Marshal(map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(set[server]))})
		if err != nil {
			return nil, err
		}
		if auths, err = withMember(auths, server, entry); err != nil {
			return nil, err
		}
	}
	left, _, err := members(orEmpty(auths))
	if err != nil {
		return nil, err
	}
	if len(left) == 0 {
		return withoutMember(config, "auths")
	}
	return withMember(config, "auths", auths)
}
