package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// recordFile is where a machine keeps which of its settings are ours. Only root reads it; it holds no secrets.
const recordFile = "/var/lib/vnfkit/registries.json"

// record lists the settings of this package on a machine. It is written before the settings, with old and new ones, so
// that the next call knows everything that an interrupted call may have written.
type record struct {
	Registries map[string]claim `json:"registries"` // by server
	// Reserved are settings that another program makes for this package: see Reserve.
	Reserved map[string]claim `json:"reserved,omitempty"`
	// Reload: daemon.json may have changed without a reload of Docker.
	Reload bool `json:"reload,omitempty"`
}

// claim lists the settings of this package for one registry.
type claim struct {
	Containerd  bool `json:"containerd,omitempty"`  // its directory in containerd's certs.d
	DockerCA    bool `json:"dockerCA,omitempty"`    // the CA in Docker's certs.d
	Insecure    bool `json:"insecure,omitempty"`    // the entry of insecure-registries
	DockerLogin bool `json:"dockerLogin,omitempty"` // the login of root
	Kubelet     bool `json:"kubelet,omitempty"`     // the credentials for the kubelet
}

func (c claim) or(o claim) claim {
	return claim{c.Containerd || o.Containerd, c.DockerCA || o.DockerCA, c.Insecure || o.Insecure, c.DockerLogin || o.DockerLogin, c.Kubelet || o.Kubelet}
}

func (m machine) readRecord(ctx context.Context) (record, error) {
	r := record{}
	data, exists, err := m.Read(ctx, recordFile)
	if !exists || err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("registry: %s: %s cannot be read: %w", m.SSH.Name(), recordFile, err)
	}
	for server := range union(r.Registries, r.Reserved) {
		if !serverForm.MatchString(server) {
			return r, fmt.Errorf("registry: %s: %s names a server %.100q", m.SSH.Name(), recordFile, server)
		}
	}
	return r, nil
}

func (m machine) writeRecord(ctx context.Context, r record) error {
	if len(r.Registries) == 0 && len(r.Reserved) == 0 && !r.Reload {
		return m.Remove(ctx, recordFile)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return m.Write(ctx, recordFile, append(data, '\n'), 0o600)
}

// union is what may be ours until new has taken the place of old.
func union(old, now map[string]claim) map[string]claim {
	out := map[string]claim{}
	for _, claims := range []map[string]claim{old, now} {
		for server, c := range claims {
			out[server] = out[server].or(c)
		}
	}
	return out
}
