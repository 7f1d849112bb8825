package csar_test

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// outcome opens and verifies a package, and returns the codes of the faults that refuse it.
func outcome(t *testing.T, fsys fs.FS, i csar.Integrity) []problem.Code {
	t.Helper()
	a, err := csar.OpenFS(t.Context(), fsys, csar.Options{Integrity: i})
	if err != nil {
		return codes(t, err)
	}
	defer a.Close()
	err = a.Verify(t.Context())
	if _, digestErr := a.Digest(t.Context()); i.Policy != csar.Off && fmt.Sprint(err) != fmt.Sprint(digestErr) {
		t.Errorf("Verify says %v, Digest %v", err, digestErr)
	}
	return codes(t, err)
}

// only returns a list with one code.
func only(c problem.Code) []problem.Code { return []problem.Code{c} }

func TestSignedManifest(t *testing.T) {
	now := time.Now()
	root := certify(t, "root", nil, now.Add(time.Hour))
	vendor := certify(t, "vendor", root, now.Add(time.Hour))
	old := certify(t, "old", root, now.Add(-time.Hour))
	stranger := certify(t, "stranger", certify(t, "other root", nil, now.Add(time.Hour)), now.Add(time.Hour))

	signedBy := func(h *holder, withCertificate bool) func(map[string]string) {
		return func(f map[string]string) {
			text := manifestOf(f)
			f["vnf.mf"] = text + h.sign(t, []byte(text), withCertificate)
		}
	}
	sign := signedBy(vendor, true)
	then := func(steps ...func(map[string]string)) func(map[string]string) {
		return func(f map[string]string) {
			for _, s := range steps {
				s(f)
			}
		}
	}
	set := func(name, content string) func(map[string]string) {
		return func(f map[string]string) { f[name] = content }
	}
	replace := func(name, old, by string) func(map[string]string) {
		return func(f map[string]string) {
			if !strings.Contains(f[name], old) {
				t.Errorf("%s has no %q", name, old)
			}
			f[name] = strings.ReplaceAll(f[name], old, by)
		}
	}
	strip := func(f map[string]string) { f["vnf.mf"], _, _ = strings.Cut(f["vnf.mf"], "-----BEGIN") }
	digest := func(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

	tests := []struct {
		name            string
		make            func(map[string]string)
		verify, require []problem.Code
	}{
		{"good", sign, nil, nil},
		{"signed with CRLF", func(f map[string]string) {
			text := manifestOf(f)
			f["vnf.mf"] = text + vendor.sign(t, []byte(strings.ReplaceAll(text, "\n", "\r\n")), true)
		}, nil, nil},
		{"signed without the last line end", func(f map[string]string) {
			text := manifestOf(f)
			f["vnf.mf"] = text + vendor.sign(t, []byte(strings.TrimSuffix(text, "\n")), true)
		}, nil, nil},
		{"certificate beside the manifest", then(signedBy(vendor, false), set("vnf.cert", vendor.pem())), nil, nil},
		{"certificate named by TOSCA.meta", then(
			set("TOSCA-Metadata/TOSCA.meta", signedMeta+"ETSI-Entry-Certificate: c/x.crt\n"),
			signedBy(vendor, false), set("c/x.crt", vendor.pem())), nil, nil},
		{"certificate missing", signedBy(vendor, false), only(problem.NoCertificate), only(problem.NoCertificate)},
		{"certificate file is none", then(signedBy(vendor, false), set("vnf.cert", "x")),
			[]problem.Code{problem.BadCertificate, problem.NoCertificate}, []problem.Code{problem.BadCertificate, problem.NoCertificate}},
		{"member tampered with", then(sign, set("Files/image.img", "evil")), only(problem.HashMismatch), only(problem.HashMismatch)},
		{"manifest tampered with", then(sign, set("Files/image.img", "evil"), func(f map[string]string) {
			replace("vnf.mf", digest(contents()["Files/image.img"]), digest("evil"))(f)
		}), only(problem.BadSignature), only(problem.BadSignature)},
		{"metadata tampered with", then(sign, replace("vnf.mf", "vnf_provider_id: me", "vnf_provider_id: you")), only(problem.BadSignature), only(problem.BadSignature)},
		{"expired", signedBy(old, true), only(problem.Expired), only(problem.Expired)},
		{"foreign root", signedBy(stranger, true), only(problem.Untrusted), only(problem.Untrusted)},
		{"unlisted member", then(sign, set("Scripts/more.sh", "rm")), only(problem.Unlisted), only(problem.Unlisted)},
		{"listed member missing", then(sign, func(f map[string]string) { delete(f, "ChangeLog.txt") }), only(problem.MissingFile), only(problem.MissingFile)},
		{"listed without digest", then(sign, func(f map[string]string) {
			text := manifestOf(f) + "Source: Files/extra\n"
			text = strings.ReplaceAll(text, "Source: vnf.mf\nAlgorithm: SHA-256\nHash: "+digest(f["vnf.mf"])+"\n", "")
			f["vnf.mf"] = text + vendor.sign(t, []byte(text), true)
			f["Files/extra"] = "x"
		}), nil, only(problem.NoDigest)},
		{"TOSCA.meta unlisted", func(f map[string]string) {
			meta := f["TOSCA-Metadata/TOSCA.meta"]
			delete(f, "TOSCA-Metadata/TOSCA.meta")
			sign(f)
			f["TOSCA-Metadata/TOSCA.meta"] = meta
		}, nil, only(problem.NoDigest)},
		{"signature is none", then(sign, strip, func(f map[string]string) {
			f["vnf.mf"] += "-----BEGIN CMS-----\nAAAA\n-----END CMS-----\n"
		}), only(problem.BadCMS), only(problem.BadCMS)},
		{"signature without end", then(sign, replace("vnf.mf", "-----END CMS-----", "")), []problem.Code{problem.BadCMS, problem.Manifest}, []problem.Code{problem.BadCMS, problem.Manifest}},
		{"text behind the signature", then(sign, func(f map[string]string) { f["vnf.mf"] += "Source: x\n" }), only(problem.Manifest), only(problem.Manifest)},
		{"stripped", then(sign, strip), nil, only(problem.Unsigned)},
		{"stripped and tampered with", then(sign, func(f map[string]string) {
			delete(f, "vnf.mf")
			f["Files/image.img"] = "evil"
			f["vnf.mf"] = manifestOf(f)
		}), nil, only(problem.Unsigned)},
		{"manifest no longer named", then(sign, func(f map[string]string) {
			delete(f, "vnf.mf")
		}, replace("TOSCA-Metadata/TOSCA.meta", "ETSI-Entry-Manifest: vnf.mf\n", "")), nil, only(problem.Unsigned)},
		{"signed manifest no longer named", then(sign, replace("TOSCA-Metadata/TOSCA.meta", "ETSI-Entry-Manifest: vnf.mf\n", "")),
			only(problem.UnnamedManifest), []problem.Code{problem.Unsigned, problem.UnnamedManifest}},
		{"another manifest named", then(sign, set("other.mf", manifestHead), replace("TOSCA-Metadata/TOSCA.meta", "vnf.mf", "other.mf")),
			only(problem.UnnamedManifest), []problem.Code{problem.Unsigned, problem.UnnamedManifest}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := contents()
			tt.make(files)
			for policy, want := range map[csar.Policy][]problem.Code{
				"": tt.require, csar.Verify: tt.verify, csar.Require: tt.require, csar.Warn: nil, csar.Off: nil,
			} {
				got := outcome(t, mapFS(files), csar.Integrity{Policy: policy, Roots: root.pool()})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("policy %q (-want +got):\n%s", policy, diff)
				}
			}
		})
	}
}

func TestWithoutRoots(t *testing.T) {
	vendor := certify(t, "vendor", certify(t, "root", nil, time.Now().Add(time.Hour)), time.Now().Add(time.Hour))
	files := contents()
	text := manifestOf(files)
	files["vnf.mf"] = text + vendor.sign(t, []byte(text), true)
	a, err := csar.OpenFS(t.Context(), mapFS(files), csar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(a.Warnings(), problem.Problem{Code: problem.Untrusted}) {
		t.Errorf("no warning of an untrusted signer: %v", a.Warnings())
	}
	signers := a.Signers()
	if len(signers) != 1 || !signers[0].Valid || signers[0].Trusted || signers[0].Code != problem.Untrusted ||
		signers[0].Certificate.Subject.CommonName != "vendor" || signers[0].Signed != "vnf.mf" {
		t.Errorf("signers: %+v", signers)
	}
	got := outcome(t, mapFS(files), csar.Integrity{Policy: csar.Require})
	if diff := cmp.Diff(only(problem.Untrusted), got); diff != "" {
		t.Errorf("where a signature is required (-want +got):\n%s", diff)
	}
}

// TestTime checks that certificates must be valid at the time of Integrity.Now.
func TestTime(t *testing.T) {
	root := certify(t, "root", nil, time.Now().Add(time.Hour))
	vendor := certify(t, "vendor", root, time.Now().Add(time.Hour))
	files := contents()
	text := manifestOf(files)
	files["vnf.mf"] = text + vendor.sign(t, []byte(text), true)
	later := func() time.Time { return time.Now().Add(2 * time.Hour) }
	got := outcome(t, mapFS(files), csar.Integrity{Roots: root.pool(), Now: later})
	if diff := cmp.Diff(only(problem.Expired), got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// TestSignedMembers checks files with separate signatures (SOL004 5.3).
func TestSignedMembers(t *testing.T) {
	root := certify(t, "root", nil, time.Now().Add(time.Hour))
	vendor := certify(t, "vendor", root, time.Now().Add(time.Hour))
	const text = "one\ntwo\r\nthree"
	tests := []struct {
		name    string
		content string
		entry   string
		files   map[string]string
		want    []problem.Code
	}{
		{"good", text, "Signature: a.cms", map[string]string{"a.cms": vendor.sign(t, []byte(text), true)}, nil},
		{"signed as text", text, "Signature: a.cms", map[string]string{"a.cms": vendor.sign(t, []byte("one\r\ntwo\r\nthree"), true)}, nil},
		{"certificate named", text, "Signature: a.cms\nCertificate: c/a.pem", map[string]string{"a.cms": vendor.sign(t, []byte(text), false), "c/a.pem": vendor.pem()}, nil},
		{"certificate beside", text, "Signature: s/a.cms", map[string]string{"s/a.cms": vendor.sign(t, []byte(text), false), "a.cert": vendor.pem()}, nil},
		{"tampered with", "evil", "Signature: a.cms", map[string]string{"a.cms": vendor.sign(t, []byte(text), true)}, only(problem.BadSignature)},
		{"no certificate", text, "Signature: a.cms", map[string]string{"a.cms": vendor.sign(t, []byte(text), false)}, only(problem.NoCertificate)},
		{"certificate missing", text, "Signature: a.cms\nCertificate: a.cert", map[string]string{"a.cms": vendor.sign(t, []byte(text), true)}, only(problem.MissingFile)},
		{"signature missing", text, "Signature: a.cms", nil, only(problem.MissingFile)},
		{"signature outside", text, "Signature: ../a.cms", nil, only(problem.OutsidePackage)},
		{"signature is none", text, "Signature: a.cms", map[string]string{"a.cms": "x"}, only(problem.BadCMS)},
		{"signature too large", text, "Signature: a.cms", map[string]string{"a.cms": strings.Repeat("x", 1<<20)}, only(problem.Unreadable)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := contents()
			manifest := manifestOf(files) + "Source: a.txt\n" + tt.entry + "\n"
			files["a.txt"], files["vnf.mf"] = tt.content, manifest+vendor.sign(t, []byte(manifest), true)
			for name, content := range tt.files {
				files[name] = content
			}
			got := outcome(t, mapFS(files), csar.Integrity{Roots: root.pool()})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownPolicy(t *testing.T) {
	_, err := csar.OpenFS(context.Background(), mapFS(contents()), csar.Options{Integrity: csar.Integrity{Policy: "strict", Roots: x509.NewCertPool()}})
	if err == nil {
		t.Error("an unknown policy is taken")
	}
}
