package vnflcm

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// secrets returns the values that must not turn up in texts: those at secret paths, those with a telling name that are
// not public, and the passwords of all URLs.
func (p Params) secrets(secret, public pathSet) []string {
	if p.IsZero() {
		return nil
	}
	var tree any
	if err := decodeUseNumber(p.Reveal(), &tree); err != nil {
		return nil
	}
	return secretsIn(tree, secret, public)
}

func secretsIn(tree any, secret, public pathSet) []string {
	return findSecrets("", tree, secret, public)
}

// findSecrets is secretsIn below an attribute of that name.
func findSecrets(name string, tree any, secret, public pathSet) (found []string) {
	switch t := tree.(type) {
	case map[string]any:
		for key, child := range t {
			found = append(found, findSecrets(key, child, secret.key(key), public.key(key))...)
		}
	case []any:
		for _, child := range t {
			found = append(found, findSecrets(name, child, secret.items(), public.items())...)
		}
	case string:
		isSecret := secret.hasLeaf() || secretName(name) && !public.hasLeaf()
		if isSecret {
			found = append(found, t)
		}
		// Parameters of charts and scripts come as name=value.
		if assignee, assigned, ok := strings.Cut(t, "="); ok && (isSecret || secretName(assignee)) {
			found = append(found, assigned)
		}
		found = append(found, urlPasswords(t)...)
	case json.Number:
		if secret.hasLeaf() || secretName(name) && !public.hasLeaf() {
			found = append(found, t.String())
		}
	}
	return found
}

var unseparated = strings.NewReplacer("_", "", "-", "")

// secretName recognises secrets by their attribute where no driver has declared them.
func secretName(path string) bool {
	name := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
	name = unseparated.Replace(name)
	for _, part := range []string{"password", "passwd", "passphrase", "secret", "token", "credential",
		"privatekey", "clientkey", "certificatekey", "sshkey", "apikey", "accesskey", "kubeconfig"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// SecretPaths returns the paths of the Secret fields in a parameter struct, in the form of SecretParams.
func SecretPaths(params any) []string {
	return fieldPaths(params, "secret", func(_ string, t reflect.Type) bool { return t == reflect.TypeFor[Secret]() })
}

// PublicPaths returns the paths of the texts, numbers and booleans in a parameter struct, in the form of PublicParams.
// It leaves out every Secret, every field whose name denotes a secret (password, token), and fields without a type
// (any). The caller must remove texts that may contain secrets, such as a list of options for a program.
func PublicPaths(params any) []string {
	return fieldPaths(params, "public", func(path string, t reflect.Type) bool {
		return !secretName(path) && (t.Kind() == reflect.String || t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64)
	})
}

// pathsOfTypes keeps what fieldPaths has found: documents ask for it again and again.
var pathsOfTypes sync.Map

type pathsOfType struct {
	t    reflect.Type
	kind string
}

func fieldPaths(params any, kind string, wanted func(path string, t reflect.Type) bool) []string {
	key := pathsOfType{reflect.TypeOf(params), kind}
	if found, ok := pathsOfTypes.Load(key); ok {
		return slices.Clone(found.([]string))
	}
	var out []string
	walkTypes("", key.t, func(path string, t reflect.Type) {
		if wanted(path, t) {
			out = append(out, path)
		}
	})
	slices.Sort(out)
	out = slices.Compact(out)
	pathsOfTypes.Store(key, out)
	return slices.Clone(out)
}

// walkTypes visits the types in a parameter struct that are no structs, lists or maps.
func walkTypes(path string, t reflect.Type, visit func(path string, t reflect.Type)) {
	switch {
	case t.Implements(revealerType):
		visit(path, t)
	case t.Kind() == reflect.Pointer:
		walkTypes(path, t.Elem(), visit)
	case t.Kind() == reflect.Slice:
		walkTypes(path+listItem, t.Elem(), visit)
		walkTypes(path, t.Elem(), visit) // a lone element may stand for the list
	case t.Kind() == reflect.Map:
		walkTypes(join(path, "*"), t.Elem(), visit)
	case t.Kind() == reflect.Struct:
		for name, index := range jsonFields(t) {
			walkTypes(join(path, name), t.FieldByIndex(index).Type, visit)
		}
	default:
		visit(path, t)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
