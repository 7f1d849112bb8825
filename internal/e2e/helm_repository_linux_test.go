package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestCNFFromRepository takes CNFs through their life whose chart is in a repository with a password and a private CA. After
// the installation the repository does not have this version of the chart any more.
// Terminating removes the repository, and leaves one of the same name that the user of the machine has.
func TestCNFFromRepository(t *testing.T) {
	cluster := needCluster(t)
	for _, mode := range slices.Concat(cnfModes[:2], helm4Modes) {
		t.Run(mode.name, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			charts, url, ca := chartRepository(t, map[string][]byte{"1.0.0": chartOf(t, "web", "1.0.0", web), "1.1.0": chartOf(t, "web", "1.1.0", web)})
			release, err := json.Marshal(map[string]any{"exthelmchart": "true", "helmrepositoryname": "lab", "helmchartname": "web", "helmchartversion": "~1.0.0",
				"exthelmrepo_url": url, "exthelmrepo_username": repositoryUser, "exthelmrepo_password": repositoryPassword, "exthelmrepo_ca_cert": string(ca),
				"helmreleasename": "web", "helmparameter": []string{"text=first"}})
			must(t, err)
			params := strings.Replace(chartParams, `{"exthelmchart": "false", "helmchartfile_path": "Files/web.tgz", "helmreleasename": "web"}`, string(release), 1)
			var masters []*master
			if mode.masters {
				masters = newMasters(t, cluster.Client(), 2, mode.program(t))
				for _, m := range masters {
					must(t, m.Exec(within(t, time.Minute), sshexec.Command{Stdin: strings.NewReader(repositoryPassword),
						Argv: []string{"helm", "repo", "add", "lab", url, "--insecure-skip-tls-verify", "--username=" + repositoryUser, "--password-stdin"}}))
				}
			}
			c := newCNF(t, store.NewMemory(), cnfSite{Dir: dir, Helm4: mode.helm4, Packages: map[string]string{cnfVNFD: cnfDir(t)}},
				cnfVIM(t, kubernetes.VimTypeV1, cluster.Client(), masters), cnfVNFD, "simple", params)
			c.must(c.Instantiate(ctx, c.id, c.request))
			c.vnfcs(1)
			c.repositoryIs(dir, masters, true)
			charts.withdraw("1.0.0")
			c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleOut, 2)))
			c.vnfcs(3)
			c.must(c.Heal(ctx, c.id, vnflcm.HealVnfRequest{}))
			c.vnfcs(3)
			c.must(c.Scale(ctx, c.id, webScale(vnflcm.ScaleIn, 1)))
			c.vnfcs(2)
			c.must(c.Terminate(ctx, c.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			c.wantNothing()
			c.repositoryIs(dir, masters, false)
		})
	}
}

// repositoryIs checks whether the repository of the CNF is where Helm runs, and that the login user's own one is there.
func (c *cnf) repositoryIs(dir string, masters []*master, want bool) {
	c.t.Helper()
	if masters == nil {
		content, err := os.ReadFile(filepath.Join(dir, c.id, "repositories.yaml")) //nolint:gosec // of the test
		if there := strings.Contains(string(content), "name: lab"); there != want {
			c.t.Errorf("the repository is there: %t, %v", there, err)
		}
		return
	}
	for _, m := range masters {
		content, err := m.machine.Exec(within(c.t, time.Minute), "cat", helmDir+"/"+c.id+"/repositories.yaml")
		if there := strings.Contains(content, "name: lab"); there != want {
			c.t.Errorf("the repository is on %s: %t, %v", m.machine.Name, there, err)
		}
		out, err := m.Output(within(c.t, time.Minute), sshexec.Command{Argv: []string{"helm", "show", "chart", "lab/web", "--insecure-skip-tls-verify"}})
		if err != nil || !strings.Contains(string(out), "version: 1.1.0") {
			c.t.Errorf("the user's own repository on %s: %s, %v", m.machine.Name, out, err)
		}
	}
}
