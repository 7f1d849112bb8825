// Package kubectl simulates the command line program: "apply -f", which scripts of packages use, and "get node", "drain" and "delete node",
// which kubespray uses. It refuses other commands and flags. TestKubectlContract in package kubesim asks it and the real program which
// manifests they apply.
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
		return err
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
	return c.asAdmin(kubeconfig, func(cl *kubeapi.Cluster) error { return c.apply(cl, string(text)) })
}

// documents finds where a YAML document begins.
var documents = regexp.MustCompile(`(?m)^---.*\n?`)

// apply sends the objects of a manifest to the API. One that is refused does not keep those after it from the API; text that is no YAML
// does.
func (c *call) apply(cl *kubeapi.Cluster, text string) error {
	var errs []error
	objects := 0
	for _, document := range documents.Split(text, -1) {
		var decoded any
		if err := yaml.Unmarshal([]byte(document), &decoded); err != nil {
			errs = append(errs, fmt.Errorf("error: error parsing the manifest: %w", err))
			break
		}
		if decoded == nil {
			continue
		}
		objects++
		errs = append(errs, c.applyObject(cl, decoded))
	}
	if objects == 0 && errs == nil {
		return errors.New("error: no objects passed to apply")
	}
	return errors.Join(errs...)
}

func (c *call) applyObject(cl *kubeapi.Cluster, decoded any) error {
	var o kubeapi.Object
	if raw, err := json.Marshal(decoded); err != nil || json.Unmarshal(raw, &o) != nil {
		return errors.New("error: invalid object")
	}
	version, named, name := kubeapi.Text(o, "apiVersion"), kubeapi.Text(o, "kind"), kubeapi.Text(o, "metadata", "name")
	kind, known := cl.KindOf(version, named)
	switch {
	case !known:
		return fmt.Errorf("error: resource mapping not found for name: %q: no matches for kind %q in version %q", name, named, version)
	case name == "":
		return errors.New("error: resource name may not be empty")
	}
	namespace := kubeapi.Text(o, "metadata", "namespace")
	if namespace == "" && kind.Namespaced {
		namespace = "default"
	}
	if err := cl.Apply(kind, namespace, o); err != nil {
		return fmt.Errorf("Error from server: %w", err)
	}
	c.Printf("%s/%s serverside-applied\n", strings.ToLower(kind.Kind), name)
	return nil
}
