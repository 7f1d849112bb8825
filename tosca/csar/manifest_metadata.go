package csar

import "github.com/vnfkit/vnfkit/tosca/problem"

// field returns the field for a metadata key of SOL004 4.3.2, for VNF packages and PNFD archives. It returns nil for other keys.
func (m *Metadata) field(key string) *string {
	switch key {
	case "vnf_product_name", "pnfd_name":
		return &m.ProductName
	case "vnf_provider_id", "pnfd_provider":
		return &m.ProviderID
	case "vnf_package_version", "pnfd_archive_version":
		return &m.PackageVersion
	case "vnf_release_date_time", "pnfd_release_date_time":
		return &m.ReleaseDateTime
	case "vnfd_id", "pnfd_id", "pnfd_invariant_id":
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
	if right, wrong := misspelled[key]; wrong {
		p.judge.report.Add(problem.Problem{
			Position: pos, Severity: problem.Warning, Code: problem.ManifestMetadata,
			Message: "SOL004 does not know the key \"" + key + "\"", Nearest: right,
		})
		key = right
	}
	if value == "" {
		p.judge.report.Warnf(pos, problem.ManifestMetadata, "%q has no value", key)
		return
	}
	m := &p.m.Metadata
	if field := m.field(key); field != nil {
		if *field != "" {
			p.judge.fault(pos, problem.Manifest, "%q, or what means the same, stands twice", key)
			return
		}
		*field = value
		return
	}
	if m.Other == nil {
		m.Other = map[string]string{}
	}
	m.Other[key] = value
}

// checkMetadata reports missing keys that SOL004 requires in the metadata.
func (p *manifestParser) checkMetadata() {
	m := p.m.Metadata
	for _, demanded := range []struct{ value, key string }{
		{m.ProductName, "vnf_product_name"},
		{m.ProviderID, "vnf_provider_id"},
		{m.PackageVersion, "vnf_package_version"},
		{m.ReleaseDateTime, "vnf_release_date_time"},
	} {
		if demanded.value == "" {
			p.judge.report.Warnf(problem.Position{File: p.m.File}, problem.ManifestMetadata, "the metadata has no %s", demanded.key)
		}
	}
}
