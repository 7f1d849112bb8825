package kubesim

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
)

type jsonObject = json.RawMessage

// kubectlFlags are what the simulated kubectl can be told.
type kubectlFlags struct {
	kubeconfig, namespace, output, raw, file string
	ignoreNotFound, ignoreSets               bool
}

// flagsOf says which flags a verb takes, beside those that all take.
var flagsOf = map[string][]string{
	"get":    {"output", "raw", "ignore-not-found"},
	"apply":  {"filename"},
	"drain":  {"ignore-daemonsets", "delete-emptydir-data", "force", "timeout", "skip-wait-for-delete-timeout"},
	"delete": {"ignore-not-found", "wait"},
}

func kubectl(_ context.Context, c *call) error {
	f := kubectlFlags{kubeconfig: path.Join(home(c.process.User), ".kube/config")}
	var known *pflag.FlagSet
	var given []string
	args, err := c.flags(c.args, func(set *pflag.FlagSet) {
		set.StringVar(&f.kubeconfig, "kubeconfig", f.kubeconfig, "")
		set.StringVarP(&f.namespace, "namespace", "n", "default", "")
		set.StringVarP(&f.output, "output", "o", "", "")
		set.StringVar(&f.raw, "raw", "", "")
		set.StringVarP(&f.file, "filename", "f", "", "")
		set.BoolVar(&f.ignoreNotFound, "ignore-not-found", false, "")
		set.BoolVar(&f.ignoreSets, "ignore-daemonsets", false, "")
		set.Bool("delete-emptydir-data", false, "")
		set.Bool("force", false, "")
		set.Duration("timeout", 0, "")
		set.Duration("request-timeout", 0, "")
		set.Int("skip-wait-for-delete-timeout", 0, "")
		set.Bool("wait", true, "")
		known = set
	})
	if err != nil {
		return err
	}
	known.Visit(func(flag *pflag.Flag) { given = append(given, flag.Name) })
	if len(args) == 0 {
		return errors.New("error: no command")
	}
	for _, name := range given {
		if !slices.Contains([]string{"kubeconfig", "namespace", "request-timeout"}, name) && !slices.Contains(flagsOf[args[0]], name) {
			return fmt.Errorf("error: unknown flag: --%s", name)
		}
	}
	var manifest []byte
	if args[0] == "apply" {
		if manifest, err = c.read(f.file); err != nil {
			return err
		}
	}
	return c.asAdmin(f.kubeconfig, func(cl *cluster) error { return c.verb(cl, args, f, manifest) })
}

func home(user string) string {
	if user == "root" {
		return "/root"
	}
	return "/home/" + user
}

func (c *call) verb(cl *cluster, args []string, f kubectlFlags, manifest []byte) error {
	switch args[0] {
	case "get":
		if f.raw != "" {
			c.printf("ok")
			return nil
		}
		return c.get(cl, args[1:], f)
	case "apply":
		return c.apply(cl, manifest)
	case "drain":
		return c.drain(cl, args[1:], f)
	case "delete":
		return c.deleteObject(cl, args[1:], f)
	default:
		return fmt.Errorf("error: unknown command %q for \"kubectl\"", args[0])
	}
}

func (c *call) get(cl *cluster, args []string, f kubectlFlags) error {
	if len(args) == 0 || f.output != "json" {
		return fmt.Errorf("kubesim: get %q -o %q is not simulated", args, f.output)
	}
	kind, name, _ := strings.Cut(args[0], "/")
	if len(args) > 1 {
		name = args[1]
	}
	if slices.Contains([]string{"node", "nodes"}, kind) {
		return c.getNodes(cl, name, f)
	}
	for key, object := range cl.Objects {
		if strings.EqualFold(key, objectKey(kind, f.namespace, name)) {
			c.printf("%s\n", object)
			return nil
		}
	}
	if f.ignoreNotFound {
		return nil
	}
	return notFound(kind, name)
}

func notFound(kind, name string) error {
	return fmt.Errorf("Error from server (NotFound): %ss %q not found", strings.TrimSuffix(strings.ToLower(kind), "s"), name)
}

func (c *call) getNodes(cl *cluster, name string, f kubectlFlags) error {
	var items []any
	for _, n := range cl.Nodes {
		items = append(items, c.nodeObject(cl, n))
	}
	if name == "" {
		return json.NewEncoder(c.process.Stdout).Encode(map[string]any{"kind": "List", "items": items})
	}
	if n := cl.Nodes[name]; n != nil {
		return json.NewEncoder(c.process.Stdout).Encode(c.nodeObject(cl, n))
	}
	if f.ignoreNotFound {
		return nil
	}
	return notFound("node", name)
}

func (c *call) nodeObject(cl *cluster, n *node) any {
	ready, message := "False", "container runtime network not ready: cni plugin not initialized"
	if c.w.ready(cl, n) {
		ready, message = "True", "kubelet is posting ready status"
	}
	labels := map[string]string{"kubernetes.io/hostname": n.Name}
	if n.ControlPlane {
		labels["node-role.kubernetes.io/control-plane"] = ""
	}
	return map[string]any{"kind": "Node",
		"metadata": map[string]any{"name": n.Name, "labels": labels},
		"spec":     map[string]any{"unschedulable": n.Unschedulable},
		"status": map[string]any{
			"addresses":  []any{map[string]any{"type": "InternalIP", "address": n.Address.String()}, map[string]any{"type": "Hostname", "address": n.Name}},
			"conditions": []any{map[string]any{"type": "Ready", "status": ready, "message": message}},
		}}
}

func (c *call) drain(cl *cluster, args []string, f kubectlFlags) error {
	if len(args) != 1 {
		return errors.New("error: USAGE: a node is needed")
	}
	n := cl.Nodes[args[0]]
	switch {
	case n == nil:
		return notFound("node", args[0])
	case !f.ignoreSets:
		return errors.New("error: cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)")
	}
	n.Drained, n.Unschedulable = true, true
	c.printf("node/%s drained\n", n.Name)
	return nil
}

func (c *call) deleteObject(cl *cluster, args []string, f kubectlFlags) error {
	if len(args) != 2 {
		return fmt.Errorf("kubesim: delete %q is not simulated", args)
	}
	kind, name := args[0], args[1]
	if kind == "node" {
		n := cl.Nodes[name]
		switch {
		case n == nil && f.ignoreNotFound:
			return nil
		case n == nil:
			return notFound(kind, name)
		case !n.Drained && c.w.ready(cl, n):
			return fmt.Errorf("kubesim: node %s is deleted with its pods running: drain it first", name)
		}
		delete(cl.Nodes, name)
		c.printf("node %q deleted\n", name)
		return nil
	}
	if id, isToken := strings.CutPrefix(name, "bootstrap-token-"); isToken && kind == "secret" && f.namespace == "kube-system" {
		for token := range cl.Tokens {
			if strings.HasPrefix(token, id+".") {
				delete(cl.Tokens, token)
			}
		}
		return nil
	}
	for key := range cl.Objects {
		if strings.EqualFold(key, objectKey(kind, f.namespace, name)) {
			delete(cl.Objects, key)
			return nil
		}
	}
	if f.ignoreNotFound {
		return nil
	}
	return notFound(kind, name)
}

// apply keeps the objects of a manifest; a service account token Secret gets its token.
func (c *call) apply(cl *cluster, manifest []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(manifest))
	for {
		var object map[string]any
		if err := d.Decode(&object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("error parsing manifest: %w", err)
		}
		if object == nil {
			continue
		}
		kind, _ := object["kind"].(string)
		meta, _ := object["metadata"].(map[string]any)
		name, _ := meta["name"].(string)
		namespace, _ := meta["namespace"].(string)
		if kind == "" || name == "" || object["apiVersion"] == nil {
			return errors.New("error: error validating data: kind, apiVersion and metadata.name must be set")
		}
		if namespace == "" {
			namespace = "default"
		}
		key := objectKey(kind, namespace, name)
		if _, known := cl.Objects[key]; known && kind == "Secret" {
			c.printf("%s/%s unchanged\n", strings.ToLower(kind), name)
			continue
		}
		if object["type"] == "kubernetes.io/service-account-token" {
			object["data"] = map[string]any{"token": encode("token-" + randomHex(16)), "ca.crt": encode(cl.CA)}
		}
		raw, err := json.Marshal(object)
		if err != nil {
			return err
		}
		cl.Objects[key] = raw
		c.printf("%s/%s created\n", strings.ToLower(kind), name)
	}
}

// objectKey leaves the namespace out for kinds that have none.
func objectKey(kind, namespace, name string) string {
	if strings.HasPrefix(strings.ToLower(kind), "clusterrole") || strings.EqualFold(kind, "namespace") {
		namespace = ""
	}
	return kind + "/" + namespace + "/" + name
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
