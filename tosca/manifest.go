package tosca

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// compareManifest warns of a manifest that names another product than the VNFD (SOL004 v3.3.1 clause 4.3.2). It compares only values that
// both have.
func (v *VNFD) compareManifest(m *csar.Manifest, r *report.Report) {
	if m == nil {
		return
	}
	for _, compared := range []struct{ name, manifest, vnfd string }{
		{"descriptor id", m.Metadata.DescriptorID, v.ID},
		{"provider", m.Metadata.ProviderID, v.Provider},
		{"product name", m.Metadata.ProductName, v.ProductName},
		{"software version", m.Metadata.SoftwareVersion, v.SoftwareVersion},
	} {
		if compared.manifest == "" || compared.vnfd == "" || compared.manifest == compared.vnfd || strings.HasPrefix(compared.vnfd, "{") {
			continue
		}
		r.Warnf(problem.Position{File: m.File}, problem.OtherProduct, "the %s is %q, and %q in the VNFD", compared.name, compared.manifest, compared.vnfd)
	}
}
