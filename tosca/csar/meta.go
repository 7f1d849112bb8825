package csar

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

const metaFile = "TOSCA-Metadata/TOSCA.meta"

// Meta is the content of TOSCA-Metadata/TOSCA.meta (SOL004 v2.6.1 clause 4.1). For a package without TOSCA.meta it has
// EntryDefinitions and the metadata of the YAML file.
type Meta struct {
	// Version is TOSCA-Meta-File-Version, CSARVersion is CSAR-Version.
	Version, CSARVersion string
	// CreatedBy is Created-By or, in a package without TOSCA.meta, template_author.
	CreatedBy string
	// TemplateName and TemplateVersion are template_name and template_version in the metadata of the YAML file, for a package
	// without TOSCA.meta.
	TemplateName, TemplateVersion string
	// EntryDefinitions is the path of the entry file of the VNFD.
	EntryDefinitions string
	// Entries are the ETSI-Entry-* keys, and the Entry-* keys of SOL004 v2.4.1, in lower case and without the prefix:
	// "manifest", "change-log", "certificate", "licenses", "tests".
	Entries map[string]string
	// Artifacts are the blocks that start with Name, in their order.
	Artifacts []ArtifactEntry
}

// ArtifactEntry is a Name block of TOSCA.meta.
type ArtifactEntry struct {
	// Name is the path of the file in the package.
	Name string
	// ContentType is the media type.
	ContentType string
	// Algorithm is the algorithm as written, for example "SHA-256". Hash is hexadecimal. Both are "" if the block states no
	// digest.
	Algorithm, Hash string
	// Pos is the position of the Name line.
	Pos problem.Position
}

// readMeta reads TOSCA.meta. In a package without TOSCA.meta, the only YAML file in the root is the entry definitions (SOL004 v2.6.1
// clause 4.1, CSAR without TOSCA-Metadata folder).
func (a *Archive) readMeta(r *report.Report) error {
	if a.metaName = a.findMeta(r); a.metaName == "" {
		return a.entryInRoot(r)
	}
	content, err := a.Document(a.metaName)
	if err != nil {
		return r.Take(err)
	}
	p := parseMeta(a.metaName, string(content), r)
	a.meta, a.entryLines = p.meta, p.lines
	a.checkKeys(r)
	a.checkEntries(r)
	a.checkBlocks(r)
	pos := problem.Position{File: a.metaName}
	entry := a.meta.EntryDefinitions
	switch clean, inside := resolve(".", entry); {
	case entry == "":
		r.Errorf(pos, problem.MissingEntry, "there is no Entry-Definitions")
	case !inside:
		r.Errorf(pos, problem.OutsidePackage, "Entry-Definitions %q leads out of the package", entry)
	case !a.Has(clean):
		r.Errorf(pos, problem.MissingEntry, "Entry-Definitions %q is not in the package", entry)
	default:
		a.meta.EntryDefinitions = clean
	}
	return nil
}

// findMeta returns the name of TOSCA.meta, "" in a package without it. A name that differs in case is read unless the package also has the
// form of a package without TOSCA.meta, for which other readers would take it.
func (a *Archive) findMeta(r *report.Report) string {
	if a.Has(metaFile) {
		return metaFile
	}
	name := a.source.listed.misnamedMeta()
	if name == "" {
		return ""
	}
	pos := problem.Position{File: name}
	if root := a.rootYAML(); len(root) == 1 {
		r.Warnf(pos, problem.MisnamedFile, "%s is not read, because it is not named %s and %s is in the root", name, metaFile, root[0])
		return ""
	}
	r.Warnf(pos, problem.MisnamedFile, "%s must be named %s: capital letters count", name, metaFile)
	return name
}

// metaParser collects blocks of "key: value" lines.
type metaParser struct {
	file   string
	report *report.Report
	meta   Meta
	lines  map[string]problem.Position // positions of the keys of the first block, by key in lower case
	entry  *ArtifactEntry              // the Name block being read, nil in the first block
	last   *string                     // value that a continuation line continues
}

// parseMeta reads TOSCA.meta. It ignores the case of keys, because most real packages have "Created-by".
func parseMeta(file, content string, r *report.Report) *metaParser {
	p := &metaParser{file: file, report: r, lines: map[string]problem.Position{}}
	line := 0
	for text := range strings.Lines(strings.TrimPrefix(content, "\uFEFF")) {
		line++
		p.line(strings.TrimRight(text, "\r\n"), problem.Position{File: file, Line: line, Column: 1})
	}
	p.endBlock()
	return p
}

func (p *metaParser) line(text string, pos problem.Position) {
	switch {
	case strings.TrimSpace(text) == "":
		p.endBlock()
		return
	case text[0] == '#':
		return
	case (text[0] == ' ' || text[0] == '\t') && p.last != nil:
		*p.last += strings.TrimSpace(text)
		return
	}
	key, value, ok := cutKey(text)
	if !ok {
		p.report.Errorf(pos, problem.Meta, "not of the form \"key: value\"")
		return
	}
	if key == "name" {
		p.endBlock()
		p.entry = &ArtifactEntry{Pos: pos}
	}
	if p.entry == nil && !p.first(key, pos) {
		return
	}
	p.last = p.field(key)
	if p.last != nil {
		*p.last = value
		return
	}
	if p.entry == nil {
		p.entryKey(key, value)
	}
}

// cutKey splits a line of TOSCA.meta or of a manifest. It returns the key in lower case, because keys ignore case.
func cutKey(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, ":")
	return strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value), ok
}

// first refuses a second line with the same key in the first block, because readers would not agree on the value.
func (p *metaParser) first(key string, pos problem.Position) bool {
	before, twice := p.lines[key]
	if twice {
		p.report.Errorf(pos, problem.Meta, "%q stands already in line %d", key, before.Line)
		return false
	}
	p.lines[key] = pos
	return true
}

// entryKey stores the value of ETSI-Entry-* or Entry-*. ETSI-Entry-* takes precedence.
func (p *metaParser) entryKey(key, value string) {
	name, current := strings.CutPrefix(key, "etsi-entry-")
	if !current {
		var old bool
		if name, old = strings.CutPrefix(key, "entry-"); !old || p.meta.Entries[name] != "" {
			return
		}
	}
	if p.meta.Entries == nil {
		p.meta.Entries = map[string]string{}
	}
	p.meta.Entries[name] = value
}

// entryLine returns the position of an entry in TOSCA.meta.
func (a *Archive) entryLine(name string) problem.Position {
	if pos, ok := a.entryLines["etsi-entry-"+name]; ok {
		return pos
	}
	return a.entryLines["entry-"+name]
}

// field returns the field for a key, nil for a key without a field.
func (p *metaParser) field(key string) *string {
	if p.entry != nil {
		switch key {
		case "name":
			return &p.entry.Name
		case "content-type":
			return &p.entry.ContentType
		case "algorithm":
			return &p.entry.Algorithm
		case "hash":
			return &p.entry.Hash
		}
		return nil
	}
	switch key {
	case "tosca-meta-file-version":
		return &p.meta.Version
	case "csar-version":
		return &p.meta.CSARVersion
	case "created-by":
		return &p.meta.CreatedBy
	case "entry-definitions":
		return &p.meta.EntryDefinitions
	}
	return nil
}

func (p *metaParser) endBlock() {
	if p.entry != nil {
		p.meta.Artifacts = append(p.meta.Artifacts, *p.entry)
	}
	p.entry, p.last = nil, nil
}
