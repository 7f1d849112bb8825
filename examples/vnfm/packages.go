package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/vnfkit/vnfkit/examples/vnfm/internal/admin"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
)

// openPackages returns the packages of the folder, the onboarded ones and those of the NFVO.
func (v *vnfm) openPackages() (vnflcm.Packages, error) {
	own, err := v.openOwnPackages()
	if err != nil {
		return nil, err
	}
	return v.openNFVO(own)
}

// openOwnPackages returns the onboarded packages and those of the folder.
func (v *vnfm) openOwnPackages() (vnflcm.Packages, error) {
	var folder vnflcm.Packages
	if v.config.Packages != "" {
		folder = vnflcm.DirPackages(v.config.Packages)
		v.folder, _ = folder.(vnflcm.PackageLister)
	}
	dir := v.config.Onboarding
	if v.config.onSandbox {
		dir = cmp.Or(dir, filepath.Join(v.config.Data, "onboarded"))
	}
	if dir == "" {
		return folder, nil
	}
	var err error
	v.packages, err = onboarding.New(dir, onboarding.Options{Allow: v.config.policy(), AllowHTTP: v.config.onSandbox, Further: folder, Logger: v.log})
	return v.packages, err
}

// logPackages logs each package with the id of its VNFD, and each one that cannot be read with its faults.
func (v *vnfm) logPackages(ctx context.Context) {
	list, err := v.listPackages(ctx, packageUsage{})
	for _, p := range list {
		log := v.log.With("vnfd", p.VnfdID, "name", p.Name, "id", p.ID, "tenant", p.Tenant, "state", p.State)
		if p.Fault == "" {
			log.InfoContext(ctx, "package")
		} else {
			log.WarnContext(ctx, "a package cannot be used", "faults", p.Fault)
		}
	}
	if err != nil && ctx.Err() == nil {
		v.log.WarnContext(ctx, "not all packages can be listed", "error", err)
	}
}

// usedPackages lists the packages, and counts the VNF instances of each.
func (v *vnfm) usedPackages(ctx context.Context) ([]admin.Package, error) {
	usage, err1 := v.usage(ctx)
	list, err2 := v.listPackages(ctx, usage)
	return list, errors.Join(err1, err2)
}

// listPackages lists the onboarded packages, those of the NFVO and those of the folder.
func (v *vnfm) listPackages(ctx context.Context, usage packageUsage) (out []admin.Package, err error) {
	var errs []error
	if v.packages != nil {
		page, err := v.packages.List(ctx, "", "", 0)
		errs = append(errs, err)
		for _, p := range page.Items {
			out = append(out, onboardedPackage(p, usage))
		}
	}
	if v.fetched != nil {
		list, err := v.fetched.List(ctx)
		errs = append(errs, err)
		for _, p := range list {
			out = append(out, admin.Package{ID: p.ID, VnfdID: p.VnfdID, State: "NFVO, " + string(p.State), InUse: usage.byID[p.ID]})
		}
	}
	if v.folder != nil {
		list, err := v.folder.ListPackages(ctx)
		errs = append(errs, err)
		for _, p := range list {
			shown := admin.Package{Name: p.Name, Tenant: p.Tenant, VnfdID: p.VnfdID, State: "FOLDER", Fault: p.Fault, InUse: usage.ofFolder(p)}
			if p.Fault != "" {
				shown.State = "UNREADABLE"
			}
			out = append(out, shown)
		}
	}
	return out, errors.Join(errs...)
}

func onboardedPackage(p *onboarding.VnfPkgInfo, usage packageUsage) admin.Package {
	shown := admin.Package{ID: p.ID, Tenant: p.Tenant, VnfdID: p.VnfdID, State: fmt.Sprintf("%s, %s", p.OnboardingState, p.OperationalState), InUse: usage.byID[p.ID]}
	if f := p.OnboardingFailureDetails; f != nil {
		shown.Fault = f.Detail
	}
	return shown
}

// packageUsage counts VNF instances.
type packageUsage struct {
	byID   map[string]int    // of onboarded packages
	byVNFD map[[2]string]int // of other packages, by VNFD and tenant
}

// usage counts the VNF instances of packages.
func (v *vnfm) usage(ctx context.Context) (packageUsage, error) {
	out := packageUsage{map[string]int{}, map[[2]string]int{}}
	page, err := v.Instances(ctx, vnflcm.InstanceQuery{})
	for _, i := range page.Items {
		if i.VnfPkgID != "" {
			out.byID[i.VnfPkgID]++
		} else {
			out.byVNFD[[2]string{i.VnfdID, i.Tenant}]++
		}
	}
	return out, err
}

// ofFolder returns how many VNF instances have the VNFD of a package in the folder, and may use the package.
func (u packageUsage) ofFolder(p vnflcm.FoundPackage) (n int) {
	for of, count := range u.byVNFD {
		if of[0] == p.VnfdID && (p.Tenant == "" || p.Tenant == of[1]) {
			n += count
		}
	}
	return n
}
