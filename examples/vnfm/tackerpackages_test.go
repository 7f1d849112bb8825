package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

// csarOf packs a sample package with another VNFD id.
func csarOf(t *testing.T, sample, vnfdID string) []byte {
	t.Helper()
	return pack(t, samples.Package(sample), vnfdID)
}

// pack packs a copy of a sample package with another VNFD id.
func pack(t *testing.T, dir, vnfdID string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, files := zip.NewWriter(&out), os.DirFS(dir)
	must(t, fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if path.Dir(name) == "Definitions" {
			content = bytes.ReplaceAll(bytes.ReplaceAll(content, []byte(sampleVNFD), []byte(vnfdID)), []byte(cnfVNFD), []byte(vnfdID))
		}
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(content)
		}
		return err
	}))
	must(t, w.Close())
	return out.Bytes()
}

// packages returns the URI of the packages of a VNFM.
func (p *program) packages() string {
	return strings.TrimSuffix(p.api, "/vnflcm/v2") + "/vnfpkgm/v1/vnf_packages"
}

// awaitPackage waits until the onboarding of a package has ended, and returns the document of version 2.
func (p *program) awaitPackage(id string) map[string]any {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, document := p.send("GET", strings.Replace(p.packages(), "/v1/", "/v2/", 1)+"/"+id, nil, 200)
		if state := document["onboardingState"]; state == "ONBOARDED" || state == "ERROR" {
			return document
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the package is not onboarded: %v\n%s", document, p.log)
		}
	}
}

// vnfPackage runs a "vnf package" command of the client.
func (c *tackerClient) vnfPackage(args ...string) string {
	c.t.Helper()
	return c.command(append([]string{"vnf", "package"}, args...)...)
}

// onboard onboards the package of a folder under a VNFD id.
func (c *tackerClient) onboard(dir, vnfdID string) (id string) {
	c.t.Helper()
	file := filepath.Join(c.dir, "k8s-cluster.zip")
	must(c.t, os.WriteFile(file, pack(c.t, dir, vnfdID), 0o600))
	created := c.shown("vnf", "package", "create", "--user-data", "site=north", "--user-data", "rack=7")
	id = fmt.Sprint(created["ID"])
	if diff := cmp.Diff([]any{"CREATED", "DISABLED", "NOT_IN_USE"}, []any{created["Onboarding State"], created["Operational State"], created["Usage State"]}); diff != "" {
		c.t.Errorf("create:\n%s", diff)
	}
	if out := c.vnfPackage("upload", id, "--path", file); !strings.Contains(out, "has been accepted") {
		c.t.Errorf("upload: %s", out)
	}
	if state := c.awaitPackage(id); state["onboardingState"] != "ONBOARDED" {
		c.t.Fatalf("the package: %v", state)
	}
	shown := c.shown("vnf", "package", "show", id)
	if diff := cmp.Diff([]any{"ONBOARDED", "ENABLED", vnfdID}, []any{shown["Onboarding State"], shown["Operational State"], shown["VNFD ID"]}); diff != "" {
		c.t.Errorf("show:\n%s", diff)
	}
	return id
}

// lists lists packages with all parameters of the client.
func (c *tackerClient) lists(vnfdID, id string) {
	c.t.Helper()
	for _, flags := range [][]string{nil, {"--all_fields"}, {"--fields", "checksum"}, {"--exclude_fields", "checksum"}, {"--exclude_default"}, {"--filter", "(eq,vnfdId," + vnfdID + ")"}} {
		args := append([]string{"package", "list", "-f", "value", "-c", "Id"}, flags...)
		if out := c.command(append([]string{"vnf"}, args...)...); !strings.Contains(out, id) {
			c.t.Errorf("list %v: %s", flags, out)
		}
	}
}

// files downloads the files of a package and compares them with its folder.
func (c *tackerClient) files(id, dir string) {
	c.t.Helper()
	in := func(name string) string { return filepath.Join(c.dir, name) }
	c.vnfPackage("download", id, "--file", in("content.zip"))
	want, err := os.ReadFile(in("k8s-cluster.zip"))
	must(c.t, err)
	if got, err := os.ReadFile(in("content.zip")); err != nil || !bytes.Equal(got, want) {
		c.t.Errorf("the content: %d bytes of %d, %v", len(got), len(want), err)
	}
	for _, kind := range []string{"application/zip", "both"} {
		c.vnfPackage("download", id, "--vnfd", "--type", kind, "--file", in("vnfd.zip"))
		archive, err := zip.OpenReader(in("vnfd.zip"))
		must(c.t, err)
		if len(archive.File) != 5 {
			c.t.Errorf("--type %s: %d files", kind, len(archive.File))
		}
		must(c.t, archive.Close())
	}
	const script = "Scripts/install_k8s_cluster.sh"
	c.vnfPackage("artifact", "download", id, script, "--file", in("script"))
	text, err := os.ReadFile(filepath.Join(dir, script))
	must(c.t, err)
	if got, err := os.ReadFile(in("script")); err != nil || !bytes.Equal(got, text) {
		c.t.Errorf("the artifact: %d bytes of %d, %v", len(got), len(text), err)
	}
}

// fromURI onboards a package from a server.
func (c *tackerClient) fromURI(vnfdID string) {
	c.t.Helper()
	content := csarOf(c.t, "cnf", vnfdID)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "reader" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(content)
	}))
	defer source.Close()
	id := fmt.Sprint(c.shown("vnf", "package", "create")["ID"])
	c.vnfPackage("upload", id, "--url", source.URL+"/cnf.zip", "--user-name", "reader", "--password", "secret")
	if state := c.awaitPackage(id); state["onboardingState"] != "ONBOARDED" {
		c.t.Fatalf("the package: %v", state)
	}
	c.remove(id)
}

// remove disables and deletes a package.
func (c *tackerClient) remove(id string) {
	c.t.Helper()
	if changed := c.shown("vnf", "package", "update", id, "--operational-state", "DISABLED", "--user-data", "room=2"); changed["Operational State"] != "DISABLED" {
		c.t.Errorf("update: %v", changed)
	}
	if out := c.vnfPackage("delete", id); !strings.Contains(out, "deleted successfully") {
		c.t.Errorf("delete: %s", out)
	}
	c.send("GET", c.packages()+"/"+id, nil, 404)
}
