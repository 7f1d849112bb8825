package csar

import (
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// packageKind is a kind of packages, whose manifests have metadata of their kind.
type packageKind struct {
	name string
	// prefixes are those of the keys.
	prefixes []string
	// required are the keys that must be there, further those that may be.
	required, further []string
}

// packageKinds are VNF packages and archives of a PNFD (SOL004 v3.3.1 clause 4.3.2), and packages of an NSD (SOL007 v2.6.1 clause 4.3.2).
// Keys that older versions do not have are not required.
var packageKinds = []packageKind{
	{
		"a VNF package", []string{"vnf_", "vnfd_", "vnfm_"},
		[]string{"vnf_product_name", "vnf_provider_id", "vnf_package_version", "vnf_release_date_time"},
		[]string{"vnfd_id", "vnf_software_version", "vnfm_info"},
	},
	{
		"an archive of a PNFD", []string{"pnfd_", "pnf_"},
		[]string{"pnfd_name", "pnfd_provider", "pnfd_archive_version", "pnfd_release_date_time"},
		[]string{"pnfd_id", "pnfd_invariant_id"},
	},
	{
		"a package of an NSD", []string{"nsd_"},
		[]string{"nsd_name", "nsd_designer", "nsd_file_structure_version", "nsd_release_date_time"},
		[]string{"nsd_invariant_id"},
	},
}

// kindOfKey returns the kind of packages that a metadata key belongs to, nil for a key of all kinds, such as
// compatible_specification_versions.
func kindOfKey(key string) *packageKind {
	for i, kind := range packageKinds {
		for _, prefix := range kind.prefixes {
			if strings.HasPrefix(key, prefix) {
				return &packageKinds[i]
			}
		}
	}
	return nil
}

// field returns the field for a metadata key of the specifications, nil for other keys.
func (m *Metadata) field(key string) *string {
	switch key {
	case "vnf_product_name", "pnfd_name", "nsd_name":
		return &m.ProductName
	case "vnf_provider_id", "pnfd_provider", "nsd_designer":
		return &m.ProviderID
	case "vnf_package_version", "pnfd_archive_version", "nsd_file_structure_version":
		return &m.PackageVersion
	case "vnf_release_date_time", "pnfd_release_date_time", "nsd_release_date_time":
		return &m.ReleaseDateTime
	case "vnfd_id", "pnfd_id", "pnfd_invariant_id", "nsd_invariant_id":
		return &m.DescriptorID
	case "vnf_software_version":
		return &m.SoftwareVersion
	}
	return nil
}

// misspelled maps keys that real packages use to the keys of SOL004.
var misspelled = map[string]string{
	"vnf_release_data_time":  "vnf_release_date_time",
	"pnfd_release_data_time": "pnfd_release_date_time",
	"pnf_product_name":       "pnfd_name",
	"pnf_provider_id":        "pnfd_provider",
	"pnf_package_version":    "pnfd_archive_version",
	"pnf_release_date_time":  "pnfd_release_date_time",
}

// metadata handles a line of the metadata block.
func (p *manifestParser) metadata(key, value string, pos problem.Position) {
	key = p.metadataKey(key, pos)
	if value == "" {
		p.judge.report.Warnf(pos, problem.ManifestMetadata, "%q has no value", key)
		return
	}
	m := &p.m.Metadata
	field := m.field(key)
	switch {
	case field == nil:
		if m.Other == nil {
			m.Other = map[string]string{}
		}
		m.Other[key] = value
		return
	case *field != "":
		p.judge.fault(pos, problem.Manifest, "%q, or what means the same, stands twice", key)
		return
	}
	*field = value
	if field == &m.ReleaseDateTime && !isRFC3339(value) {
		p.judge.report.Add(problem.Problem{Position: pos, Severity: problem.Warning, Code: problem.ReleaseTime,
			Message: "the release time is \"" + value + "\"", Expected: "a date with a time as in RFC 3339, 2026-11-30T10:00:00Z"})
	}
}

// isRFC3339 reports whether a text is a date with a time. RFC 3339 clause 5.6 allows lower case letters.
func isRFC3339(text string) bool {
	_, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	return err == nil
}

// metadataKey returns the key that a metadata line should have. It reports misspelled keys and those of another kind of packages than
// the keys before.
func (p *manifestParser) metadataKey(key string, pos problem.Position) string {
	kind := kindOfKey(key)
	right := misspelled[key]
	if right == "" && kind != nil && p.m.Metadata.field(key) == nil {
		right = problem.Nearest(key, append(kind.required[:len(kind.required):len(kind.required)], kind.further...))
	}
	if right != "" {
		p.judge.report.Add(problem.Problem{
			Position: pos, Severity: problem.Warning, Code: problem.ManifestMetadata,
			Message: "SOL004 does not know the key \"" + key + "\"", Nearest: right,
		})
	}
	switch {
	case kind == nil:
	case p.kind == nil:
		p.kind, p.kindPos = kind, pos
	case p.kind != kind:
		p.judge.report.Warnf(pos, problem.MixedMetadata, "%q belongs to %s, and the key in line %d to %s", key, kind.name, p.kindPos.Line, p.kind.name)
	}
	if known, isKnown := misspelled[key]; isKnown {
		return known
	}
	return key
}

// checkMetadata reports missing keys that the specification of this kind of packages requires. Keys without value were reported.
func (p *manifestParser) checkMetadata() {
	kind := p.kind
	if kind == nil {
		kind = &packageKinds[0]
	}
	for _, key := range kind.required {
		if *p.m.Metadata.field(key) == "" {
			p.judge.report.Warnf(problem.Position{File: p.m.File}, problem.ManifestMetadata, "the metadata has no %s", key)
		}
	}
}
