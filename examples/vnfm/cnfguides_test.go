package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/tackertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
)

// cnfGuide is a guide of Tacker for a CNF.
type cnfGuide struct {
	version string // of the API
	body    string // name of the request
	cnf     tackertest.CNF
	aspect  string
}

// helmChart is a chart of a guide.
func helmChart(t *testing.T, name string, deployments map[string]string) string {
	t.Helper()
	archive, err := tackertest.Chart(name, deployments)
	must(t, err)
	return archive
}

// cnfGuides are the guides for CNFs that docs/tacker.md lists.
func cnfGuides(t *testing.T) map[string]cnfGuide {
	t.Helper()
	return map[string]cnfGuide{
		"chart of the package, version 1": {version: "1", body: "helm_v1_local", aspect: "vdu1_aspect", cnf: tackertest.CNF{VNFD: "b1bb0ce7-0001-4fa7-95ed-4840d70a1177",
			VDUs:  []tackertest.VDU{{ID: "VDU1", Name: "vdu1-localhelm"}},
			Files: map[string]string{"Files/kubernetes/localhelm-0.1.0.tgz": helmChart(t, "localhelm", map[string]string{"{{ .Release.Name }}-localhelm": "replicaCount"})}}},
		"chart of a repository, version 1": {version: "1", body: "helm_v1_repository", aspect: "vdu1_aspect", cnf: tackertest.CNF{VNFD: "b1bb0ce7-0002-4fa7-95ed-4840d70a1177",
			VDUs: []tackertest.VDU{{ID: "VDU1", Name: "vdu1-externalhelm"}}}},
		"chart, version 2": {version: "2", body: "helm_v2", aspect: "vdu2_aspect", cnf: tackertest.CNF{VNFD: "b1bb0ce7-0003-4fa7-95ed-4840d70a1177",
			VDUs: []tackertest.VDU{{ID: "VDU1", Name: "vdu1"}, {ID: "VDU2", Name: "vdu2"}},
			Files: map[string]string{"Files/kubernetes/test-chart-0.1.0.tgz": helmChart(t, "test-chart", map[string]string{"vdu1-{{ .Release.Name }}": "replicaCountVdu1",
				"vdu2-{{ .Release.Name }}": "replicaCountVdu2"})}}},
		"manifests, version 2": {version: "2", body: "cnf_v2", aspect: "vdu1_aspect", cnf: tackertest.CNF{VNFD: "b1bb0ce7-0004-4fa7-95ed-4840d70a1177",
			VDUs: []tackertest.VDU{{ID: "VDU1", Name: "vdu1"}},
			Files: map[string]string{"Files/kubernetes/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vdu1, namespace: default}\nspec:\n  replicas: 2\n" +
				"  selector: {matchLabels: {app: webserver}}\n  template:\n    metadata: {labels: {app: webserver}}\n    spec:\n      containers: [{name: nginx, image: nginx}]\n"}}},
	}
}

// onCluster returns the request with the id of a VIM, and with a repository of charts in the place of the guide's.
func (g cnfGuide) onCluster(t *testing.T, vim, repository string) map[string]any {
	t.Helper()
	body := guideBody(t, g.body)
	(&guide{instantiate: body}).on(vim)
	if params := body["additionalParams"].(map[string]any); g.cnf.Files == nil {
		params["using_helm_install_param"].([]any)[0].(map[string]any)["exthelmrepo_url"] = repository + "/sample-charts"
	}
	return body
}

// helmScript is the script of docs/tacker.md that stands for the installation of Helm.
func helmScript(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/tacker.md")
	must(t, err)
	for block := range strings.SplitSeq(string(text), "```sh\n") {
		if script, _, _ := strings.Cut(block, "```"); strings.Contains(script, "/usr/local/bin/helm") {
			return script
		}
	}
	t.Fatal("docs/tacker.md has no script that installs Helm")
	return ""
}

// chartRepository serves the chart of the guide for version 1.
func chartRepository(t *testing.T) string {
	t.Helper()
	archive := helmChart(t, "externalhelm", map[string]string{"{{ .Release.Name }}-externalhelm": "replicaCount"})
	mux := http.NewServeMux()
	mux.HandleFunc("/sample-charts/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "apiVersion: v1\nentries: {externalhelm: [{apiVersion: v2, name: externalhelm, version: 0.1.0, urls: [externalhelm-0.1.0.tgz]}]}\n")
	})
	mux.HandleFunc("/sample-charts/externalhelm-0.1.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, archive) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// vnfcsOf returns the ids of the VNFCs of an instance.
func (p *program) vnfcsOf(instance string) (ids []string) {
	p.t.Helper()
	_, document := p.send("GET", instance, nil, 200)
	info, _ := document["instantiatedVnfInfo"].(map[string]any)
	list, _ := info["vnfcResourceInfo"].([]any)
	for _, v := range list {
		ids = append(ids, fmt.Sprint(v.(map[string]any)["id"]))
	}
	return ids
}

// guideCluster starts the VNFM on the sandbox, as docs/tacker.md does, and makes the cluster with Helm of the guide for version 1. It returns
// the id of the cluster as a VIM.
func guideCluster(t *testing.T, guides map[string]cnfGuide) (p *program, vim string) {
	t.Helper()
	packages := t.TempDir()
	for name, g := range guides {
		must(t, g.cnf.Write(filepath.Join(packages, name)))
	}
	withHelm := mgmttest.Package(t, guidePackage(t), map[string]string{"Scripts/install_helm.sh": helmScript(t)})
	must(t, os.Rename(withHelm, filepath.Join(packages, "cluster")))
	p = start(t, t.TempDir(), "-config=tacker-guides.yaml", "-packages="+packages)
	cluster := p.create(sampleVNFD)
	body := guideBody(t, "helm_v1_cluster")
	proxy := body["additionalParams"].(map[string]any)["k8s_cluster_installation_param"].(map[string]any)["proxy"].(map[string]any)
	proxy["http_proxy"], proxy["https_proxy"] = "http://user1:password1@192.0.2.1:3128", "http://user1:password1@192.0.2.1:3128" // placeholders
	p.do(strings.Replace(cluster, "/v2/", "/v1/", 1)+"/instantiate", body)
	return p, kubeadm.VIMID(path.Base(cluster))
}

// TestCNFGuides follows Tacker's guides for CNFs over HTTP.
func TestCNFGuides(t *testing.T) {
	t.Parallel()
	guides := cnfGuides(t)
	p, vim := guideCluster(t, guides)
	repository := chartRepository(t)
	for name, g := range guides {
		t.Run(name, func(t *testing.T) {
			own := *p
			own.t = t
			uri := own.create(g.cnf.VNFD)
			instance := strings.Replace(uri, "/v2/", "/v"+g.version+"/", 1)
			own.do(instance+"/instantiate", g.onCluster(t, vim, repository))
			before := own.vnfcsOf(uri)
			own.do(instance+"/scale", map[string]any{"type": "SCALE_OUT", "aspectId": g.aspect, "numberOfSteps": 1})
			own.do(instance+"/heal", map[string]any{"vnfcInstanceId": before[:1]})
			if after := own.vnfcsOf(uri); len(after) != len(before)+1 {
				t.Errorf("VNFCs were %v and are %v", before, after)
			}
			own.do(instance+"/scale", map[string]any{"type": "SCALE_IN", "aspectId": g.aspect, "numberOfSteps": 1})
			own.do(instance+"/heal", map[string]any{})
			own.do(instance+"/terminate", map[string]any{"terminationType": "GRACEFUL"})
			own.send("DELETE", uri, nil, 204)
		})
	}
}

// TestTackerCNFGuides follows Tacker's guides for CNFs with its client, from the package to its end.
func TestTackerCNFGuides(t *testing.T) {
	needTackerClient(t)
	p, vim := guideCluster(t, nil)
	repository := chartRepository(t)
	for name, g := range cnfGuides(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *p
			own.t = t
			c := &tackerClient{program: &own, t: t, version: g.version, dir: t.TempDir()}
			folder := t.TempDir()
			must(t, g.cnf.Write(folder))
			id := c.onboard(folder, g.cnf.VNFD)
			instance := fmt.Sprint(c.object("create", g.cnf.VNFD)["ID"])
			c.run("instantiate", instance, c.file("instantiate.json", g.onCluster(t, vim, repository)))
			c.ends(instance, "COMPLETED")
			for _, direction := range []string{"SCALE_OUT", "SCALE_IN"} {
				c.run("scale", "--type", direction, "--aspect-id", g.aspect, instance)
				c.ends(instance, "COMPLETED")
			}
			c.run("heal", instance, "--vnfc-instance", own.vnfcsOf(c.api + "/vnf_instances/" + instance)[0])
			c.ends(instance, "COMPLETED")
			c.run("heal", instance)
			c.ends(instance, "COMPLETED")
			c.run("terminate", instance)
			c.ends(instance, "COMPLETED")
			c.run("delete", instance)
			c.remove(id)
		})
	}
}
