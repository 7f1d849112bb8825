// Package kubectl simulates the command line program: "apply -f", which scripts of packages use, and "get node", "drain" and "delete node",
// which kubespray uses. It refuses other commands and flags. Of a patch that the API refuses it says, unlike kubectl, "error when creating".
// TestKubectlContract in package kubesim holds it and the real program to the same answers.
package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// Admin runs fn with the cluster that a kubeconfig file leads to, if its API answers.
type Admin func(kubeconfig string, fn func(*kubeapi.Cluster) error) error

// call is one run of kubectl.
type call struct {
	*program.Call
	asAdmin Admin
}

// Run runs kubectl.
func Run(ctx context.Context, p *program.Call, admin Admin) error {
	c := &call{p, admin}
	kubeconfig := path.Join(c.Home(), ".kube/config")
	var file string
	var drain drainOptions
	args, err := c.Flags(c.Args, func(set *pflag.FlagSet) {
		set.StringVar(&kubeconfig, "kubeconfig", kubeconfig, "")
		set.StringVarP(&file, "filename", "f", "", "")
		set.BoolVar(&drain.force, "force", false, "")
		set.BoolVar(&drain.daemons, "ignore-daemonsets", false, "")
		set.BoolVar(&drain.data, "delete-emptydir-data", false, "")
		set.Int("grace-period", -1, "")
		set.Duration("timeout", 0, "")
	})
	if err != nil {
		return fmt.Errorf("%w\nSee 'kubectl %s --help' for usage.", err, c.Args[0])
	}
	switch {
	case len(args) == 3 && (args[0] == "get" || args[0] == "delete") && args[1] == "node":
		return c.node(kubeconfig, args[0], args[2])
	case len(args) == 2 && args[0] == "drain":
		return c.drain(ctx, kubeconfig, args[1], drain)
	case len(args) != 1 || args[0] != "apply":
		return fmt.Errorf("error: unknown command %q for \"kubectl\"", strings.Join(args, " "))
	case file == "":
		return errors.New("error: must specify one of -f and -k")
	}
	text, err := c.Read(file)
	if err != nil {
		return fmt.Errorf("error: the path %q does not exist", file)
	}
	m := manifest{source: file}
	if file == "-" {
		m.source = "STDIN"
	}
	return c.asAdmin(kubeconfig, func(cl *kubeapi.Cluster) error { return c.apply(cl, m, string(text)) })
}

// manifest is where objects are from.
type manifest struct{ source string }

// documents finds where a YAML document begins.
var documents = regexp.MustCompile(`(?m)^---.*\n?`)

// apply sends the objects of a manifest to the API. One that is refused does not keep those after it from the API; text that is no YAML
// does.
func (c *call) apply(cl *kubeapi.Cluster, m manifest, text string) error {
	var errs []error
	objects := 0
	for _, document := range documents.Split(text, -1) {
		var decoded any
		if err := yaml.Unmarshal([]byte(document), &decoded); err != nil {
			errs = append(errs, fmt.Errorf("error: error parsing %s: error converting YAML to JSON: %w", m.source, err))
			break
		}
		if decoded == nil {
			continue
		}
		objects++
		if err := c.applyObject(cl, m, decoded); err != nil {
			errs = append(errs, err)
		}
	}
	if objects == 0 && errs == nil {
		return errors.New("error: no objects passed to apply")
	}
	return errors.Join(errs...)
}

func (c *call) applyObject(cl *kubeapi.Cluster, m manifest, decoded any) error {
	var o kubeapi.Object
	if raw, err := json.Marshal(decoded); err != nil || json.Unmarshal(raw, &o) != nil {
		return m.invalid("invalid object to validate")
	}
	version, name := kubeapi.Text(o, "apiVersion"), kubeapi.Text(o, "metadata", "name")
	switch {
	case version == "":
		return m.invalid("apiVersion not set")
	case kubeapi.Text(o, "kind") == "":
		return m.invalid("kind not set")
	}
	kind, known := cl.KindOf(version, kubeapi.Text(o, "kind"))
	namespace := kubeapi.Text(o, "metadata", "namespace")
	if !known {
		return fmt.Errorf("error: resource mapping not found for name: %q namespace: %q from %q: no matches for kind %q in version %q\nensure CRDs are installed first",
			name, namespace, m.source, kubeapi.Text(o, "kind"), version)
	}
	if namespace == "" && kind.Namespaced {
		namespace = "default"
	}
	if name == "" {
		resource := fmt.Sprintf("Resource: \"%s/%s, Resource=%s\", GroupVersionKind: \"%[1]s/%[2]s, Kind=%[4]s\"", kind.Group, kind.Version, kind.Plural, kind.Kind)
		return fmt.Errorf("error: error when retrieving current configuration of:\n%s\nName: \"\", Namespace: %q\nfrom server for: %q: resource name may not be empty",
			resource, namespace, m.source)
	}
	resource := kind.Kind
	if kind.Group != "" {
		resource += "." + kind.Group
	}
	done, err := cl.Apply(kind, namespace, o)
	if err != nil {
		return m.refused(err)
	}
	c.Printf("%s/%s %s\n", strings.ToLower(resource), name, done)
	return nil
}

// invalid is the error of an object that kubectl does not send.
func (m manifest) invalid(reason string) error {
	return fmt.Errorf("error: error validating %q: error validating data: %s; if you choose to ignore these errors, turn validation off with --validate=false", m.source, reason)
}

// refused is the error of an object that the API refused.
func (m manifest) refused(err error) error {
	switch reason := apierrors.ReasonForError(err); reason {
	case "":
		return fmt.Errorf("Error from server: %w", err)
	case "Invalid":
		return fmt.Errorf("The %w", err)
	default:
		return fmt.Errorf("Error from server (%s): error when creating %q: %w", reason, m.source, err)
	}
}
