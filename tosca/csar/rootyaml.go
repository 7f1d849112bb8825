package csar

import (
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// entryInRoot sets the entry definitions of a package without TOSCA.meta: the only YAML file in the root.
func (a *Archive) entryInRoot(r *report.Report) error {
	found := a.rootYAML()
	if len(found) == 1 {
		a.meta.EntryDefinitions = found[0]
		if name := stem(found[0]) + ".mf"; a.strict && !a.Has(name) {
			r.Warnf(problem.Position{}, problem.MissingFile, "there is no manifest %s in the root", name)
		}
		return a.readTemplateMetadata(r)
	}
	near := a.nearMiss()
	switch {
	case near != "":
		r.Errorf(problem.Position{}, problem.MissingEntry, "%s", near)
	case len(found) > 1:
		r.Errorf(problem.Position{}, problem.MissingEntry, "there is no %s, and %d YAML files in the root instead of one", metaFile, len(found))
	default:
		r.Errorf(problem.Position{}, problem.MissingEntry, "there is neither %s nor a YAML file in the root", metaFile)
	}
	return nil
}

// rootYAML returns the YAML files in the root.
func (a *Archive) rootYAML() []string { return a.yamlIn(".") }

// yamlIn returns the YAML files in a folder.
func (a *Archive) yamlIn(folder string) (found []string) {
	for name := range a.source.listed.files {
		suffix := strings.ToLower(path.Ext(name))
		if path.Dir(name) == folder && (suffix == ".yaml" || suffix == ".yml") {
			found = append(found, name)
		}
	}
	return found
}

// readTemplateMetadata reads the metadata of the YAML file that replaces TOSCA.meta (TOSCA Simple Profile 1.3 clause 6.3). It parses only
// the metadata, because the whole file is parsed with the descriptor.
func (a *Archive) readTemplateMetadata(r *report.Report) error {
	content, err := a.Document(a.meta.EntryDefinitions)
	if err != nil {
		return r.Take(err)
	}
	// Ignore faults of the YAML, which are reported when the whole file is parsed.
	root := yamltree.NewParser(&report.Report{}).Parse(a.meta.EntryDefinitions, metadataBlock(content))
	metadata := root.Get("metadata")
	a.meta.CreatedBy = metadata.Get("template_author").Str()
	a.meta.TemplateName = metadata.Get("template_name").Str()
	a.meta.TemplateVersion = metadata.Get("template_version").Str()
	return nil
}

// metadataBlock returns the top level key metadata of a document with its value.
func metadataBlock(content []byte) []byte {
	var block strings.Builder
	inside := false
	for line := range strings.Lines(string(content)) {
		if first := line[0]; first != ' ' && first != '\t' && first != '#' && first != '\n' && first != '\r' {
			inside = strings.HasPrefix(line, "metadata:") && block.Len() == 0
		}
		if inside {
			block.WriteString(line)
		}
	}
	return []byte(block.String())
}
