package vnflcm

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
}
