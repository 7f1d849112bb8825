package cms_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/tosca/internal/cms"
)

// openssl signs content with "openssl cms -sign", as vendors do.
func openssl(t *testing.T, content []byte, by []*holder, args ...string) []byte {
	t.Helper()
	program, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("no openssl on this machine")
	}
	args = append([]string{"cms", "-sign"}, args...)
	for i, h := range by {
		name := filepath.Join(t.TempDir(), h.certificate.Subject.CommonName)
		write(t, name+".cert", "CERTIFICATE", h.certificate.Raw)
		write(t, name+".key", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(h.key)))
		// openssl applies the options of a key to the signer before them. Those of the last signer may come later.
		signer := []string{"-signer", name + ".cert", "-inkey", name + ".key"}
		args = slices.Insert(args, 2+4*i, signer...)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(content), &stderr
	out, err := cmd.Output()
	if _, edwards := by[0].key.(ed25519.PrivateKey); edwards && err != nil {
		t.Skipf("this openssl cannot sign CMS with Ed25519: %s", &stderr)
	}
	if err != nil {
		t.Fatalf("openssl %v: %v\n%s", args, err, &stderr)
	}
	return out
}

func write(t *testing.T, name, label string, der []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenSSL(t *testing.T) {
	root := certify(t, "root", ecdsaKey(), nil, authority)
	whole := []string{"-outform PEM", "-outform DER"}
	streamed := []string{"-outform PEM", "-outform DER", "-outform PEM -stream", "-outform DER -stream"}
	for name, tt := range map[string]struct {
		key   crypto.Signer
		args  string
		forms []string
	}{
		"RSA":           {rsaKey(), "-md sha256", streamed},
		"PSS":           {rsaKey(), "-md sha384 -keyopt rsa_padding_mode:pss", whole}, // openssl 3.0 cannot stream it
		"PSS with salt": {rsaKey(), "-md sha512 -keyopt rsa_padding_mode:pss -keyopt rsa_pss_saltlen:32", whole},
		"P-256":         {ecdsaKey(), "-md sha256", streamed},
		"P-384":         {ecdsa384(), "-md sha384", streamed},
		"P-521":         {ecdsa521(), "-md sha512", streamed},
	} {
		vendor := certify(t, "vendor", tt.key, root)
		for _, args := range sampled(combinations([][]string{
			{tt.args + " -binary"}, tt.forms, {"", "-keyid"}, {"", "-noattr"}, {"", "-nodetach"}, {"", "-nocerts"},
		})) {
			t.Run(name+" "+strings.Join(args, " "), func(t *testing.T) {
				accepts(t, openssl(t, manifest, []*holder{vendor}, args...), vendor, root)
			})
		}
	}
}

// TestOpenSSLEd25519 needs a newer openssl than 3.0.
func TestOpenSSLEd25519(t *testing.T) {
	root := certify(t, "root", ecdsaKey(), nil, authority)
	vendor := certify(t, "vendor", edwardKey(), root)
	for _, args := range combinations([][]string{
		{"-md sha512 -binary"}, {"", "-keyid"}, {"-outform PEM", "-outform DER -stream"}, {"", "-nodetach"},
	}) {
		accepts(t, openssl(t, manifest, []*holder{vendor}, args...), vendor, root)
	}
}

// accepts checks that the signature is valid for the manifest and for no other content. It passes the certificate of vendor,
// because the CMS may not contain it.
func accepts(t *testing.T, signature []byte, vendor, root *holder) {
	t.Helper()
	o := trusting(root)
	o.Certificates = []*x509.Certificate{vendor.certificate}
	wantReason(t, verify(t, signature, manifest, o)[0], nil)
	got := verify(t, signature, append([]byte("x"), manifest...), o)[0]
	if got.Valid || !errors.Is(got.Reason, cms.ErrDigest) && !errors.Is(got.Reason, cms.ErrSignature) {
		t.Errorf("other content: valid %v, reason %v", got.Valid, got.Reason)
	}
}

// combinations returns all combinations of one choice from each list, split into arguments.
func combinations(of [][]string) [][]string {
	out := [][]string{nil}
	for _, choices := range of {
		var longer [][]string
		for _, begun := range out {
			for _, choice := range choices {
				longer = append(longer, slices.Concat(begun, strings.Fields(choice)))
			}
		}
		out = longer
	}
	return out
}

// sampled returns every fifth element unless VNFKIT_FULL is set. The sample still contains each value of each option, because
// the options have two or four values.
func sampled(all [][]string) [][]string {
	if fulltest.Enabled() {
		return all
	}
	var some [][]string
	for i := 0; i < len(all); i += 5 {
		some = append(some, all[i])
	}
	return some
}

// TestOpenSSLText checks signatures made without -binary: openssl then signs lines that end in CRLF, whatever line ends the file
// has.
func TestOpenSSLText(t *testing.T) {
	vendor := certify(t, "vendor", rsaKey(), nil)
	canonical := bytes.ReplaceAll(manifest, []byte("\n"), []byte("\r\n"))
	for name, tt := range map[string]struct {
		args   []string
		signed []byte
		want   error // expected reason for the unchanged file
	}{
		"lines":          {nil, canonical, cms.ErrDigest},
		"without attrs":  {[]string{"-noattr"}, canonical, cms.ErrSignature},
		"as MIME":        {[]string{"-text"}, append([]byte("Content-Type: text/plain\r\n\r\n"), canonical...), cms.ErrDigest},
		"bytes of a zip": {[]string{"-binary"}, manifest, nil},
	} {
		t.Run(name, func(t *testing.T) {
			signature := openssl(t, manifest, []*holder{vendor}, append([]string{"-outform", "PEM", "-md", "sha256"}, tt.args...)...)
			wantReason(t, verify(t, signature, tt.signed, trusting(vendor))[0], nil)
			wantReason(t, verify(t, signature, manifest, trusting(vendor))[0], tt.want)
		})
	}
}

func TestOpenSSLSigners(t *testing.T) {
	vendor, auditor := certify(t, "vendor", rsaKey(), nil), certify(t, "auditor", ecdsaKey(), nil)
	signature := openssl(t, manifest, []*holder{vendor, auditor}, "-binary", "-outform", "PEM", "-md", "sha384")
	got := verify(t, signature, manifest, trusting(auditor))
	reasons := map[string]bool{}
	for _, s := range got {
		reasons[s.Certificate.Subject.CommonName] = s.Trusted
		if !s.Valid {
			t.Errorf("%s: %v", s.ID, s.Reason)
		}
	}
	if diff := cmp.Diff(map[string]bool{"vendor": false, "auditor": true}, reasons); diff != "" {
		t.Errorf("trusted (-want +got):\n%s", diff)
	}
}

func TestOpenSSLChain(t *testing.T) {
	root := certify(t, "root", rsaKey(), nil, authority)
	middle := certify(t, "middle", ecdsaKey(), root, authority)
	vendor := certify(t, "vendor", rsaKey(), middle)
	name := filepath.Join(t.TempDir(), "middle.cert")
	write(t, name, "CERTIFICATE", middle.certificate.Raw)
	with := openssl(t, manifest, []*holder{vendor}, "-binary", "-outform", "DER", "-certfile", name)
	without := openssl(t, manifest, []*holder{vendor}, "-binary", "-outform", "DER")
	wantReason(t, verify(t, with, manifest, trusting(root))[0], nil)
	wantReason(t, verify(t, without, manifest, trusting(root))[0], cms.ErrUntrusted)

	o := trusting(root)
	o.Now = now.Add(2 * halfYear)
	wantReason(t, verify(t, with, manifest, o)[0], cms.ErrExpired)
}

func TestOpenSSLWeak(t *testing.T) {
	vendor := certify(t, "vendor", rsaKey(), nil)
	for _, digest := range []string{"sha1", "md5"} {
		for _, args := range [][]string{nil, {"-noattr"}} {
			signature := openssl(t, manifest, []*holder{vendor}, append([]string{"-binary", "-outform", "PEM", "-md", digest}, args...)...)
			s, err := cms.Parse(signature)
			if err != nil {
				t.Fatal(err)
			}
			all := map[crypto.Hash][]byte{crypto.SHA1: sum(crypto.SHA1, manifest), crypto.MD5: sum(crypto.MD5, manifest)}
			wantReason(t, s.Verify(all, trusting(vendor))[0], cms.ErrAlgorithm)
		}
	}
}
