package hot

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/bounded"
)

// Template is a base HOT with all files that it and its nested templates refer to.
type Template struct {
	file
	// files holds these files by the text of the reference: Heat uses the same key.
	files map[string]*file
	fsys  fs.FS
	// shown are the files of a stack, which take the place of fsys.
	shown map[string]string
}

// file is a file of the package. Nested templates are parsed, other files are not.
type file struct {
	path    string
	text    []byte
	root    *yaml.Node // nil for files that only get_file names
	changed bool
}

// ErrTemplate is wrapped by all errors about the templates of a package: a template that is missing, cannot be read or
// parsed, or cannot be changed as an operation needs.
var ErrTemplate = errors.New("heat template")

// Limits of the templates of a package. Heat refuses a template of more than 512 KiB (max_template_size).
const (
	maxFile  = 512 << 10
	maxFiles = 100
	maxNodes = 100_000
	maxDepth = 100
)

// fault returns an error that names the file and the line of n.
func (f *file) fault(n *yaml.Node, format string, args ...any) error {
	at := f.path
	if n != nil && n.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.path, n.Line)
	}
	return fmt.Errorf("%w %s: %s", ErrTemplate, at, fmt.Sprintf(format, args...))
}

// Load reads the base HOT of a deployment flavour and the files that it refers to. The base HOT is the only file with the
// extension .yaml, .yml or .hot in BaseHOT/<flavour> or, if that folder has none, in BaseHOT. Errors wrap ErrTemplate and
// name file and line.
func Load(pkg fs.FS, flavour string) (*Template, error) {
	name, err := baseOf(pkg, flavour)
	if err != nil {
		return nil, err
	}
	t := &Template{files: map[string]*file{}, fsys: pkg}
	base, err := t.read(name)
	if err != nil {
		return nil, err
	}
	t.file = *base
	if err := t.parse(&t.file); err != nil {
		return nil, err
	}
	return t, t.resolve(&t.file, nil)
}

// Parse reads the template of a stack with its files, as Heat shows them. The keys of files are the texts of the references. Errors wrap
// ErrTemplate.
func Parse(text string, files map[string]string) (*Template, error) {
	t := &Template{file: file{path: "template of the stack", text: []byte(text)}, files: map[string]*file{}, shown: files}
	if t.shown == nil {
		t.shown = map[string]string{}
	}
	if err := t.parse(&t.file); err != nil {
		return nil, err
	}
	return t, t.resolve(&t.file, nil)
}

// baseOf finds the file of the base HOT.
func baseOf(pkg fs.FS, flavour string) (string, error) {
	if !fs.ValidPath(flavour) || strings.Contains(flavour, "/") || flavour == "." {
		return "", fmt.Errorf("%w: the flavour %q names no folder", ErrTemplate, flavour)
	}
	for _, dir := range []string{"BaseHOT/" + flavour, "BaseHOT"} {
		entries, err := fs.ReadDir(pkg, dir)
		if err != nil {
			continue
		}
		var found []string
		for _, e := range entries {
			if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".hot"}, path.Ext(e.Name())) {
				found = append(found, path.Join(dir, e.Name()))
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return "", fmt.Errorf("%w: %s has several templates, one is wanted: %s", ErrTemplate, dir, strings.Join(found, ", "))
		}
	}
	return "", fmt.Errorf("%w: the package has none for flavour %s: one .yaml file in BaseHOT/%s is wanted", ErrTemplate, flavour, flavour)
}

// read reads a file of the package. It refuses files larger than maxFile.
func (t *Template) read(name string) (*file, error) {
	out := &file{path: name}
	if t.shown != nil {
		out.text = []byte(t.shown[name])
		return out, nil
	}
	f, err := t.fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	defer f.Close()
	out.text, err = bounded.Read(f, maxFile)
	if errors.Is(err, bounded.ErrTooLarge) {
		return nil, out.fault(nil, "%v, which Heat does not take", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	return out, nil
}

// parse parses a template into f.root: one mapping, without aliases, of bounded size.
func (t *Template) parse(f *file) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(f.text, &doc); err != nil {
		return f.fault(nil, "%v", err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return f.fault(&doc, "is no mapping")
	}
	nodes := 0
	root, err := f.flat(doc.Content[0], &nodes, 0)
	if err != nil {
		return err
	}
	f.root = root
	if resources := get(f.root, "resources"); resources == nil || resources.Kind != yaml.MappingNode {
		return f.fault(f.root, "has no resources")
	}
	if get(f.root, "heat_template_version") == nil {
		return f.fault(f.root, "has no heat_template_version")
	}
	return nil
}

// flat copies a tree and replaces each alias by a copy of its target. Then a change of one copy does not change another.
func (f *file) flat(n *yaml.Node, nodes *int, level int) (*yaml.Node, error) {
	if *nodes++; *nodes > maxNodes || level > maxDepth {
		return nil, f.fault(n, "is too large or nested too deeply")
	}
	if n.Kind == yaml.AliasNode {
		return f.flat(n.Alias, nodes, level+1)
	}
	if n.Kind == yaml.MappingNode {
		if err := f.keys(n); err != nil {
			return nil, err
		}
	}
	out := *n
	out.Anchor, out.Content = "", make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		var err error
		if out.Content[i], err = f.flat(c, nodes, level+1); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// keys refuses a mapping with a key that is not a string, or with the same key twice: YAML does not define which of the
// two values counts.
func (f *file) keys(n *yaml.Node) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode:
			return f.fault(key, "a key is no text")
		case seen[key.Value]:
			return f.fault(key, "the key %q comes twice", key.Value)
		}
		seen[key.Value] = true
	}
	return nil
}

// resolve reads the files that a template refers to. above holds the templates that include f, the base HOT first.
func (t *Template) resolve(f *file, above []string) error {
	above = append(above, f.path)
	if len(above) > 10 {
		return f.fault(nil, "templates are nested too deeply: %s", strings.Join(above, ", "))
	}
	var err error
	walk(get(f.root, "resources"), func(key string, value *yaml.Node) {
		if err != nil || value.Kind != yaml.ScalarNode {
			return
		}
		switch nested := isNested(value.Value); {
		case key == "type" && nested, key == "get_file":
			err = t.include(f, value, key == "type", above)
		}
	})
	return err
}

// include reads the file of one reference.
func (t *Template) include(from *file, ref *yaml.Node, nested bool, above []string) error {
	name, err := t.find(from, ref)
	if err != nil {
		return err
	}
	if slices.Contains(above, name) {
		return from.fault(ref, "%s leads back to itself", ref.Value)
	}
	if known := t.files[ref.Value]; known != nil {
		if known.path != name {
			return from.fault(ref, "%q means %s here and %s elsewhere: Heat can tell them apart by this text only", ref.Value, name, known.path)
		}
		if !nested || known.root != nil {
			return nil
		}
	}
	if len(t.files) >= maxFiles {
		return from.fault(ref, "the template refers to more than %d files", maxFiles)
	}
	f, err := t.read(name)
	if err != nil {
		return err
	}
	t.files[ref.Value] = f
	if !nested {
		return nil
	}
	if err := t.parse(f); err != nil {
		return err
	}
	return t.resolve(f, slices.Clone(above))
}

// find returns the path of a referenced file in the package. It looks in the folder of from, in the folder nested beside
// the base HOT, and in the folder of the base HOT.
func (t *Template) find(from *file, ref *yaml.Node) (string, error) {
	if strings.Contains(ref.Value, "://") || path.IsAbs(ref.Value) || strings.Contains(ref.Value, "\\") || strings.HasPrefix(ref.Value, "file:") {
		return "", from.fault(ref, "%q is no path within the package", ref.Value)
	}
	if t.shown != nil {
		if _, there := t.shown[ref.Value]; !there {
			return "", from.fault(ref, "%q is not among the files of the stack", ref.Value)
		}
		return ref.Value, nil
	}
	base := path.Dir(t.path)
	for _, dir := range []string{path.Dir(from.path), path.Join(base, "nested"), base} {
		name := path.Join(dir, ref.Value)
		if !fs.ValidPath(name) {
			return "", from.fault(ref, "%q leads out of the package", ref.Value)
		}
		if info, err := fs.Stat(t.fsys, name); err == nil && info.Mode().IsRegular() {
			return name, nil
		}
	}
	return "", from.fault(ref, "%q is not in the package, neither beside this file nor in %s", ref.Value, path.Join(base, "nested"))
}

// isNested reports whether Heat takes a resource type as the name of a nested template.
func isNested(kind string) bool {
	return strings.HasSuffix(kind, ".yaml") || strings.HasSuffix(kind, ".template")
}

// Text returns the base HOT for a request to Heat.
func (t *Template) Text() string { return t.render() }

// Files returns the other files for a request to Heat. Keys are the texts with which templates refer to the files.
func (t *Template) Files() map[string]string {
	out := map[string]string{}
	for ref, f := range t.files {
		out[ref] = f.render()
	}
	return out
}

// render returns the text of the file. A file that was not changed keeps its original bytes.
func (f *file) render() string {
	if !f.changed {
		return string(f.text)
	}
	text, err := yaml.Marshal(f.root)
	if err != nil { // a tree that was parsed can be written
		return string(f.text)
	}
	return string(text)
}
