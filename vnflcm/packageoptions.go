package vnflcm

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// PackageChangeOptions are the attributes of a ChangeCurrentVnfPkgRequest's additionalParams that the Manager reads. Drivers do not see
// them in Operation.Params, and later operations of the instance do not get them.
type PackageChangeOptions struct {
	// UpgradeType is Tacker's; RollingUpdate is the only value and the default.
	UpgradeType string `json:"upgrade_type,omitempty"`
	// AllowDataLoss names the VDUs whose data may end. Prune names the objects of a cluster that may be deleted with what depends on them.
	AllowDataLoss []string `json:"allow_data_loss,omitempty"`
	Prune         []string `json:"prune,omitempty"`
	// AllowOtherProduct allows a package with another provider or product name, if it has no policy VnfPackageChange.
	AllowOtherProduct bool `json:"allow_other_product,omitempty"`
	// AllowOtherSource allows a package whose policies VnfPackageChange do not name the current package and flavour.
	AllowOtherSource bool `json:"allow_other_source,omitempty"`
	// MaxUnavailable is how many units a batch has at most. Default 1.
	MaxUnavailable *int `json:"max_unavailable,omitempty"`
	// HealthTimeout is how long the VNF may be unhealthy after a batch, in seconds. Default 600.
	HealthTimeout *int `json:"health_timeout,omitempty"`
	// PauseAfter stops the operation in FAILED_TEMP (ErrPaused) once so many units have changed. Default 0: it does not stop.
	PauseAfter int `json:"pause_after,omitempty"`
	// RollbackOnFailure rolls the operation back by itself when it fails, except when it is paused or cancelled.
	RollbackOnFailure bool `json:"rollback_on_failure,omitempty"`

	// VDUParams and the paths of scripts are Tacker's, for the coordination script of each VNFC. The scripts run if the composition allows
	// it; VDUParams[].vdu_id must be a VDU of the VNF.
	VDUParams        []PackageVDUParams `json:"vdu_params,omitempty"`
	CoordinateNewVNF string             `json:"lcm-operation-coordinate-new-vnf,omitempty"`
	CoordinateOldVNF string             `json:"lcm-operation-coordinate-old-vnf,omitempty"`
}

// PackageVDUParams are parameters of the coordination scripts for the VNFCs of a VDU.
type PackageVDUParams struct {
	VduID  string `json:"vdu_id"`
	NewVNF Params `json:"new_vnfc_param,omitzero"`
	OldVNF Params `json:"old_vnfc_param,omitzero"`
}

const (
	rollingUpdate        = "RollingUpdate"
	defaultHealthTimeout = 10 * time.Minute
)

// options reads the attributes of additionalParams that the Manager reads.
func (r *ChangeCurrentVnfPkgRequest) options() (o PackageChangeOptions, err error) {
	if _, err := r.AdditionalParams.Decode(&o); err != nil {
		return o, AtPath("additionalParams", err)
	}
	var faults []error
	refuse := func(name, value, reason string) {
		faults = append(faults, &ParamError{Path: "additionalParams." + name, Value: value, Reason: reason})
	}
	if o.UpgradeType != "" && o.UpgradeType != rollingUpdate {
		refuse("upgrade_type", o.UpgradeType, "must be "+rollingUpdate)
	}
	if n := o.MaxUnavailable; n != nil && *n < 1 {
		refuse("max_unavailable", fmt.Sprint(*n), "must be at least 1")
	}
	if n := o.HealthTimeout; n != nil && *n < 1 {
		refuse("health_timeout", fmt.Sprint(*n), "must be at least 1 second")
	}
	if o.PauseAfter < 0 {
		refuse("pause_after", fmt.Sprint(o.PauseAfter), "must not be negative")
	}
	return o, errors.Join(faults...)
}

// maxUnavailable returns how many units a batch has at most.
func (o PackageChangeOptions) maxUnavailable() int {
	if o.MaxUnavailable == nil {
		return 1
	}
	return *o.MaxUnavailable
}

func (o PackageChangeOptions) healthTimeout() time.Duration {
	if o.HealthTimeout == nil {
		return defaultHealthTimeout
	}
	return time.Duration(*o.HealthTimeout) * time.Second
}

// allows reports whether the request has consented to a loss.
func (o PackageChangeOptions) allows(l DataLoss) bool {
	if l.Consent == AllowPrune {
		return slices.Contains(o.Prune, l.Name)
	}
	return slices.Contains(o.AllowDataLoss, l.Name)
}
