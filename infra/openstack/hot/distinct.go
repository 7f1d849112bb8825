package hot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// digestLength is how many hexadecimal digits of a digest a name has.
const digestLength = 12

// digestName puts the digest of a text between the name and its extension: worker.yaml becomes worker-0123456789ab.yaml.
func digestName(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:])[:digestLength] + ext
}

// DistinctFiles renames files, so that no name stands for another text than in taken, the files of a stack: Heat merges the files of an
// update with those of the stack, and finds them by these names only. A file has its own name, if taken has the same text or no file under
// it, or else a name with the digest of its text.
func (t *Template) DistinctFiles(taken map[string]string) {
	d := distinction{of: t, taken: taken, names: map[string]string{}}
	d.visit(&t.file)
	files := map[string]*file{}
	for ref, f := range t.files {
		files[d.names[ref]] = f
	}
	t.files = files
}

// distinction renames the files of one template.
type distinction struct {
	of    *Template
	taken map[string]string
	names map[string]string // by the former name
}

// visit renames the references in a template, those in its nested templates first: the text of a template has the names of its files.
func (d *distinction) visit(f *file) {
	walk(get(f.root, "resources"), func(key string, value *yaml.Node) {
		if value.Kind != yaml.ScalarNode || key != "get_file" && (key != "type" || !isNested(value.Value)) {
			return
		}
		if name := d.name(value.Value); name != value.Value {
			value.Value, f.changed = name, true
		}
	})
}

func (d *distinction) name(ref string) string {
	if name, known := d.names[ref]; known {
		return name
	}
	f := d.of.files[ref]
	if f.root != nil {
		d.visit(f)
	}
	text, name := f.render(), ref
	distinct := digestName(ref, text)
	if other, there := d.taken[ref]; there && other != text || d.taken[distinct] == text {
		name = distinct
	}
	d.names[ref] = name
	return name
}

// configTypes are the types of configurations, such as scripts of cloud-init. Heat replaces a configuration that changes, and with it what
// refers to it.
var configTypes = []string{"OS::Heat::SoftwareConfig", "OS::Heat::CloudConfig", "OS::Heat::MultipartMime"}

// DistinctConfigs renames configurations, so that none has the name of another one in from, the template of a stack with the values of its
// parameters: servers that have not changed keep the old configuration. One that is like that of the stack gets the name of it.
func (t *Template) DistinctConfigs(parameters map[string]any, from *Template, former map[string]any) {
	was := scope{of: from, file: &from.file, parameters: former}
	for { // a configuration can refer to others
		is, renamed := scope{of: t, file: &t.file, parameters: parameters}, false
		for _, r := range t.Resources() {
			if !slices.Contains(configTypes, r.Type) {
				continue
			}
			value := is.value(at(t.root, "resources", r.Name))
			if name := configName(r.Name, value, was); name != r.Name {
				t.renameResource(r.Name, name)
				renamed = true
				break
			}
		}
		if !renamed {
			return
		}
	}
}

// configName returns the name for a configuration beside those of a stack.
func configName(name string, value any, was scope) string {
	base := cutDigest(name)
	isTaken := false
	for _, r := range was.of.Resources() {
		if cutDigest(r.Name) != base {
			continue
		}
		if reflect.DeepEqual(was.value(at(was.file.root, "resources", r.Name)), value) {
			return r.Name
		}
		isTaken = isTaken || r.Name == name
	}
	if !isTaken {
		return name
	}
	text, err := json.Marshal(value)
	if err != nil { // the values come from YAML
		return name
	}
	return digestName(base, string(text))
}

// KeepConfigNames gives configurations the names with a digest that they have in from, the template of a stack.
func (t *Template) KeepConfigNames(from *Template) {
	for _, r := range t.Resources() {
		if !slices.Contains(configTypes, r.Type) || from.Resource(r.Name) != nil {
			continue
		}
		for _, known := range from.Resources() {
			if known.Type == r.Type && cutDigest(known.Name) == r.Name {
				t.renameResource(r.Name, known.Name)
				break
			}
		}
	}
}

// cutDigest returns a name without the digest at its end.
func cutDigest(name string) string {
	at := len(name) - digestLength - 1
	if at <= 0 || name[at] != '-' || strings.Trim(name[at+1:], "0123456789abcdef") != "" {
		return name
	}
	return name[:at]
}

// renameResource renames a resource of the base HOT.
func (t *Template) renameResource(from, to string) {
	resources := get(t.root, "resources")
	set(resources, to, get(resources, from))
	remove(resources, from)
	t.changed = true
	rename := func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && n.Value == from {
			n.Value = to
		}
	}
	walk(t.root, func(key string, value *yaml.Node) {
		switch {
		case key == "get_resource", key == "depends_on":
			rename(value)
		case key == "get_attr" && value.Kind == yaml.SequenceNode && len(value.Content) > 0:
			rename(value.Content[0])
		}
		if key == "depends_on" {
			for _, n := range value.Content {
				rename(n)
			}
		}
	})
}
