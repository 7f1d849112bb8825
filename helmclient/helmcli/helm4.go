package helmcli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
)

// flags4 maps flags of helm 3 to their names in helm 4. An empty name means that helm 4 has no such flag, because the
// behaviour is its default.
var flags4 = map[string]string{
	"install --atomic": "--rollback-on-failure", "upgrade --atomic": "--rollback-on-failure",
	"list --all": "", "status --show-resources": "", "repo --fail-on-repo-update-fail": "",
}

func (m *machine) isHelm4() bool { return m.major.Load() == 4 }

// arguments translates a command line for helm 3 into one for the helm of the machine.
func (m *machine) arguments(argv []string) []string {
	if argv[0] != "helm" || !m.isHelm4() {
		return argv
	}
	var out []string
	for _, argument := range argv {
		flag, changed := flags4[argv[1]+" "+argument]
		if !changed {
			flag = argument
		}
		if flag != "" {
			out = append(out, flag)
		}
	}
	if argv[1] == "install" || argv[1] == "upgrade" {
		out = append(out, "--skip-crds") // helm 4 would change existing CRDs: see createCRDs
	}
	return out
}

// forceConflicts adds --force-conflicts for helm 4, so that an operation sets fields that other clients have changed,
// as helm 3 does. The flag is allowed only with server-side apply: for new releases, and if the revision that helm
// starts from was applied that way.
func (m *machine) forceConflicts(ctx context.Context, o operation, was before) (operation, error) {
	revision := was.revision
	switch {
	case !m.isHelm4() || o.verb == "uninstall":
		return o, nil
	case o.verb == "rollback" && len(o.positional) > 0:
		revision, _ = strconv.Atoi(o.positional[0])
	case o.verb == "rollback":
		revision--
	}
	if revision > 0 && !o.installs(was) {
		out, err := m.helm(ctx, "get", "metadata", o.name.Release, "--namespace="+o.name.Namespace, "--revision="+strconv.Itoa(revision), "--output=json")
		if errors.Is(err, helmclient.ErrNotFound) {
			return o, nil
		}
		var metadata struct {
			ApplyMethod string `json:"applyMethod"`
		}
		if err == nil {
			err = json.Unmarshal(out, &metadata)
		}
		if err != nil || metadata.ApplyMethod != "ssa" {
			return o, err
		}
	}
	o.args = append(o.args[:len(o.args):len(o.args)], "--force-conflicts")
	return o, nil
}

// installs reports whether an operation creates a release.
func (o operation) installs(was before) bool {
	gone := was.revision == 0 || was.state == helmclient.Uninstalled
	return o.verb == "install" || o.orInstall && gone
}

// createCRDs creates the missing CRDs of a chart. Helm 3 does that itself, but not in the dry run that precedes a PostRender and that
// fails for objects of unknown kinds.
func (m *machine) createCRDs(ctx context.Context, o operation, p providedChart, was before) error {
	byHelm := !m.isHelm4() && o.postRender == nil
	if byHelm || o.crds != helmclient.CRDCreate || !o.installs(was) {
		return nil
	}
	return m.withCRDs(ctx, p, func(crds []byte) error {
		_, err := m.run(ctx, command{argv: []string{"kubectl", "create", "--filename=-"}, stdin: bytes.NewReader(crds)})
		if f, ok := errors.AsType[*failure](err); ok && onlyExisting(f.stderr) {
			return nil
		}
		return err
	})
}

// onlyExisting reports whether kubectl's only complaints are about objects that already exist.
func onlyExisting(stderr string) bool {
	for line := range strings.Lines(stderr) {
		if strings.TrimSpace(line) != "" && !strings.Contains(line, "(AlreadyExists)") {
			return false
		}
	}
	return stderr != ""
}

// printer is a plugin for helm 4 that prints the file it gets as an argument: helm 4 accepts only plugins as
// post-renderers.
const printer = `{"apiVersion": "v1", "name": "vnfkit-print", "version": "1.0.0", "type": "postrenderer/v1", "runtime": "subprocess",
"runtimeConfig": {"platformCommand": [{"command": "cat"}]}}
`

// postRenderer returns the arguments that make helm use the content of a file as the result of rendering.
func (m *machine) postRenderer(ctx context.Context, file string) (args []string, err error) {
	program := "cat"
	if m.isHelm4() {
		program = "vnfkit-print"
		err = m.put(ctx, m.dir+"/plugins/vnfkit-print/plugin.yaml", []byte(printer))
	}
	return []string{"--post-renderer=" + program, "--post-renderer-args=" + file}, err
}

// withHooks adds the hooks of a dry run to its manifest, which has none: helm 4 takes the output of a post-renderer for
// the complete result, hooks included.
func (m *machine) withHooks(manifest, dryRun []byte) ([]byte, error) {
	if !m.isHelm4() {
		return manifest, nil
	}
	var rendered struct {
		Hooks []struct {
			Manifest string `json:"manifest"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(dryRun, &rendered); err != nil {
		return nil, err
	}
	for _, hook := range rendered.Hooks {
		manifest = append(append(manifest, "\n---\n"...), hook.Manifest...)
	}
	return manifest, nil
}

// plainYAML writes the documents of a manifest without aliases and maps in braces. helm 4 rewrites the output of a post-renderer by a
// YAML library that turns an empty field of a map in braces into an empty text.
func plainYAML(manifest []byte) ([]byte, error) {
	reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var out bytes.Buffer
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err == nil {
			text, err = yaml.YAMLToJSON(text)
		}
		if err == nil && string(text) == "null" {
			continue
		}
		if err == nil {
			text, err = yaml.JSONToYAML(text)
		}
		if err != nil {
			return nil, fmt.Errorf("helm: the rendered manifest: %w", err)
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
}
