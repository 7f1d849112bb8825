package registry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// tlsParam is the certificate of the registry: without a CertificatePath one of ours.
type tlsParam struct {
	CertificatePath string `json:"certificate_path"` // PEM, the certificate of the registry first
	KeyPath         string `json:"key_path"`         // PEM
	CAPath          string `json:"ca_path"`          // PEM certificates that clients have to trust; default: the ones that they trust already
}

// material is the TLS material of the package.
type material struct{ certificate, key, ca []byte }

// largestPEM bounds each of its files.
const largestPEM = 1 << 20

// read returns the TLS files of the package. The error is one *vnflcm.ParamError or more, with the names of the
// attributes.
func (p *tlsParam) read(open linux.Open) (m material, err error) {
	var faults []error
	for _, file := range []struct {
		name, path string
		into       *[]byte
		optional   bool
	}{{"certificate_path", p.CertificatePath, &m.certificate, false}, {"key_path", p.KeyPath, &m.key, false}, {"ca_path", p.CAPath, &m.ca, true}} {
		if file.path == "" {
			if !file.optional {
				faults = append(faults, &vnflcm.ParamError{Path: file.name, Reason: "is required: certificate_path and key_path go together"})
			}
			continue
		}
		content, err := readFile(open, file.path)
		if err != nil {
			faults = append(faults, &vnflcm.ParamError{Path: file.name, Value: file.path, Reason: err.Error()})
		}
		*file.into = content
	}
	return m, errors.Join(faults...)
}

func readFile(open linux.Open, path string) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, errors.New(fileFault(err))
	}
	defer f.Close()
	return bounded.Read(f, largestPEM)
}

// tls checks that clients will accept the certificate of the package.
func (c *checker) tls(p *installParam) {
	t := p.TLS
	if t == nil {
		return
	}
	if t.CertificatePath == "" && t.KeyPath == "" {
		if t.CAPath != "" {
			c.fault("tls.ca_path", t.CAPath, "has no effect on a certificate that is made for the registry: its CA is made too")
		}
		return
	}
	m, err := t.read(mgmt.Artifacts(c.op))
	if err != nil {
		c.faults = append(c.faults, vnflcm.AtPath("tls", err))
		return
	}
	pair, err := tls.X509KeyPair(m.certificate, m.key)
	if err != nil {
		c.fault("tls.certificate_path", t.CertificatePath, "does not match key_path: "+err.Error())
		return
	}
	c.chain(p, pair, m.ca)
}

// chain checks that clients who trust the CA trust the certificate.
func (c *checker) chain(p *installParam, pair tls.Certificate, ca []byte) {
	options := x509.VerifyOptions{Intermediates: x509.NewCertPool(), DNSName: p.ServerName}
	for _, der := range pair.Certificate[1:] {
		if cert, err := x509.ParseCertificate(der); err == nil {
			options.Intermediates.AddCert(cert)
		}
	}
	if len(ca) > 0 {
		options.Roots = x509.NewCertPool()
		if !options.Roots.AppendCertsFromPEM(ca) {
			c.fault("tls.ca_path", p.TLS.CAPath, "must hold CA certificates in PEM form (-----BEGIN CERTIFICATE-----)")
			return
		}
	}
	_, err := pair.Leaf.Verify(options)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case err == nil:
	case unknown && len(ca) == 0:
		c.fault("tls.certificate_path", p.TLS.CertificatePath, "is signed by no CA that is trusted here: ca_path must name the one that signed it")
	case time.Now().After(pair.Leaf.NotAfter):
		c.fault("tls.certificate_path", p.TLS.CertificatePath, "has expired on "+pair.Leaf.NotAfter.UTC().Format(time.DateOnly))
	default:
		c.fault("tls.certificate_path", p.TLS.CertificatePath, err.Error())
	}
}
