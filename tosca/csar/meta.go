package csar

import (
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

const metaFile = "TOSCA-Metadata/TOSCA.meta"

// Meta is the content of TOSCA-Metadata/TOSCA.meta (SOL004 v2.6.1 clause 4.1).
// A package without that folder has only EntryDefinitions.
type Meta struct {
	// Version is TOSCA-Meta-File-Version, CSARVersion CSAR-Version.
	Version, CSARVersion string
	// CreatedBy is Created-By.
	CreatedBy string
	// EntryDefinitions is the path of the entry file of the VNFD.
	EntryDefinitions string
	// Entries holds the ETSI-Entry-* keys, lower case and without that prefix:
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
	// Algorithm is as written, for instance "SHA-256"; Hash is hexadecimal. Both
	// are "" when the block states no digest.
	Algorithm, Hash string
	// Pos is the Name line.
	Pos problem.Position
}

// readMeta reads TOSCA.meta or, in a package without it, takes the only YAML
// file in the root for the entry definitions (SOL004 v2.6.1 clause 4.1, CSAR
// without TOSCA-Metadata folder).
func (a *Archive) readMeta(r *report.Report) error {
	if !a.Has(metaFile) {
		a.entryInRoot(r)
		return nil
	}
	content, err := a.Document(metaFile)
	if err != nil {
		return r.Take(err)
	}
	a.meta = parseMeta(string(content), r)
	entry := a.meta.EntryDefinitions
	switch clean, inside := resolve(".", entry); {
	case entry == "":
		r.Errorf(problem.Position{File: metaFile}, problem.MissingEntry, "there is no Entry-Definitions")
	case !inside:
		r.Errorf(problem.Position{File: metaFile}, problem.OutsidePackage, "Entry-Definitions %q leads out of the package", entry)
	case !a.Has(clean):
		r.Errorf(problem.Position{File: metaFile}, problem.MissingEntry, "Entry-Definitions %q is not in the package", entry)
	default:
		a.meta.EntryDefinitions = clean
	}
	return nil
}

func (a *Archive) entryInRoot(r *report.Report) {
	var found, inner []string
	for name := range a.source.listed.files {
		if strings.Contains(name, "/") {
			continue
		}
		switch strings.ToLower(path.Ext(name)) {
		case ".yaml", ".yml":
			found = append(found, name)
		case ".csar":
			inner = append(inner, name)
		}
	}
	switch {
	case len(found) == 1:
		a.meta.EntryDefinitions = found[0]
	case len(found) > 1:
		r.Errorf(problem.Position{}, problem.MissingEntry, "there is no %s, and %d YAML files in the root instead of one", metaFile, len(found))
	case len(inner) == 1:
		r.Errorf(problem.Position{File: inner[0]}, problem.NotPackage, "the archive holds a package instead of being one: open this member")
	default:
		r.Errorf(problem.Position{}, problem.MissingEntry, "there is neither %s nor a YAML file in the root", metaFile)
	}
}

// metaParser collects blocks of "key: value" lines.
type metaParser struct {
	report *report.Report
	meta   Meta
	entry  *ArtifactEntry // the Name block being read, nil in the first block
	last   *string        // what a continuation line continues
}

// parseMeta reads TOSCA.meta. Keys are compared without regard to case, since
// most packages of the field write "Created-by".
func parseMeta(content string, r *report.Report) Meta {
	p := metaParser{report: r}
	line := 0
	for text := range strings.Lines(strings.TrimPrefix(content, "\uFEFF")) {
		line++
		p.line(strings.TrimRight(text, "\r\n"), problem.Position{File: metaFile, Line: line, Column: 1})
	}
	p.endBlock()
	return p.meta
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
	key, value, ok := strings.Cut(text, ":")
	if !ok {
		p.report.Errorf(pos, problem.Meta, "not of the form \"key: value\"")
		return
	}
	key = strings.ToLower(strings.TrimSpace(key))
	value = strings.TrimSpace(value)
	if key == "name" {
		p.endBlock()
		p.entry = &ArtifactEntry{Pos: pos}
	}
	p.last = p.place(key)
	if p.last != nil {
		*p.last = value
		return
	}
	if name, isEntry := strings.CutPrefix(key, "etsi-entry-"); isEntry && p.entry == nil {
		if p.meta.Entries == nil {
			p.meta.Entries = map[string]string{}
		}
		p.meta.Entries[name] = value
	}
}

// place is where the value of a key goes; nil for keys that have no field.
func (p *metaParser) place(key string) *string {
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
