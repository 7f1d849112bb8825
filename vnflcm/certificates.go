package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Certificate is a certificate of a program on a machine of a VNF.
type Certificate struct {
	On        string    `json:"on,omitempty"`      // id of the VNFC
	Machine   string    `json:"machine,omitempty"` // the name of the VNFC
	Name      string    `json:"name"`              // such as pki/apiserver.crt
	NotBefore time.Time `json:"notBefore,omitzero"`
	NotAfter  time.Time `json:"notAfter"`       // when it ends, by the clock of its readers
	IsCA      bool      `json:"isCa,omitempty"` // it signs other certificates
}

// CertificateReader is a MgmtDriver that reads the certificates of what it has set up.
type CertificateReader interface {
	// Certificates returns the certificates that can be read, and an error that names the machines whose certificates cannot. It changes
	// nothing. Certificates is no hook: op has no request and no steps, and its State can only be read. An operation may work on the
	// instance at the same time.
	Certificates(ctx context.Context, op *Operation) ([]Certificate, error)
}

// ServedCertificateReader is a CertificateReader that also reads certificates without a login: those that servers show in TLS handshakes, and
// authorities that the entry of a VIM names. The Manager asks it once a day.
type ServedCertificateReader interface {
	CertificateReader
	// ServedCertificates is Certificates without a login. Certificates of servers have the names that Certificates gives them. On is empty
	// where a certificate belongs to an address that several machines share.
	ServedCertificates(ctx context.Context, op *Operation) ([]Certificate, error)
}

// Certificates reads the certificates of the programs on the machines of an instantiated VNF: of control planes and kubelets, for
// example. The drivers log in as the request says that the VNF was instantiated with. If some machines do not answer, the error names
// them, and the list has the certificates of the other machines. ErrNotSupported: no driver that the VNFD names is a CertificateReader.
// ErrState: the VNF is not instantiated.
func (m *Manager) Certificates(ctx context.Context, instanceID string) ([]Certificate, error) {
	inst, _, err := m.instance(ctx, instanceID)
	if err == nil {
		err = inst.instantiated()
	}
	if err != nil {
		return nil, err
	}
	pkg, err := m.openPackage(ctx, inst)
	if err != nil {
		return nil, err
	}
	defer closePackage(pkg)
	rec := &operationRecord{Occ: VnfLcmOpOcc{VnfInstanceID: instanceID}, Levels: inst.Levels, Before: inst.Levels}
	s, err := m.session(ctx, pkg, inst, rec, "certificates")
	if err != nil {
		return nil, err
	}
	out, err := s.certificates(ctx)
	return out, s.masked(err)
}

func (s *session) certificates(ctx context.Context) (out []Certificate, err error) {
	var faults []error
	able := false
	for _, driver := range s.drivers() {
		reader, is := driver.(CertificateReader)
		if !is {
			continue
		}
		able = true
		var list []Certificate
		faults = append(faults, s.call(ctx, func() (err error) { list, err = reader.Certificates(ctx, s.op); return err }))
		out = append(out, list...)
	}
	if !able {
		return nil, fmt.Errorf("%w: no management driver that the VNFD names reads certificates", ErrNotSupported)
	}
	return out, errors.Join(faults...)
}
