package kubesim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
)

// kubectl supports what scripts of packages use, "apply -f", and what kubespray uses: "get node", "drain" and "delete
// node".
func kubectl(ctx context.Context, c *call) error {
	kubeconfig := path.Join(home(c.process.User), ".kube/config")
	var file string
	var drain drainOptions
	args, err := c.flags(c.args, func(set *pflag.FlagSet) {
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
	}
	manifest, err := c.read(file)
	if err != nil {
		return err
	}
	return c.asAdmin(kubeconfig, func(cl *cluster) error { return c.apply(cl, manifest) })
}

func home(user string) string {
	if user == "root" {
		return "/root"
	}
	return "/home/" + user
}

// apply sends the objects of a manifest to the API.
func (c *call) apply(cl *cluster, manifest []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(manifest))
	for {
		var decoded any
		if err := d.Decode(&decoded); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("error parsing manifest: %w", err)
		}
		if decoded == nil {
			continue
		}
		raw, err := json.Marshal(decoded)
		if err != nil {
			return err
		}
		var o kubeapi.Object
		if err := json.Unmarshal(raw, &o); err != nil {
			return err
		}
		if err := c.applyObject(cl, o); err != nil {
			return fmt.Errorf("Error from server: %w", err)
		}
	}
}

func (c *call) applyObject(cl *cluster, o kubeapi.Object) error {
	kind, known := cl.KindOf(kubeapi.Text(o, "apiVersion"), kubeapi.Text(o, "kind"))
	switch {
	case kubeapi.Text(o, "kind") == "" || kubeapi.Text(o, "apiVersion") == "" || kubeapi.Text(o, "metadata", "name") == "":
		return errors.New("error: error validating data: kind, apiVersion and metadata.name must be set")
	case !known:
		return fmt.Errorf("no matches for kind %q in version %q", kubeapi.Text(o, "kind"), kubeapi.Text(o, "apiVersion"))
	}
	namespace := kubeapi.Text(o, "metadata", "namespace")
	if namespace == "" && kind.Namespaced {
		namespace = "default"
	}
	if err := cl.Apply("kubectl", kind, namespace, o); err != nil {
		return err
	}
	c.printf("%s/%s serverside-applied\n", strings.ToLower(kind.Kind), kubeapi.Text(o, "metadata", "name"))
	return nil
}
