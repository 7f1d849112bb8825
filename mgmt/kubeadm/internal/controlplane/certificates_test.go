package controlplane_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
)

// TestCheckCertificates: a renewal must make other certificates, with keys of the same type, that do not end earlier.
func TestCheckCertificates(t *testing.T) {
	t.Parallel()
	ca, err := pki.NewCA("kubernetes", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	type issuer = func(*pki.Pair, *x509.Certificate, time.Time) (pki.Pair, error)
	issued := func(issue issuer, life time.Duration) *x509.Certificate {
		pair, err := issue(&ca, &x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, NotAfter: time.Now().Add(life)}, time.Now())
		cert, errParse := pki.Parse([]byte(pair.Cert))
		if err := errors.Join(err, errParse); err != nil {
			t.Fatal(err)
		}
		return cert
	}
	before := issued(pki.Issue, time.Hour)
	for name, c := range map[string]struct {
		before, after *x509.Certificate
		shorter       bool
		want          string
	}{
		"renewed":                 {before, issued(pki.Issue, 2*time.Hour), false, ""},
		"unchanged":               {before, before, false, "pki/apiserver.crt was not renewed"},
		"another type of key":     {before, issued(pki.IssueRSA, 2*time.Hour), false, "has a key of type RSA-2048 now, and had ECDSA-P-256"},
		"ends earlier":            {before, issued(pki.Issue, time.Minute), false, "ends on "},
		"ends earlier, as wanted": {before, issued(pki.Issue, time.Minute), true, ""},
		"unreadable":              {before, nil, false, "cannot be read after the renewal"},
		"unreadable before":       {nil, issued(pki.Issue, time.Minute), false, ""},
	} {
		const file = "pki/apiserver.crt"
		err := controlplane.Certificates{file: c.after}.Check(controlplane.Certificates{file: c.before}, c.shorter)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
