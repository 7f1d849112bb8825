package onboarding

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/packagefolder"
)

// process checks the content of a package, which is then ONBOARDED or ERROR. If ctx ends before, another process does it.
func (r *Repository) process(ctx context.Context, id string) error {
	p, err := r.start(ctx, id, "", Processing)
	if err != nil {
		return ignoreSuperseded(err)
	}
	if err = r.judge(ctx, p); err != nil { // the package is not the reason
		r.uncount(ctx, p)
	}
	return err
}

// judge checks the content of a package.
func (r *Repository) judge(ctx context.Context, p *entry) error {
	path, err := r.contentPath(ctx, p)
	if err != nil {
		return err
	}
	info, digest, err := r.check(ctx, path, time.Now())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return r.failAt(ctx, p, rejection(err))
	}
	err = r.accept(ctx, p, info, digest)
	if errors.Is(err, errSecond) {
		return r.failAt(ctx, p, FailureDetails{Title: "The VNFD is onboarded already.", Status: http.StatusConflict, Detail: err.Error()})
	}
	return ignoreSuperseded(err)
}

// uncount takes back that a fetch or a check has begun: the process ends it in good order.
func (r *Repository) uncount(ctx context.Context, was *entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	_, _ = r.change(ctx, was.id, func(p *entry) ([]vnflcm.DocumentWrite, error) {
		if p.Info.OnboardingState != was.Info.OnboardingState || p.Attempt != was.Attempt || p.Begun == 0 {
			return nil, errSuperseded
		}
		p.Begun--
		return nil, nil
	})
}

// errSecond: a tenant has another package with the same VNFD.
var errSecond = errors.New("another package")

// accept makes a package ONBOARDED and ENABLED.
func (r *Repository) accept(ctx context.Context, was *entry, info VnfPkgInfo, digest string) error {
	_, err := r.change(ctx, was.id, func(p *entry) ([]vnflcm.DocumentWrite, error) {
		if p.Info.OnboardingState != Processing || p.Content != was.Content {
			return nil, errSuperseded
		}
		vnfd, err := r.takeVNFD(ctx, p, info.VnfdID)
		if err != nil {
			return nil, err
		}
		info.Checksum, info.UserDefinedData = p.Info.Checksum, p.Info.UserDefinedData
		info.OnboardingState, info.OperationalState = Onboarded, Enabled
		p.Info, p.Digest, p.Begun, p.change = info, digest, 0, vnflcm.PackageOnboarded
		writes, err := r.drop(ctx, worksIn, p.id)
		return append(writes, vnfd), err
	})
	return err
}

// takeVNFD returns the write that makes a package the one of its tenant with a VNFD, or errSecond.
func (r *Repository) takeVNFD(ctx context.Context, p *entry, vnfdID string) (vnflcm.DocumentWrite, error) {
	w := vnflcm.DocumentWrite{Collection: vnfdsIn, ID: vnfdKey(p.Tenant, vnfdID), Value: vnfdRecord{Package: p.id}}
	var other vnfdRecord
	d, err := r.document(ctx, w.Collection, w.ID, &other)
	if w.Version = d.Version; err != nil || d.Version == 0 {
		return w, err
	}
	switch _, err := r.read(ctx, other.Package); {
	case errors.Is(err, vnflcm.ErrNotFound): // its record was damaged, and an operator has removed it
		return w, nil
	case err != nil:
		return w, err
	}
	return w, fmt.Errorf("%w of the same tenant, %s, has the VNFD %s", errSecond, other.Package, vnfdID)
}

// errPanic: the check of a package has a fault.
var errPanic = errors.New("the check of the package has ended with a panic")

// rejection describes why a package was not accepted.
func rejection(err error) FailureDetails {
	faults, is := errors.AsType[problem.List](err)
	switch {
	case errors.Is(err, errPanic):
		return FailureDetails{Title: "The package cannot be checked.", Status: http.StatusInternalServerError, Detail: errPanic.Error()}
	case !is:
		return FailureDetails{Title: "The content cannot be read.", Status: http.StatusInternalServerError, Detail: packagefolder.HidePath(err).Error()}
	}
	refused := slices.DeleteFunc(slices.Clone(faults), func(p problem.Problem) bool { return p.Severity != problem.Error })
	detail := fmt.Sprintf("The package has %d errors and %d warnings. The first error: %s", len(refused), len(faults)-len(refused), refused[0])
	return FailureDetails{Title: "The package is not accepted.", Status: http.StatusUnprocessableEntity, Detail: bounded.Text(detail, maxText), Faults: shownFaults(faults, refused)}
}

// Bounds of failure details.
const (
	maxFaults = 1000
	maxText   = 2000 // bytes of a text
)

// shownFaults returns the errors and then the other faults, at most maxFaults of them, with short texts.
func shownFaults(faults, refused problem.List) problem.List {
	out := slices.Clone(refused)
	for _, p := range faults {
		if p.Severity != problem.Error {
			out = append(out, p)
		}
	}
	out = out[:min(len(out), maxFaults)]
	for i := range out {
		p := &out[i]
		for _, text := range []*string{&p.File, &p.Message, &p.Expected, &p.Nearest} {
			*text = bounded.Text(*text, maxText)
		}
	}
	return out
}

// check opens the package in a file, reads all of it, and returns its description and digest. A package that is not accepted is a
// problem.List with all its faults. A panic is errPanic: a package must not end the process for all tenants.
func (r *Repository) check(ctx context.Context, path string, now time.Time) (info VnfPkgInfo, digest string, err error) {
	defer func() {
		if value := recover(); value != nil {
			r.Logger.ErrorContext(ctx, "the check of a VNF package panics", "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	pkg, err := tosca.Open(ctx, path, r.Check...)
	if err != nil {
		return info, "", r.allFaults(ctx, path, err)
	}
	defer pkg.Close()
	if err := pkg.Verify(ctx); err != nil {
		if faults, is := errors.AsType[problem.List](err); is {
			err = append(slices.Clone(faults), pkg.Warnings()...).Sorted()
		}
		return info, "", err
	}
	if pkg.VNFD() == nil {
		return info, "", problem.List{{Severity: problem.Error, Code: problem.NotVNFD, Message: "the package does not describe a VNF"}}
	}
	if digest, err = pkg.Digest(ctx); err != nil {
		return info, "", err
	}
	info, err = describe(ctx, pkg, now)
	return info, digest, err
}

// allFaults returns all faults of a package that cannot be opened.
func (r *Repository) allFaults(ctx context.Context, path string, err error) error {
	if _, is := errors.AsType[problem.List](err); !is {
		return err
	}
	faults, unread := tosca.Check(ctx, path, r.Check...)
	if unread != nil || !slices.ContainsFunc(faults, func(p problem.Problem) bool { return p.Severity == problem.Error }) {
		return err
	}
	return faults
}
