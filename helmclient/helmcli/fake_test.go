package helmcli_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// exit is how a command ended.
type exit int

func (e exit) Error() string { return "exit code " + strconv.Itoa(int(e)) }
func (e exit) ExitCode() int { return int(e) }

var errLost = errors.New("connection lost")

// cluster is what helms on several machines work on.
type cluster struct {
	mu      sync.Mutex
	release *helmclient.Release
	begun   []string // "machine verb"
}

// machine has a helm that knows one release.
type machine struct {
	name    string
	cluster *cluster
	version string
	down    bool
	held    bool // a helm runs, and has the lock
	// deploy is what an operation does; the state of the release is changed by it.
	deploy func(verb string) error
	argvs  [][]string
	inputs []string
	stderr string
	// Of helm 4: how the release was applied, and the CRDs of its chart; what kubectl says when they are created.
	applied, crds, exists string
}

func (m *machine) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.down {
		return errLost
	}
	if !slices.Equal(argv[:2], []string{"/bin/sh", "-c"}) || len(argv) < 10 {
		return fmt.Errorf("not in its frame: %q", argv)
	}
	if m.held && argv[7] != "" {
		return exit(75)
	}
	argv = argv[9:]
	m.argvs = append(m.argvs, argv)
	if stdin != nil {
		text, _ := io.ReadAll(stdin)
		m.inputs = append(m.inputs, string(text))
	}
	if argv[0] != "helm" {
		if argv[0] == "kubectl" && argv[1] == "create" && m.exists != "" {
			_, _ = io.WriteString(stderr, m.exists)
			return exit(1)
		}
		if argv[0] == "mktemp" {
			_, _ = io.WriteString(stdout, strings.Replace(argv[2], "XXXXXXXX", "12345678", 1))
		}
		return nil
	}
	switch argv[1] {
	case "version":
		_, _ = io.WriteString(stdout, m.version)
		return nil
	case "show":
		_, _ = io.WriteString(stdout, m.crds)
		return nil
	case "get":
		if argv[2] == "metadata" {
			_, err := fmt.Fprintf(stdout, `{"applyMethod": %q}`, m.applied)
			return err
		}
		return m.get(stdout, stderr)
	case "install", "upgrade", "rollback", "uninstall":
		m.cluster.begun = append(m.cluster.begun, m.name+" "+argv[1])
		err := m.deploy(argv[1])
		if errors.As(err, new(exit)) {
			_, _ = io.WriteString(stderr, m.stderr)
		}
		return err
	}
	return nil
}

func (m *machine) get(stdout, stderr io.Writer) error {
	r := m.cluster.release
	if r == nil {
		_, _ = io.WriteString(stderr, "Error: release: not found\n")
		return exit(1)
	}
	_, err := fmt.Fprintf(stdout, "name %q\nnamespace %q\nrevision %d\nstate %q\nupdated %q\ndescription %q\nmanifest %q\n", r.Release, r.Namespace, r.Revision, r.State,
		r.Updated.Format(time.RFC3339Nano), r.Description, r.Manifest)
	return err
}

// becomes changes the release.
func (c *cluster) becomes(n helmclient.Name, revision int, s helmclient.State) {
	c.release = &helmclient.Release{Name: n, Revision: revision, State: s, Updated: time.Now()}
}

// machines returns a client with n machines of one cluster, whose operations succeed.
func machines(t *testing.T, n int) (*helmcli.Client, []*machine, *cluster) {
	t.Helper()
	c := &cluster{}
	var list []*machine
	var config helmcli.Config
	config.Dir = "/var/tacker/helm/x"
	for i := range n {
		m := &machine{name: fmt.Sprintf("m%d", i+1), cluster: c, version: "v3.22.0"}
		m.deploy = func(verb string) error {
			if verb == "uninstall" {
				c.release = nil
				return nil
			}
			revision := 1
			if c.release != nil {
				revision = c.release.Revision + 1
			}
			c.becomes(helmclient.Name{Namespace: "default", Release: "web"}, revision, helmclient.Deployed)
			return nil
		}
		list = append(list, m)
		config.Machines = append(config.Machines, helmcli.Machine{Name: m.name, Runner: m})
	}
	client, err := helmcli.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client, list, c
}
