package csar

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// parseManifest reads a manifest and reports its faults to the judge.
func parseManifest(file, content string, j judge) *Manifest {
	body, cms, after := splitSignature(content)
	p := &manifestParser{judge: j, m: &Manifest{File: file, signed: []byte(body)}, listed: map[string]problem.Position{}}
	pos := problem.Position{File: file, Column: 1}
	for text := range strings.Lines(strings.TrimPrefix(body, "\uFEFF")) {
		pos.Line++
		p.line(strings.TrimRight(text, " \t\r\n"), pos)
	}
	p.endSource()
	p.checkMetadata()
	if cms != "" {
		p.m.cms, p.m.cmsPos = []byte(cms), pos
		p.m.cmsPos.Line++
		if !strings.Contains(cms, "\n"+endMark) {
			j.fault(p.m.cmsPos, problem.Manifest, "the signature has no end")
		}
	}
	if strings.TrimSpace(after) != "" {
		pos.Line += 1 + strings.Count(cms, "\n")
		j.fault(pos, problem.Manifest, "there is text after the signature, which the signature does not cover")
	}
	return p.m
}

const (
	beginMark = "-----BEGIN "
	endMark   = "-----END "
)

// splitSignature splits a manifest at its signature (SOL004 4.3.6) into the text before, the signature and the text after it.
func splitSignature(content string) (body, cms, after string) {
	at := lineWith(content, beginMark)
	if at < 0 {
		return content, "", ""
	}
	body, cms = content[:at], content[at:]
	if stop := lineWith(cms, endMark); stop >= 0 {
		if n := strings.IndexByte(cms[stop:], '\n'); n >= 0 {
			cms, after = cms[:stop+n+1], cms[stop+n+1:]
		}
	}
	return body, cms, after
}

// lineWith returns the offset of the first line that starts with a mark, -1 without such a line.
func lineWith(text, mark string) int {
	if strings.HasPrefix(text, mark) {
		return 0
	}
	if at := strings.Index(text, "\n"+mark); at >= 0 {
		return at + 1
	}
	return -1
}

// manifestParser reads a manifest line by line. It recognizes sections by their keys, because real manifests are not
// indented reliably.
type manifestParser struct {
	judge   judge
	m       *Manifest
	section section
	// set is the non-MANO set that is being read, setIndent is the indentation of its name.
	set       *ArtifactSet
	setIndent int
	source    *Source // the source that is being read
	// kind and kindPos are the kind and position of the first metadata key that belongs to one kind of packages.
	kind    *packageKind
	kindPos problem.Position
	listed  map[string]problem.Position // sources by name
}

type section int

const (
	sources section = iota
	metadata
	nonMANO
)

func (p *manifestParser) line(text string, pos problem.Position) {
	trimmed := strings.TrimLeft(text, " \t")
	if trimmed == "" || trimmed[0] == '#' {
		return
	}
	key, value, ok := cutKey(trimmed)
	if !ok || key == "" {
		p.judge.fault(pos, problem.Manifest, "not of the form \"key: value\"")
		return
	}
	indent := len(text) - len(trimmed)
	switch field := p.field(key); {
	case key == "metadata" && value == "":
		if len(p.listed) > 0 || len(p.m.NonMANO) > 0 {
			p.judge.report.Warnf(pos, problem.ManifestMetadata, "the metadata must be the beginning of the manifest")
		}
		p.begin(metadata)
	case key == "non_mano_artifact_sets" && value == "":
		p.begin(nonMANO)
	case key == "source" || key == "name" && p.section == sources:
		p.begins(value, indent, pos)
	case field != nil:
		p.fill(field, key, value, pos)
	case p.section == metadata:
		p.metadata(key, value, pos)
	case p.section == nonMANO && (value == "" || value[0] == '#'):
		p.endSource()
		name, _, _ := strings.Cut(trimmed, ":")
		p.m.NonMANO = append(p.m.NonMANO, ArtifactSet{Name: strings.TrimSpace(name)})
		p.set, p.setIndent = &p.m.NonMANO[len(p.m.NonMANO)-1], indent
	case isSourceKey(key):
		p.judge.fault(pos, problem.Manifest, "%q belongs to no Source", key)
	default:
		p.judge.report.Warnf(pos, problem.Manifest, "the key %q is not known here", key)
	}
}

func (p *manifestParser) begin(s section) {
	p.endSource()
	p.section, p.set = s, nil
}

// begins starts a source. After indented sets, a source without indentation belongs to the list of the manifest again.
func (p *manifestParser) begins(name string, indent int, pos problem.Position) {
	p.endSource()
	switch {
	case p.section == metadata, p.section == nonMANO && indent == 0 && p.setIndent > 0:
		p.begin(sources)
	case p.section == nonMANO && p.set == nil:
		p.judge.fault(pos, problem.Manifest, "the source belongs to no set of non-MANO artifacts")
	}
	if name == "" {
		p.judge.fault(pos, problem.Manifest, "a source without a path")
	}
	if before, isListed := p.listed[name]; isListed && p.section == sources {
		p.judge.report.Warnf(pos, problem.Manifest, "%s is listed already in line %d", name, before.Line)
	}
	p.listed[name] = pos
	p.source = &Source{Name: name, Pos: pos}
}

// field returns the field for a key of the current source, nil for other keys.
func (p *manifestParser) field(key string) *string {
	if p.source == nil {
		return nil
	}
	switch key {
	case "algorithm":
		return &p.source.Algorithm
	case "hash":
		return &p.source.Hash
	case "signature":
		return &p.source.Signature
	case "certificate":
		return &p.source.Certificate
	}
	return nil
}

func isSourceKey(key string) bool {
	switch key {
	case "algorithm", "hash", "signature", "certificate":
		return true
	}
	return false
}

func (p *manifestParser) fill(field *string, key, value string, pos problem.Position) {
	switch {
	case value == "":
		p.judge.fault(pos, problem.Manifest, "%q has no value", key)
	case *field != "":
		p.judge.fault(pos, problem.Manifest, "%q stands twice for one source", key)
	default:
		*field = value
	}
}

// endSource stores the current source, which is complete.
func (p *manifestParser) endSource() {
	s := p.source
	if p.source = nil; s == nil || s.Name == "" {
		return
	}
	switch {
	case s.Hash != "" && s.Algorithm == "":
		p.judge.fault(s.Pos, problem.Manifest, "%s has a Hash without an Algorithm", s.Name)
	case s.Hash == "" && s.Algorithm != "":
		p.judge.fault(s.Pos, problem.Manifest, "%s has an Algorithm without a Hash", s.Name)
	case s.Certificate != "" && s.Signature == "":
		p.judge.fault(s.Pos, problem.Manifest, "%s has a Certificate without a Signature", s.Name)
	}
	switch {
	case p.section != nonMANO:
		p.m.Sources = append(p.m.Sources, *s)
	case p.set != nil:
		p.set.Sources = append(p.set.Sources, *s)
	}
}
