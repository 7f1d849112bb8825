package expiry

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// inspection bounds how long the certificates of one node may take to read.
const inspection = 30 * time.Second

// Files returns the certificates in the files that names returns for each node, and the client certificate of its kubelet as
// "kubelet". Relative names are below /etc/kubernetes. Missing files, such as those of etcd where etcd is external, and files without a
// certificate are left out.
//
// The error names the nodes without an answer. Files logs in only to machines whose host key an earlier operation has recorded.
func Files(ctx context.Context, op *vnflcm.Operation, parallel int, nodes []mgmt.Node, names func(mgmt.Node) []string) (out []vnflcm.Certificate, err error) {
	var found plan.Result[[]vnflcm.Certificate]
	err = vnflcm.Each(ctx, parallel, nodes, func(ctx context.Context, n mgmt.Node) error {
		key, err := mgmt.HostKey(ctx, op, n.ResourceID)
		if err == nil && key == "" {
			err = errors.New("no operation has logged in to the machine yet")
		}
		if err == nil {
			err = mgmt.Within(ctx, inspection, func(ctx context.Context) error {
				list, err := inspect(ctx, n, names(n))
				found.Set(n.ID, list)
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("the certificates of %s cannot be read: %w", n.Name, err)
		}
		return nil
	})
	for _, n := range nodes {
		out = append(out, found.Of(n.ID)...)
	}
	return out, err
}

// kubeletFile has the client certificate and the key of a kubelet that renews its certificate.
const kubeletFile = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// inspect reads the certificates of one node, sorted by name.
func inspect(ctx context.Context, n mgmt.Node, names []string) (out []vnflcm.Certificate, err error) {
	files := map[string]string{"kubelet": kubeletFile}
	for _, name := range names {
		if files[name] = name; !path.IsAbs(name) {
			files[name] = "/etc/kubernetes/" + name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, _, err := n.Root().Read(ctx, files[name])
		if err != nil {
			return out, err
		}
		if strings.HasSuffix(name, ".conf") {
			config, _ := kubeaccess.ReadNodeConfig(text)
			text = config.Certificate
		}
		if cert := parse(text); cert != nil {
			out = append(out, described(vnflcm.Certificate{On: n.ID, Machine: n.Label(), Name: name}, cert))
		}
	}
	return out, nil
}

// described returns c with what a certificate says of itself.
func described(c vnflcm.Certificate, cert *x509.Certificate) vnflcm.Certificate {
	c.NotBefore, c.NotAfter, c.IsCA = cert.NotBefore, cert.NotAfter, cert.IsCA
	return c
}

// parse returns the first certificate of a PEM text, nil if it has none.
func parse(text []byte) *x509.Certificate {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil
		}
		return cert
	}
	return nil
}

// authority returns the first certificate of a PEM text, PEM; nil if the text has none or the certificate cannot sign others.
func authority(text []byte) []byte {
	cert := parse(text)
	if cert == nil || !cert.IsCA {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

// etcdCAKey is where the state of an instance has the authority of etcd, PEM.
const etcdCAKey = "etcd-ca"

// KeepEtcdCA stores the authority of etcd, for Served, from the first of these files that begins with an authority on a node. It stores
// nothing else of the file, which may have a key, too. If no node answers or has such a file, what is stored is deleted: it may be of an
// earlier cluster. The result is the same if it is called again.
func KeepEtcdCA(ctx context.Context, op *vnflcm.Operation, nodes []mgmt.Node, files ...string) error {
	var text []byte
	var faults []error
	for _, n := range nodes {
		for _, name := range files {
			content, exists, err := n.Root().Read(ctx, name)
			if faults = append(faults, err); !exists {
				continue
			}
			if text = authority(content); text != nil {
				break
			}
		}
		if text != nil {
			return op.State().Put(ctx, etcdCAKey, string(text))
		}
	}
	if err := errors.Join(faults...); err != nil {
		op.Log.WarnContext(ctx, "the authority of etcd cannot be read", "error", err)
	}
	return op.State().Delete(ctx, etcdCAKey)
}
