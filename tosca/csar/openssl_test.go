package csar_test

import (
	"archive/zip"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// vendor signs with openssl, as most vendors do.
type vendor struct {
	dir   string
	roots *x509.CertPool
}

// newVendor creates a root and the certificate of a vendor with RSA keys.
func newVendor(t *testing.T) *vendor {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("no openssl on this machine")
	}
	v := &vendor{dir: t.TempDir(), roots: x509.NewCertPool()}
	v.run(t, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=root", "-keyout", "root.key", "-out", "root.pem")
	v.run(t, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=vendor", "-keyout", "vendor.key", "-out", "vendor.csr")
	v.write(t, "ext", []byte("keyUsage=digitalSignature\nsubjectKeyIdentifier=hash\n"))
	v.run(t, "x509", "-req", "-in", "vendor.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-days", "2", "-extfile", "ext", "-out", "vendor.pem")
	block, _ := pem.Decode(v.read(t, "root.pem"))
	root, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	v.roots.AddCert(root)
	return v
}

func (v *vendor) run(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "openssl", args...)
	command.Dir = v.dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("openssl %v: %v\n%s", args, err, out)
	}
}

func (v *vendor) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(v.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (v *vendor) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(v.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func (v *vendor) sign(t *testing.T, content []byte, options ...string) string {
	t.Helper()
	v.write(t, "content", content)
	v.run(t, append([]string{"cms", "-sign", "-signer", "vendor.pem", "-inkey", "vendor.key", "-in", "content", "-outform", "PEM", "-out", "cms"}, options...)...)
	return string(v.read(t, "cms"))
}

// TestOpenSSL checks signatures of "openssl cms -sign" with the options that vendors use or forget.
func TestOpenSSL(t *testing.T) {
	v := newVendor(t)
	required := csar.Integrity{Policy: csar.Require, Roots: v.roots}
	for name, options := range map[string][]string{
		"binary":             {"-binary"},
		"text":               nil,
		"key identifier":     {"-binary", "-keyid"},
		"RSA-PSS":            {"-binary", "-keyopt", "rsa_padding_mode:pss"},
		"SHA-512":            {"-binary", "-md", "sha512"},
		"without attributes": {"-binary", "-noattr"},
		"without smimecap":   {"-binary", "-nosmimecap", "-nocerts", "-certfile", "vendor.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			files := contents()
			text := manifestOf(files)
			files["vnf.mf"] = text + v.sign(t, []byte(text), options...)
			if got := outcome(t, mapFS(files), required); got != nil {
				t.Errorf("an intact package is refused: %v", got)
			}
			files["vnf.mf"] = "# changed\n" + files["vnf.mf"]
			if diff := cmp.Diff(only(problem.BadSignature), outcome(t, mapFS(files), required)); diff != "" {
				t.Errorf("changed manifest (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("CSAR", func(t *testing.T) {
		inner := zipWith(t, zip.Deflate, map[string][]byte{"vnfd.yaml": []byte("x")})
		files := map[string]string{"p.csar": string(inner), "p.cms": v.sign(t, inner, "-binary", "-nocerts"), "p.cert": string(v.read(t, "vendor.pem"))}
		if got := outcome(t, mapFS(files), required); got != nil {
			t.Errorf("an intact package is refused: %v", got)
		}
		files["p.csar"] = string(zipWith(t, zip.Deflate, map[string][]byte{"vnfd.yaml": []byte("y")}))
		if diff := cmp.Diff(only(problem.BadSignature), outcome(t, mapFS(files), required)); diff != "" {
			t.Errorf("changed CSAR (-want +got):\n%s", diff)
		}
	})
}
