package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// claimLogins decides for which registries this package owns the credentials of a config.json, the kubelet's or the
// Docker client's. It does not own them if another program has stored the same. ours returns whether a recorded claim
// includes them.
func (c *connector) claimLogins(ctx context.Context, name string, ours func(claim) bool) (map[string]bool, error) {
	out := map[string]bool{}
	config, _, err := c.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, w := range c.wanted {
		if !w.login() {
			continue
		}
		entry, err := authOf(config, w.Server)
		switch {
		case err != nil:
			return nil, c.broken(name, err)
		case entry == nil, ours(c.old.Registries[w.Server]):
			out[w.Server] = true
		case entry.credentials() != w.credentials():
			faults = append(faults, fmt.Errorf("registry: %s: %s: %w: %s has other credentials: remove them, or leave that registry out",
				c.SSH.Name(), w.Server, ErrForeign, name))
		}
	}
	return out, errors.Join(faults...)
}

// auth is an entry of a config.json (docker/cli, cli/config/types).
type auth struct {
	Auth     string `json:"auth"`
	Username string `json:"username"`
	Password string `json:"password"`
}

// credentials are "" where they are kept elsewhere, or are a token.
func (a *auth) credentials() string {
	if a.Username != "" {
		return a.Username + ":" + a.Password
	}
	text, _ := base64.StdEncoding.DecodeString(a.Auth)
	return string(text)
}

// authOf finds the entry of a server in a config.json, nil when there is none.
func authOf(config []byte, server string) (*auth, error) {
	auths, err := memberOf(config, "auths")
	if auths == nil || string(auths) == "null" || err != nil {
		return nil, err
	}
	entry, err := memberOf(auths, server)
	if entry == nil || err != nil {
		return nil, err
	}
	a := &auth{}
	if json.Unmarshal(entry, a) != nil {
		return nil, errors.New("has credentials that cannot be read")
	}
	return a, nil
}
