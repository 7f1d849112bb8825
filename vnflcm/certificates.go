package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
// them, and the list has the certificates of the other machines. CertificateStatus returns later what was read. ErrNotSupported: no driver
// that the VNFD names is a CertificateReader. ErrState: the VNF is not instantiated, or it is stopped.
func (m *Manager) Certificates(ctx context.Context, instanceID string) ([]Certificate, error) {
	inst, _, err := m.instance(ctx, instanceID)
	if err == nil {
		err = cmp.Or(inst.instantiated(), inst.started())
	}
	if err != nil {
		return nil, err
	}
	known, _, err := m.expiry(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	found, err := m.readCertificates(ctx, inst, true, false)
	if errors.Is(err, ErrNotSupported) {
		return nil, err
	}
	if found.of = known.LoginAfter; len(found.logged) > 0 {
		err = errors.Join(err, m.storeReading(ctx, instanceID, found))
	}
	return found.logged, err
}

// reading is what was read of the certificates of an instance.
type reading struct {
	logged []Certificate // with a login
	served []Certificate // without
	// Which of both lists are complete.
	loggedAll, servedAll bool
	tried, loggedIn      bool      // reading was tried, with a login
	of                   time.Time // LoginAfter of the record before
	renews               bool      // a driver renews certificates
	fault                error     // masked
}

// nothing reports whether the reading has failed and has found nothing, at least not by the login.
func (r *reading) nothing() bool {
	return r.fault != nil && len(r.logged) == 0 && (r.loggedIn || len(r.served) == 0)
}

// readCertificates asks the drivers that the VNFD names for the certificates of an instance.
func (m *Manager) readCertificates(ctx context.Context, inst *instanceRecord, logIn, served bool) (found reading, err error) {
	opened, err := m.openPackages(ctx, inst, nil)
	if err != nil {
		return found, err
	}
	defer opened.close()
	s, err := m.outside(ctx, opened, inst, "certificates")
	if err != nil {
		return found, err
	}
	readers := slices.DeleteFunc(s.drivers(), func(d MgmtDriver) bool { return !readsCertificates(d) })
	if len(readers) == 0 {
		return found, fmt.Errorf("%w: no management driver that the VNFD names reads certificates", ErrNotSupported)
	}
	found.renews = slices.ContainsFunc(s.drivers(), renews)
	found.servedAll = served && slices.ContainsFunc(readers, func(d MgmtDriver) bool { _, is := d.(ServedCertificateReader); return is })
	found.loggedIn, found.loggedAll, found.tried = logIn, logIn, logIn || found.servedAll
	var faults []error
	for _, driver := range readers {
		if reader, able := driver.(CertificateReader); able && logIn {
			faults = append(faults, s.read(ctx, reader.Certificates, &found.logged, &found.loggedAll))
		}
		if reader, able := driver.(ServedCertificateReader); able && served {
			faults = append(faults, s.read(ctx, reader.ServedCertificates, &found.served, &found.servedAll))
		}
	}
	found.fault = s.masked(errors.Join(faults...))
	return found, found.fault
}

func readsCertificates(d MgmtDriver) bool { _, is := d.(CertificateReader); return is }

func renews(d MgmtDriver) bool {
	maintainer, able := d.(Maintainer)
	return able && maintainer.Maintains(RenewCertificates)
}

// read calls a method of a driver and adds to list what it has read. all becomes false if something could not be read.
func (s *session) read(ctx context.Context, method func(context.Context, *Operation) ([]Certificate, error), list *[]Certificate, all *bool) error {
	err := s.call(ctx, func() error {
		more, err := method(ctx, s.op)
		*list = append(*list, more...)
		return err
	})
	*all = *all && err == nil
	return err
}
