package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// MetadataKey is the key of a registry's connection in the metadata of its vnfcResourceInfo: a JSON object with the
// attributes of private_registry_connection_info, without credentials.
const MetadataKey = "private_registry_connection_info"

// ErrNoRegistry is the error of a machine that is no private registry of this driver.
var ErrNoRegistry = errors.New("registry: the VNFC has no metadata " + MetadataKey)

// ConnectionOf returns how machines reach the registry on a VNFC, for the list of registries of a cluster
// (private_registry_connection_info): address, port, scheme, CA. The caller adds username, password and probe image.
// The error is ErrNoRegistry if the VNFC has no registry.
func ConnectionOf(v vnflcm.VnfcResourceInfo) (client.Connection, error) {
	var c client.Connection
	text, found := v.Metadata[MetadataKey]
	if !found {
		return c, ErrNoRegistry
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, fmt.Errorf("registry: metadata %s of VNFC %s: %w", MetadataKey, vnflcm.VNFC{ID: v.ID, Name: v.Name}, err)
	}
	return c, nil
}

// published are the attributes of a client.Connection that are not secret.
type published struct {
	Type          string `json:"connection_type"`
	Server        string `json:"server"`
	CACertificate string `json:"ca_certificate,omitempty"`
	HostsString   string `json:"hosts_string,omitempty"`
}

// publish puts the connection into the instance.
func (s *site) publish(ctx context.Context) error {
	ca, err := s.caCertificate()
	if err != nil {
		return err
	}
	out := published{Type: client.HTTP, Server: s.server(), CACertificate: string(ca)}
	if s.p.TLS != nil {
		out.Type = client.HTTPS
	}
	if s.p.ServerName != "" {
		out.HostsString = s.node.IP.String() + " " + s.p.ServerName
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return s.op.Publish(ctx, s.node.VNFC, map[string]string{MetadataKey: string(text)})
}
