package tosca

import "time"

// Operations is the lcm_operations_configuration of a flavour (SOL001 VnfLcmOperationsConfiguration). The field of an operation
// that the descriptor does not configure is nil: the operation has no known limits.
type Operations struct {
	Instantiate  *InstantiateConfiguration
	Scale        *ScaleConfiguration
	ScaleToLevel *ScaleToLevelConfiguration
	Heal         *HealConfiguration
	Terminate    *TimeoutConfiguration
	Operate      *TimeoutConfiguration
	// Other maps configured operations without a field in this struct, such as "change_current_package", to their
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

// TimeoutConfiguration is VnfTerminateOperationConfiguration or, for stopping with an OperateVnfRequest,
// VnfOperateOperationConfiguration.
type TimeoutConfiguration struct {
	// MinGraceful is the minimum timeout for a graceful termination or stop; 0 if the VNFD does not state it.
	MinGraceful time.Duration
	// MaxRecommendedGraceful is the maximum recommended timeout for a graceful termination or stop; 0 if the VNFD does not state
	// it.
	MaxRecommendedGraceful time.Duration
}
