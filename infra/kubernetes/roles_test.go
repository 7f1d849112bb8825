package kubernetes_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// needs are the rights that requests need, as "verb group/resource", with " in NAMESPACE".
type needs struct {
	mu   sync.Mutex
	list map[string]bool
}

var verbs = map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

// add notes a request, except those for the kinds and the version of the cluster, which each account may send.
func (n *needs) add(method, path string) {
	path, query, _ := strings.Cut(path, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, parts = parts[1], parts[3:]
	default:
		return
	}
	at := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		at, parts = " in "+parts[1], parts[2:]
	}
	verb, resource := verbs[method], parts[0]
	switch {
	case len(parts) == 1 && verb == "get":
		verb = "list"
		if strings.Contains(query, "watch=") {
			verb = "watch"
		}
	case len(parts) > 2:
		resource += "/" + parts[2]
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list[verb+" "+group+"/"+resource+at] = true
}

// documentedRole is the Role of docs/operations.md.
func documentedRole(t *testing.T) (role rbacv1.Role) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	if err := yaml.UnmarshalStrict([]byte(block), &role); err != nil || len(role.Rules) == 0 {
		t.Fatalf("%d rules: %v", len(role.Rules), err)
	}
	return role
}

// TestMinimalRights compares the requests of the lives of CNFs, in a namespace that exists, with the Role of docs/operations.md: each request is
// allowed, and requests need each resource of the Role.
func TestMinimalRights(t *testing.T) {
	t.Parallel()
	role, n := documentedRole(t), &needs{list: map[string]bool{}}
	t.Run("lives", func(t *testing.T) {
		for name, params := range map[string]string{"charts": twoReleases, "manifests": adoptedPlain} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, kubernetes.VimTypeV1)
				l.create("", "namespaces", `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}`)
				l.cluster.Observe(n.add)
				l.instantiate("simple", params)
				l.scale(vnflcm.ScaleOut, "webs", 1)
				l.scale(vnflcm.ScaleIn, "webs", 1)
				l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: slices.Collect(maps.Keys(l.vnfcs("WEB")))[:1]}))
				l.must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{}))
				l.must(l.Operate(t.Context(), l.id, stopAtOnce))
				l.must(l.Operate(t.Context(), l.id, startAgain))
				l.terminate(vnflcm.TerminateGraceful, `{}`)
				l.cluster.Observe(nil)
			})
		}
	})
	allowed := map[string]bool{"get /namespaces": true}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			used := false
			for _, verb := range rule.Verbs {
				need := verb + " " + rule.APIGroups[0] + "/" + resource + " in " + role.Namespace
				used = used || n.list[need]
				allowed[need] = true
			}
			if !used {
				t.Errorf("no request needs %s", resource)
			}
		}
	}
	for need := range n.list {
		if !allowed[need] {
			t.Errorf("the Role does not allow: %s", need)
		}
	}
}
