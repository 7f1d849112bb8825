package csar_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/vnfkit/vnfkit/tosca/csar"
)

// small has low limits, so that the fuzzer does not spend its time on large inputs.
var small = csar.Options{Limits: csar.Limits{Members: 200, MemberSize: 1 << 20, TotalSize: 4 << 20, DocumentSize: 1 << 18}}

// use calls the functions that a VNFM calls for an archive.
func use(t *testing.T, a *csar.Archive) {
	t.Helper()
	digest, err := a.Digest(t.Context())
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a listed member is not there: %v", err)
	}
	if verr := a.Verify(t.Context()); (verr == nil) != (err == nil) || (err == nil) != (digest != "") {
		t.Errorf("Digest gives %q, %v, and Verify %v", digest, err, verr)
	}
	for _, s := range a.Signers() {
		if s.Trusted {
			t.Errorf("somebody is trusted without roots: %+v", s)
		}
	}
	for _, e := range a.Meta().Artifacts {
		if name, err := a.Artifact(e.Name); err == nil && !a.Has(name) {
			t.Errorf("the artifact %q becomes %q, which is not there", e.Name, name)
		}
	}
	_ = a.Warnings().Error()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzOpen(f *testing.F) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := errors.Join(w.AddFS(os.DirFS("../testdata/everything")), w.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	files := map[string]string{"vnfd.yaml": "x", "image": strings.Repeat("0", 300)}
	vendor := certify(f, "vendor", nil, time.Now().Add(time.Hour))
	text := manifestOf(files)
	files["vnfd.mf"] = text + vendor.sign(f, []byte(text), true)
	inner := zipWith(f, zip.Deflate, bytesOf(files))
	f.Add(inner)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		f.Add(zipWith(f, method, map[string][]byte{
			"p.csar": inner, "p.cms": []byte(vendor.sign(f, inner, false)), "p.cert": []byte(vendor.pem()),
		}))
	}
	f.Add([]byte("PK\x05\x06" + string(make([]byte, 18))))
	f.Add(append([]byte("#!/bin/sh\n"), inner...))
	f.Add(append(bytes.Clone(inner), "behind"...))
	f.Add(zipWith(f, zip.Store, map[string][]byte{"vnfd.yaml": []byte("x"), "\u202egnp.sh": nil, "aux.txt": nil, "b.mf": []byte(files["vnfd.mf"])}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := csar.OpenReader(t.Context(), bytes.NewReader(data), int64(len(data)), small); err == nil {
			use(t, a)
		}
	})
}

func FuzzMeta(f *testing.F) {
	f.Add("Entry-Definitions: v.yaml\n\nName: a\nHash: 00\nAlgorithm: SHA-256\n")
	f.Add("Name: a\nName: b\n continued\n: \n")
	f.Add(signedMeta + "ETSI-Entry-Certificate: v.yaml\nEntry-Manifest: x\n")
	f.Add("Entry-Definitions: v.yaml\n") // names no manifest
	f.Fuzz(func(t *testing.T, meta string) {
		a, err := csar.OpenFS(t.Context(), fstest.MapFS{
			"TOSCA-Metadata/TOSCA.meta": file(meta), "v.yaml": file("x"), "vnf.mf": file(manifestHead),
		}, small)
		if err == nil {
			use(t, a)
		}
	})
}

func FuzzManifest(f *testing.F) {
	vendor := certify(f, "vendor", nil, time.Now().Add(time.Hour))
	text := manifestOf(map[string]string{"v.yaml": "x"}) + "non_mano_artifact_sets:\n  x:\n    Source: v.yaml\n"
	signed := text + vendor.sign(f, []byte(text), true)
	f.Add(signed, "")
	f.Add(text+"Source: a\nSignature: s\nCertificate: v.yaml\n", vendor.sign(f, []byte("x"), true))
	f.Add("metadata:\nvnf_provider_id: x\nSource:\nHash: 0\n: \n#\nx:\n", "x")
	f.Fuzz(func(t *testing.T, manifest, signature string) {
		fsys := fstest.MapFS{"v.yaml": file("x"), "v.mf": file(manifest), "a": file("x"), "s": file(signature)}
		for _, policy := range []csar.Policy{csar.Verify, csar.Warn} {
			o := small
			o.Integrity.Policy = policy
			a, err := csar.OpenFS(t.Context(), fsys, o)
			if err == nil {
				use(t, a)
			} else if policy == csar.Warn && len(manifest)+len(signature) < 1<<16 {
				t.Errorf("refused, where it should be warned of: %v", err)
			}
		}
	})
}
