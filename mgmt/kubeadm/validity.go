package kubeadm

import (
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	validitySince   = 31                        // first minor version of Kubernetes whose kubeadm has certificateValidityPeriod (v1beta4)
	longestValidity = 10 * 365 * 24 * time.Hour // the life of kubeadm's CAs
	validityParam   = "certificate_validity"
)

// certificateValidity returns how long the certificates of the cluster are valid, 0 for kubeadm's default of a year. check refuses other
// texts.
func (p *clusterParam) certificateValidity() time.Duration {
	d, err := time.ParseDuration(p.CertificateValidity)
	if err != nil {
		return 0
	}
	return d
}

// validity checks certificate_validity.
func (c *checker) validity(p *clusterParam) {
	if p.CertificateValidity == "" {
		return
	}
	switch d := p.certificateValidity(); {
	case p.ScriptPath != "":
		c.Fault(validityParam, "", "has no effect with script_path: the script runs kubeadm")
	case d < time.Minute || d > longestValidity || d%time.Second != 0:
		c.Fault(validityParam, p.CertificateValidity, "must be a time in whole seconds such as 8760h, from 1m to 87600h, after which the CAs end")
	case kubeversion.Minor(p.KubernetesVersion) < validitySince:
		c.Fault(validityParam, p.CertificateValidity, fmt.Sprintf("kubeadm has no such setting in Kubernetes %s: it does from 1.%d on", p.KubernetesVersion, validitySince))
	}
}

// checkValidity refuses a new cluster whose certificates end early, unless the composition allows it.
func (d *Driver) checkValidity(op *vnflcm.Operation, p *parameters) error {
	if v := p.Cluster.certificateValidity(); op.Kind != vnflcm.OpInstantiate || d.config.ShortCertificates || v <= 0 || v >= soon {
		return nil
	}
	c := newChecker(op)
	c.Fault(validityParam, p.Cluster.CertificateValidity, "is less than 720h (30 days), which the program does not allow: the cluster would end if its certificates were not renewed")
	return vnflcm.AtPath(clusterPath, c.Err())
}
