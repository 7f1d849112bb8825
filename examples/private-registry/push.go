package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/vnfkit/vnfkit/mgmt/registry/client"
)

// push puts a small image into the registry, as "docker push" on a machine beside it would.
func (v *vnfm) push(ctx context.Context, c client.Connection) error {
	at, err := name.ParseReference(c.Server + "/" + image)
	if err != nil {
		return err
	}
	made, err := random.Image(1<<10, 1)
	if err != nil {
		return err
	}
	address, _, _ := strings.Cut(c.HostsString, " ") // what /etc/hosts of the nodes will say
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, server string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(server)
			if err != nil {
				return nil, err
			}
			return v.world.Dial(ctx, network, net.JoinHostPort(address, port))
		},
	}
	if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(c.CACertificate)) {
		return fmt.Errorf("the registry %s names no CA", c.Server)
	}
	return remote.Write(at, made, remote.WithContext(ctx), remote.WithTransport(transport),
		remote.WithAuth(&authn.Basic{Username: c.Username, Password: c.Password.Reveal()}))
}
