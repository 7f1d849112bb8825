package tosca

import "time"

// Operations is the lcm_operations_configuration of a flavour (SOL001 VnfLcmOperationsConfiguration). An operation that
// the descriptor does not configure is nil: no limits are known.
type Operations struct {
	Instantiate  *InstantiateConfiguration
	Scale        *ScaleConfiguration
	ScaleToLevel *ScaleToLevelConfiguration
	Heal         *HealConfiguration
	Terminate    *TimeoutConfiguration
	Operate      *TimeoutConfiguration
	// Other maps the configured operations that have no field here, such as "change_current_package", to their
	// configuration.
	Other map[string]any
}

// InstantiateConfiguration is VnfInstantiateOperationConfiguration.
type InstantiateConfiguration struct {
	// TargetScaleLevels is target_scale_levels_supported.
	TargetScaleLevels bool
}

// ScaleConfiguration is VnfScaleOperationConfiguration.
type ScaleConfiguration struct {
	// ByMoreThanOneStep is scaling_by_more_than_one_step_supported.
	ByMoreThanOneStep bool
}

// ScaleToLevelConfiguration is VnfScaleToLevelOperationConfiguration.
type ScaleToLevelConfiguration struct {
	// ArbitraryTargetLevels is arbitrary_target_levels_supported.
	ArbitraryTargetLevels bool
}

// HealConfiguration is VnfHealOperationConfiguration.
type HealConfiguration struct {
	// Causes are the values of cause that the VNF accepts in a HealVnfRequest.
	Causes []string
}

// TimeoutConfiguration is VnfTerminateOperationConfiguration, or for the stop of
// an Operate request VnfOperateOperationConfiguration.
type TimeoutConfiguration struct {
	// MinGraceful is the shortest time a graceful end can take; 0 when not given.
	MinGraceful time.Duration
	// MaxRecommendedGraceful is the longest time to wait for it; 0 when not given.
	MaxRecommendedGraceful time.Duration
}
