package kubeadm_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// hostile values create /pwned if a shell runs them.
var hostile = map[string]string{
	"quotes":     `a'"'"; touch /pwned; echo '"`,
	"semicolon":  `x; touch /pwned; :`,
	"command":    `$(touch /pwned)`,
	"backticks":  "`touch /pwned`",
	"newlines":   "x\ntouch /pwned\n",
	"pipe":       `|touch /pwned`,
	"redirect":   `>/pwned`,
	"option":     `--config=/pwned`,
	"parent":     `../../../../pwned`,
	"percent":    `%s%n%d%(touch /pwned)`,
	"substitute": `${x:-$(touch /pwned)}`,
	"64 KiB":     strings.Repeat("touch /pwned;", 5042),
}

// unharmed checks that no machine ran a value as a command.
func (l *lab) unharmed() {
	l.t.Helper()
	for _, h := range l.World.Hosts() {
		if found, err := afero.Exists(h.FS(), "/pwned"); found || err != nil {
			l.t.Errorf("%s has /pwned, %v", h.Name(), err)
		}
		for _, r := range h.Commands() {
			if r.Argv[0] == "touch" && slices.Contains(r.Argv, "/pwned") {
				l.t.Errorf("%s ran %q", h.Name(), r.Argv)
			}
		}
	}
}

var tokenSecret = regexp.MustCompile(`bootstrap-token-[a-z0-9]{6}`)

// commands returns the programs that ran on machines, in terms that are the same in every run.
func (l *lab) commands() []string {
	var out []string
	for _, h := range l.World.Hosts() {
		for _, r := range h.Commands() {
			if !r.BuiltIn {
				out = append(out, fmt.Sprintf("%s: %q as %s", h.Name(), tokenSecret.ReplaceAllString(strings.Join(r.Argv, "\x00"), "TOKEN"), r.User))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestHostileValuesAreCarried: parameters that accept any text pass it on unchanged, and the same programs run as with
// harmless values.
func TestHostileValuesAreCarried(t *testing.T) {
	t.Parallel()
	tame := newLab(t)
	tame.Instantiated("instantiate_sandbox.json")
	want := tame.commands()
	for name, value := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{sandbox: sandbox.Config{Password: value}})
			id := l.Instantiated("instantiate_sandbox.json", with(t, `{"vim_name":`+clustertest.Quoted(value)+`,"master_node":{"password":`+clustertest.Quoted(value)+`},"worker_node":{"password":`+clustertest.Quoted(value)+`}}`))
			l.want(1, 1, 0)
			l.unharmed()
			if diff := cmp.Diff(want, l.commands()); diff != "" {
				t.Errorf("other programs ran:\n%s", diff)
			}
			vim, err := l.VIMs().Get(t.Context(), "", kubeadm.VIMID(id))
			if err != nil {
				t.Fatal(err)
			}
			var extra struct {
				Name string `json:"vim_name"`
			}
			if err := json.Unmarshal(vim.Extra.Reveal(), &extra); err != nil || extra.Name != value {
				t.Errorf("vim_name is %.80q, %v", extra.Name, err)
			}
		})
	}
}

// TestHostileUser: a shell never runs the login name either. Path separators are left out, because a user with one cannot
// have a home directory.
func TestHostileUser(t *testing.T) {
	t.Parallel()
	for name, value := range hostile {
		if name == "64 KiB" {
			continue // longer than any login name
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := strings.ReplaceAll(value, "/", "")
			l := openLab(t, setup{sandbox: sandbox.Config{User: user}})
			l.Instantiated("instantiate_sandbox.json", with(t, `{"master_node":{"username":`+clustertest.Quoted(user)+`},"worker_node":{"username":`+clustertest.Quoted(user)+`}}`))
			l.want(1, 1, 0)
			l.unharmed()
		})
	}
}

// TestHostileValuesAreRefused: if a parameter has a form, the error names the value and is short enough to read.
func TestHostileValuesAreRefused(t *testing.T) {
	t.Parallel()
	for _, parameter := range []string{
		`{"proxy":{"http_proxy":%s}}`, `{"proxy":{"https_proxy":%s}}`, `{"proxy":{"no_proxy":%s}}`, `{"proxy":{"k8s_node_cidr":%s}}`,
		`{"script_path":"Scripts/install_k8s_cluster.sh","private_registry_connection_info":[{"connection_type":"0","server":%s}]}`,
		`{"script_path":"Scripts/install_k8s_cluster.sh","private_registry_connection_info":[{"connection_type":%s,"server":"r"}]}`,
		`{"script_path":%s}`, `{"helm_installation_script_path":%s}`,
		`{"private_registry_connection_info":[{"connection_type":"1","server":"r","hosts_string":%s}]}`,
		`{"private_registry_connection_info":[{"connection_type":"1","server":"r","certificate_path":%s}]}`,
		`{"private_registry_connection_info":[{"connection_type":"1","server":"r","probe_image":%s}]}`,
		`{"cni_manifest_path":%s}`, `{"kubernetes_version":%s}`, `{"master_node":{"pod_cidr":%s}}`, `{"master_node":{"cluster_cidr":%s}}`,
		`{"master_node":{"ssh_cp_name":%s}}`, `{"worker_node":{"nic_cp_name":%s}}`, `{"worker_node":{"aspect_id":%s}}`,
	} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			for name, value := range hostile {
				if name == "parent" && strings.Contains(parameter, "no_proxy") {
					continue // such a text means nothing to a shell
				}
				_, _, err := l.Begin("instantiate_sandbox.json", with(t, strings.Replace(parameter, "%s", clustertest.Quoted(value), 1)))
				l.Refused(err)
				if err != nil && len(err.Error()) > 4096 {
					t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
				}
			}
		})
	}
}

// TestProxyOnTheMachine: a password with every character that a URL can have reaches the runtime's unit and the environment
// of apt unchanged.
func TestProxyOnTheMachine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const url = "http://user:p%24%28touch%20%2Fpwned%29%60%22%25;&*+,=@proxy.example.com:3128/"
	l.Instantiated("instantiate_sandbox.json", with(t, `{"proxy":{"http_proxy":"`+url+`","https_proxy":"`+url+`","no_proxy":"a, b"}}`))
	l.unharmed()
	for _, h := range l.World.Hosts() {
		unit, err := afero.ReadFile(h.FS(), "/etc/systemd/system/containerd.service.d/50-vnfkit-proxy.conf")
		if err != nil {
			t.Fatal(err)
		}
		// systemd.unit(5): %% is a percent sign.
		escaped := strings.ReplaceAll(url, "%", "%%")
		want := "[Service]\nEnvironment=\"HTTP_PROXY=" + escaped + "\"\nEnvironment=\"HTTPS_PROXY=" + escaped + "\"\nEnvironment=\"NO_PROXY=a, b,"
		if !strings.HasPrefix(string(unit), want) {
			t.Errorf("%s: %s", h.Name(), unit)
		}
		for _, r := range h.Commands() {
			if r.Argv[0] == "apt-get" && !r.BuiltIn && !slices.Contains(r.Env, "http_proxy="+url) {
				t.Errorf("%s: %q has the environment %q", h.Name(), r.Argv, r.Env)
			}
		}
	}
}

// TestCanaries plants secrets in every credential field, collects generated secrets, and looks for them in everything that
// is logged, stored or visible on a machine.
func TestCanaries(t *testing.T) {
	t.Parallel()
	for _, sample := range []string{"instantiate_sandbox.json", "instantiate_script.json"} {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			if sample == "instantiate_script.json" {
				fulltest.SkipVariant(t)
			}
			ctx, dir := t.Context(), t.TempDir()
			const password = "canary-password-1"
			l := openLab(t, setup{sandbox: sandbox.Config{Dir: dir, Password: password}, pkg: packageWithStorage(t, nil)})
			access, err := vnflcm.ParseParams([]byte(`{"username":"admin","password":"canary-vim-1","nested":[{"secret":"canary-vim-2"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			made := &collector{file: filepath.Join(dir, "world.json"), found: map[string]bool{}}
			patch := `{"master_node":{"password":"canary-other-1"},"worker_node":{"password":"canary-other-2"},
				"proxy":{"http_proxy":"http://user:canary-proxy-1@proxy:3128","https_proxy":"http://user:canary-proxy-2@proxy:3128"}`
			if sample == "instantiate_script.json" {
				patch += `,"private_registry_connection_info":[{"connection_type":"0","server":"r:5000"}]`
			}
			over, err := vnflcm.ParseParams([]byte(`{"master_node_password":"` + password + `","worker_node_password":"` + password + `"}`))
			if err != nil {
				t.Fatal(err)
			}
			m := l.Process(made.watch(l))
			req := l.Request(sample, clustertest.Sized("complex", 0), with(t, patch+`}`), with(t, storageParams),
				with(t, `{"storage_server":{"password":"`+password+`"}}`))
			if req.AdditionalParams, err = req.AdditionalParams.Merge(over); err != nil {
				t.Fatal(err)
			}
			req.VimConnectionInfo = vnflcm.VimConnections{{ID: "1", VimID: "sandbox", VimType: "sandbox", AccessInfo: access}}
			id := l.Created()
			opID, err := m.Instantiate(ctx, id, req)
			l.Must(opID, err, m)
			scale := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
			opID, err = m.Scale(ctx, id, scale)
			l.Must(opID, err, m)
			// This operation fails, because errors are where secrets leak most often.
			if err := l.World.Stop("masterNode-2"); err != nil {
				t.Fatal(err)
			}
			broken := l.Process(made.watch(l), l.watchHosts("workerNode-2", "kubeadm", "join", func() { l.host("workerNode-2").CutConnections() }))
			opID, err = broken.Scale(ctx, id, scale)
			if err != nil {
				t.Fatal(err)
			}
			occ, failure := broken.Wait(ctx, opID)
			if failure == nil {
				t.Fatal("it did not fail")
			}
			inst, err := l.Get(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			public, err := json.Marshal([]any{occ, inst})
			if err != nil {
				t.Fatal(err)
			}
			vim, err := l.VIMs().Get(ctx, "", kubeadm.VIMID(id))
			if err != nil {
				t.Fatal(err)
			}
			var credentials struct {
				Token string `json:"bearer_token"`
			}
			if err := json.Unmarshal(vim.AccessInfo.Reveal(), &credentials); err != nil || credentials.Token == "" {
				t.Fatalf("%v", err)
			}
			made.found[credentials.Token] = true
			if len(made.found) < 4 { // two join tokens, a certificate key, the account's token
				t.Fatalf("only %d secrets were made: the test has lost its way", len(made.found))
			}
			told := map[string]string{"log": l.Log(), "events": fmt.Sprintf("%+v", l.Events()), "error": fmt.Sprintf("%v %+v %#v", failure, failure, failure),
				"public JSON": string(public), "store": l.Stored()}
			secrets := []string{"canary"}
			for s := range made.found {
				secrets = append(secrets, s)
			}
			for where, text := range told {
				for _, s := range secrets {
					if i := strings.Index(text, s); i >= 0 {
						t.Errorf("%s: %s is in it: %.200s", where, s, text[max(0, i-80):])
					}
				}
			}
			l.notOnMachines(secrets, sample == "instantiate_script.json")
		})
	}
}

// collector finds the tokens and certificate keys that the world's file has during joins.
type collector struct {
	file  string
	mu    sync.Mutex
	found map[string]bool
}

var madeSecrets = regexp.MustCompile(`"([a-z0-9]{6}\.[a-z0-9]{16}|[0-9a-f]{64})":`)

func (c *collector) watch(l *lab) func(*vnflcm.Config) {
	return func(cfg *vnflcm.Config) {
		observe := cfg.Observe
		cfg.Observe = func(e vnflcm.Event) {
			observe(e)
			data, err := os.ReadFile(c.file)
			if err != nil {
				return // the file does not exist yet
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, match := range madeSecrets.FindAllStringSubmatch(string(data), -1) {
				c.found[match[1]] = true
			}
		}
	}
}

// notOnMachines checks command lines and environments. By Tacker's contract the package's script gets the credentials of a
// join on its command line, and passes them on. The script and apt have the proxy in their environment.
func (l *lab) notOnMachines(secrets []string, script bool) {
	l.t.Helper()
	for _, h := range l.World.Hosts() {
		for _, r := range h.Commands() {
			for _, s := range secrets {
				join := script && s != "canary" && (slices.Contains(r.Argv, "/tmp/install_k8s_cluster.sh") || slices.Contains(r.Argv, "join"))
				for _, arg := range r.Argv {
					if strings.Contains(arg, s) && !join {
						l.t.Errorf("%s: %s is on the command line %q", h.Name(), s, r.Argv)
					}
				}
				for _, pair := range r.Env {
					if strings.Contains(pair, s) && !mayHold(pair) {
						l.t.Errorf("%s: %s is in the environment of %q", h.Name(), s, r.Argv)
					}
				}
			}
		}
	}
}

func mayHold(pair string) bool {
	// crictl runs as root, so no other user can see its environment.
	return strings.HasPrefix(pair, "CRICTL_CREDS=") || strings.HasPrefix(pair, "http_proxy=") || strings.HasPrefix(pair, "https_proxy=")
}
