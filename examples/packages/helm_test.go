package packages_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// helmArchive creates an archive in the form of Helm's releases with a program that prints its version.
func helmArchive(t *testing.T, version string) (path, digest string) {
	t.Helper()
	var buf bytes.Buffer
	packed := gzip.NewWriter(&buf)
	archive := tar.NewWriter(packed)
	program := "#!/bin/sh\nprintf v" + version + "\n"
	err := archive.WriteHeader(&tar.Header{Name: "linux-" + runtime.GOARCH + "/helm", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = archive.Write([]byte(program))
	}
	for _, c := range []interface{ Close() error }{archive, packed} {
		if err == nil {
			err = c.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(buf.Bytes())
	path = filepath.Join(t.TempDir(), "helm-v"+version+"-linux-"+runtime.GOARCH+".tar.gz")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, hex.EncodeToString(sum[:])
}

// runHelm runs the script, which must not access the network.
func runHelm(t *testing.T, script, dir string, env ...string) (string, error) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the script is for Linux with bash, on amd64 and arm64")
	}
	bin := t.TempDir()
	for _, name := range []string{"curl", "wget"} {
		text := "#!" + bash + "\necho \"" + name + " $* $https_proxy\"; exit 7\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil { //nolint:gosec // the test executes the file
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), bash, script)
	cmd.Env = slices.Concat(env, []string{"PATH=" + bin + ":/usr/bin:/bin", "HELM_INSTALL_DIR=" + dir})
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const helmScript = k8s + "/Scripts/install_helm.sh"

func TestHelmScript(t *testing.T) {
	t.Parallel()
	archive, digest := helmArchive(t, "9.9.9")
	dir := filepath.Join(t.TempDir(), "bin")
	offline := []string{"HELM_VERSION=9.9.9", "HELM_ARCHIVE=" + archive, "HELM_SHA256=" + digest}
	if out, err := runHelm(t, helmScript, dir, offline...); err != nil || out != "v9.9.9" {
		t.Fatalf("%q, %v", out, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "helm")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if out, err := runHelm(t, helmScript, dir, "HELM_VERSION=9.9.9", "HELM_SHA256="+digest); err != nil || !strings.Contains(out, "installed already") {
		t.Errorf("the second time: %q, %v", out, err)
	}
	newer, digest := helmArchive(t, "9.9.10")
	if out, err := runHelm(t, helmScript, dir, "HELM_VERSION=9.9.10", "HELM_ARCHIVE="+newer, "HELM_SHA256="+digest); err != nil || out != "v9.9.10" {
		t.Errorf("another version: %q, %v", out, err)
	}
}

// TestHelmScriptBeside checks that the script uses an archive in its folder, for machines without access to the network.
func TestHelmScriptBeside(t *testing.T) {
	t.Parallel()
	archive, digest := helmArchive(t, "9.9.9")
	text, err := os.ReadFile(helmScript)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(filepath.Dir(archive), "install_helm.sh")
	if err := os.WriteFile(script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := runHelm(t, script, t.TempDir(), "HELM_VERSION=9.9.9", "HELM_SHA256="+digest); err != nil || out != "v9.9.9" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestHelmScriptRefuses(t *testing.T) {
	t.Parallel()
	archive, _ := helmArchive(t, "3.18.4")
	for name, tt := range map[string]struct {
		env  []string
		says string
	}{
		"an archive that is not the pinned one": {[]string{"HELM_ARCHIVE=" + archive}, "does not have the SHA-256"},
		"a digest for the pinned version":       {[]string{"HELM_ARCHIVE=" + archive, "HELM_SHA256=" + strings.Repeat("0", 64)}, "does not have the SHA-256"},
		"a version without a digest":            {[]string{"HELM_VERSION=9.9.9", "HELM_ARCHIVE=" + archive}, "needs HELM_SHA256"},
		"no such archive":                       {[]string{"HELM_ARCHIVE=/no/such/file"}, "there is no file"},
		"a download that fails":                 {[]string{"https_proxy=http://proxy:3128"}, "https://get.helm.sh/helm-v3.18.4-linux-" + runtime.GOARCH + ".tar.gz http://proxy:3128"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, err := runHelm(t, helmScript, dir, tt.env...)
			if err == nil || !strings.Contains(out, tt.says) {
				t.Errorf("%q, %v", out, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}
