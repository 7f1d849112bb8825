package onboarding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Upload stores the content of a package that is CREATED or ERROR, and returns when it is on disk: PROCESSING, and Run checks it. size
// has the bytes of the content if they are known, else -1. The memory that an upload needs does not depend on its size. A content that cannot
// be read or stored leaves ERROR with the reason. The caller bounds the time by the errors of content.
//
// ErrState: the package is in another state. ErrTooLarge, ErrNoSpace: see there. ErrLeased: this process was stopped for so long that
// another one has taken the upload for interrupted.
func (r *Repository) Upload(ctx context.Context, tenant, id string, content io.Reader, size int64) error {
	if err := r.uploadable(ctx, tenant, id); err != nil {
		return err
	}
	claimed := r.claim(id) // Run of this process does not wait for the lease
	begun, result := false, error(nil)
	err := r.exclusively(ctx, id, func(ctx context.Context) error {
		if begun { // the lease was lost, and is free again
			return nil
		}
		begun = true
		result = r.upload(ctx, tenant, id, content, size)
		return result
	})
	if claimed {
		r.unclaim(id)
	}
	switch {
	case !begun:
		return err
	case result == nil:
		r.wake(id)
	}
	return result
}

// exclusively does work on a package in one of all processes.
func (r *Repository) exclusively(ctx context.Context, id string, work func(context.Context) error) error {
	m, err := r.attached()
	if err != nil {
		return err
	}
	return m.Exclusively(ctx, "vnf-package/"+id, work)
}

// uploadable returns why a package cannot be uploaded.
func (r *Repository) uploadable(ctx context.Context, tenant, id string) error {
	p, err := r.read(ctx, id)
	if err != nil {
		return err
	}
	return p.uploadableBy(tenant)
}

func (p *entry) uploadableBy(tenant string) error {
	if err := p.writableBy(tenant); err != nil {
		return err
	}
	if s := p.Info.OnboardingState; s != Created && s != Failed {
		return fmt.Errorf("%w: package %s is %s, content can be uploaded while it is CREATED or ERROR", vnflcm.ErrState, p.id, s)
	}
	return nil
}

func (r *Repository) upload(ctx context.Context, tenant, id string, content io.Reader, size int64) error {
	attempt, err := r.begin(ctx, tenant, id, nil)
	if err != nil {
		return err
	}
	if err = r.receive(ctx, id, attempt, content, size); err != nil {
		r.abandon(ctx, id, attempt, err)
	}
	return err
}

// begin makes a package UPLOADING, from a source if it is not nil.
func (r *Repository) begin(ctx context.Context, tenant, id string, source *Address) (attempt string, err error) {
	attempt = uuid.NewString()
	_, err = r.change(ctx, id, func(p *entry) ([]vnflcm.DocumentWrite, error) {
		if err := p.uploadableBy(tenant); err != nil {
			return nil, err
		}
		p.Attempt, p.Source, p.Begun = attempt, source, 0
		p.Info.OnboardingState, p.Info.OnboardingFailureDetails = Uploading, nil
		return []vnflcm.DocumentWrite{{Collection: worksIn, ID: id, Value: workRecord{}}}, nil
	})
	return attempt, err
}

// receive stores content and makes the package PROCESSING.
func (r *Repository) receive(ctx context.Context, id, attempt string, content io.Reader, size int64) error {
	got, err := r.store(ctx, attempt, content, size)
	if err != nil {
		return err
	}
	return r.publish(ctx, id, attempt, got)
}

// errSuperseded: another process has ended the attempt.
var errSuperseded = fmt.Errorf("%w: another process has ended this upload", vnflcm.ErrLeased)

// publish makes received content that of a package, which is then PROCESSING. If the outcome of a write is unknown, the file stays until
// sweep finds that no package has it.
func (r *Repository) publish(ctx context.Context, id, attempt string, got received) error {
	var own bool      // the file of this attempt is used
	var intact string // a file that has the content
	_, err := r.change(ctx, id, func(p *entry) ([]vnflcm.DocumentWrite, error) {
		if p.Info.OnboardingState != Uploading || p.Attempt != attempt {
			return nil, errSuperseded
		}
		var c contentRecord
		d, err := r.document(ctx, contentsIn, got.sum, &c)
		if err != nil {
			return nil, err
		}
		if d.Version > 0 && c.File != intact && r.has(ctx, c, got.sum) {
			intact = c.File
		}
		if own = d.Version == 0 || c.File != intact; own {
			if c.File, err = r.place(attempt, got.sum); err != nil {
				return nil, err
			}
		}
		c.Size, c.Packages = got.size, append(c.Packages, id)
		p.Info.OnboardingState, p.Info.Checksum = Processing, &Checksum{Algorithm: "SHA-256", Hash: got.sum}
		p.Attempt, p.Source, p.Begun, p.Content, p.Size = "", nil, 0, got.sum, got.size
		return []vnflcm.DocumentWrite{{Collection: contentsIn, ID: got.sum, Version: d.Version, Value: c}}, nil
	})
	switch {
	case err != nil: // the file may be placed, and used
		r.removeAttempt(attempt, "")
	case !own:
		r.removeAttempt(attempt, got.sum)
	}
	return err
}

// writeTimeout bounds the writes that end an attempt after its context.
const writeTimeout = 10 * time.Second

// abandon ends a failed attempt. If it cannot be written, Run of any process ends the attempt.
func (r *Repository) abandon(ctx context.Context, id, attempt string, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	_ = r.fail(ctx, id, failureOf(cause), func(p *entry) bool { return p.Info.OnboardingState == Uploading && p.Attempt == attempt })
}

// failureOf describes why content was not stored.
func failureOf(err error) FailureDetails {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, ErrTooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrNoSpace):
		status = http.StatusInsufficientStorage
	}
	return FailureDetails{Title: "The content was not stored.", Status: status, Detail: bounded.Text(err.Error(), maxText)}
}

// fail makes a package ERROR and removes its content, if is holds.
func (r *Repository) fail(ctx context.Context, id string, why FailureDetails, is func(*entry) bool) error {
	var unused, attempt string
	p, err := r.change(ctx, id, func(p *entry) ([]vnflcm.DocumentWrite, error) {
		if !is(p) {
			return nil, errSuperseded
		}
		attempt = p.Attempt
		writes, err := r.forget(ctx, p, &unused)
		p.packageRecord = packageRecord{Tenant: p.Tenant, Info: VnfPkgInfo{OnboardingState: Failed, OperationalState: Disabled,
			UserDefinedData: p.Info.UserDefinedData, OnboardingFailureDetails: &why}}
		return writes, err
	})
	if err == nil {
		r.removeAttempt(attempt, "")
		r.removeFile(ctx, unused)
		r.Logger.WarnContext(ctx, "a VNF package was not onboarded", "package", p.id, "reason", why.Detail)
	}
	return err
}
