package ansible_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

const root = "/home/ubuntu/kubespray"

// ansibleHost is an SSH host with simulated Ansible programs. They check their arguments and files as the real programs do,
// and print what the test says.
type ansibleHost struct {
	*sshtest.Host
	t *testing.T

	mu      sync.Mutex
	posix   bool
	version string
	play    sshtest.Command // what ansible-playbook does; default: good
	starts  int
	vars    []map[string]any
	vaults  []string
}

func newAnsibleHost(t *testing.T, change func(*sshtest.Config)) *ansibleHost {
	t.Helper()
	h := &ansibleHost{t: t, posix: true, version: "2.14.18"}
	config := sshtest.Config{Name: "ansible", Commands: map[string]sshtest.Command{
		"ansible-playbook": h.playbook,
		"ansible-doc":      h.doc,
		"sshpass":          func(context.Context, *sshtest.Process) int { return 0 },
	}}
	if change != nil {
		change(&config)
	}
	h.Host = sshtest.Start(t, config)
	for name, content := range map[string]string{"cluster.yml": "[]", "scale.yml": "[]", "galaxy.yml": "version: 2.23.3\n"} {
		h.put(root+"/"+name, content)
	}
	return h
}

func (h *ansibleHost) put(name, content string) {
	h.t.Helper()
	if err := h.FS().MkdirAll(path.Dir(name), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := afero.WriteFile(h.FS(), name, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// doc answers as ansible-doc of Ansible 2.14 does, with exit code 0 even if it finds nothing.
func (h *ansibleHost) doc(_ context.Context, p *sshtest.Process) int {
	if !slices.Equal(p.Args[1:], []string{"-t", "callback", "--json", "ansible.posix.jsonl"}) {
		fmt.Fprintf(p.Stderr, "ansible-doc: error: %q\n", p.Args)
		return 2
	}
	if h.posix {
		fmt.Fprintln(p.Stdout, `{"ansible.posix.jsonl": {"doc": {"collection": "ansible.posix"}}}`)
	} else {
		fmt.Fprintln(p.Stderr, "[WARNING]: ansible.posix.jsonl was not found")
		fmt.Fprintln(p.Stdout, "{}")
	}
	return 0
}

func (h *ansibleHost) playbook(ctx context.Context, p *sshtest.Process) int {
	if slices.Equal(p.Args[1:], []string{"--version"}) {
		fmt.Fprintf(p.Stdout, "ansible-playbook [core %s]\n  config file = None\n", h.version)
		return 0
	}
	if p.Env("LC_ALL") != "C.UTF-8" {
		fmt.Fprintln(p.Stderr, "ERROR: Ansible requires the locale encoding to be UTF-8; Detected ISO8859-1.")
		return 1
	}
	h.mu.Lock()
	h.starts++
	play := h.play
	h.mu.Unlock()
	for _, arg := range p.Args[1:] {
		if name, ok := strings.CutPrefix(arg, "@"); ok {
			h.readVars(p, name)
		}
		if name, ok := strings.CutPrefix(arg, "--vault-password-file="); ok {
			content := h.secretFile(p, name)
			h.mu.Lock()
			h.vaults = append(h.vaults, content)
			h.mu.Unlock()
		}
	}
	if input, err := io.ReadAll(p.Stdin); err != nil || len(input) > 0 {
		h.t.Errorf("ansible-playbook was given %q, %v", input, err)
	}
	if play == nil {
		return h.good(ctx, p)
	}
	return play(ctx, p)
}

func (h *ansibleHost) readVars(p *sshtest.Process, name string) {
	var vars map[string]any
	if err := json.Unmarshal([]byte(h.secretFile(p, name)), &vars); err != nil {
		h.t.Errorf("%s: %v", name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.vars = append(h.vars, vars)
}

func (h *ansibleHost) secretFile(p *sshtest.Process, name string) string {
	content, err := afero.ReadFile(p.FS, name)
	if err != nil {
		h.t.Error(err)
		return ""
	}
	if info, err := p.FS.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		h.t.Errorf("%s: %v, %v", name, info.Mode(), err)
	}
	return string(content)
}

// good simulates a playbook that succeeds on worker-1 and worker-2.
func (h *ansibleHost) good(_ context.Context, p *sshtest.Process) int {
	if h.jsonl(p) {
		fmt.Fprint(p.Stdout, goodLines)
	} else {
		fmt.Fprint(p.Stdout, goodText)
	}
	return 0
}

func (h *ansibleHost) jsonl(p *sshtest.Process) bool {
	switch callback := p.Env("ANSIBLE_STDOUT_CALLBACK"); callback {
	case "ansible.posix.jsonl":
		return true
	case "default":
		return false
	default:
		h.t.Errorf("callback %q", callback)
		return false
	}
}

const goodText = `
PLAY [Good] ********************************************************************

TASK [Change something] ********************************************************
changed: [worker-1]
ok: [worker-2]

PLAY RECAP *********************************************************************
worker-1                   : ok=1    changed=1    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0   
worker-2                   : ok=1    changed=0    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0   

`

const goodLines = `{"_event":"v2_playbook_on_play_start","_timestamp":"T","play":{"id":"1","name":"Good"},"tasks":[]}
{"_event":"v2_playbook_on_task_start","_timestamp":"T","hosts":{},"task":{"id":"2","name":"Change something"}}
{"_event":"v2_runner_on_ok","_timestamp":"T","hosts":{"worker-1":{"changed":true}},"task":{"id":"2","name":"Change something"}}
{"_event":"v2_runner_on_ok","_timestamp":"T","hosts":{"worker-2":{"changed":false}},"task":{"id":"2","name":"Change something"}}
{"_event":"v2_playbook_on_stats","_timestamp":"T","stats":{"worker-1":{"changed":1,"failures":0,"ignored":0,"ok":1,"rescued":0,"skipped":0,"unreachable":0},"worker-2":{"changed":0,"failures":0,"ignored":0,"ok":1,"rescued":0,"skipped":0,"unreachable":0}}}
`

var goodEvents = []ansible.Event{
	{Kind: ansible.PlayStarted, Play: "Good"},
	{Kind: ansible.TaskStarted, Play: "Good", Task: "Change something"},
	{Kind: ansible.HostChanged, Play: "Good", Task: "Change something", Host: "worker-1"},
	{Kind: ansible.HostOK, Play: "Good", Task: "Change something", Host: "worker-2"},
}

var goodRecap = map[string]ansible.HostRecap{"worker-1": {OK: 1, Changed: 1}, "worker-2": {OK: 1}}

// recorded prints the recorded output of Ansible 2.14 for testdata/playbooks/site.yml.
func (h *ansibleHost) recorded(_ context.Context, p *sshtest.Process) int {
	name := "testdata/site.default"
	if h.jsonl(p) {
		name = "testdata/site.jsonl"
	}
	content, err := os.ReadFile(name)
	if err != nil {
		h.t.Error(err)
	}
	_, _ = p.Stdout.Write(content)
	return 4
}

// started returns how often ansible-playbook has run a playbook.
func (h *ansibleHost) started() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.starts
}

func (h *ansibleHost) plays(play sshtest.Command) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.play = play
}

// connect returns the server in a separate pool, and a function that closes the pool.
func (h *ansibleHost) connect(o sshexec.Options) (ansible.Server, func()) {
	h.t.Helper()
	keys, err := sshexec.PinnedHostKeys(h.PublicKey())
	if err != nil {
		h.t.Fatal(err)
	}
	pool := sshexec.NewPool(o)
	end := func() { _ = pool.Close() }
	h.t.Cleanup(end)
	return ansible.Server{Host: pool.Host(sshexec.Target{
		Name: "ansible", Addr: h.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys,
	})}, end
}

// left returns the files that a run has left behind.
func (h *ansibleHost) left() []string {
	var names []string
	_ = afero.Walk(h.FS(), "/home/ubuntu/.vnfkit", func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			names = append(names, path)
		}
		return nil
	})
	return names
}

func clusterPlay() ansible.Play {
	return ansible.Play{
		Name: "kubespray/op-1/instantiate_end/cluster.yml", Dir: root, Playbook: "cluster.yml",
		Inventory: []string{"/home/ubuntu/inventory/hosts.ini"},
		Vars:      map[string]any{"node": "worker-1", "skip_confirmation": true},
	}
}

// within returns a context for what must succeed.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
