package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// CoordinationAction is an LcmCoordinationAction policy (SOL001 v3.5.1): a coordination between the VNFM and the VNF or its EM during an
// LCM operation.
type CoordinationAction struct {
	// ID is the name of the policy. Name is action_name, by which other policies and requests name the action.
	ID, Name string
	// Description is the description of the action.
	Description string
	// Endpoint is endpoint_type: "mgmt" or "vnf"; "" if it is chosen at deployment.
	Endpoint string
	// Stage is coordination_stage: "start" or "end" of the operation, "" for a time in between.
	Stage string
	// Inputs and Outputs are the values that the descriptor gives to input_parameters and output_parameters.
	Inputs, Outputs map[string]any
	// Pos is the position of the policy.
	Pos problem.Position
}

// Coordinations are the names of the coordination actions of an LCM operation (LcmCoordinationsForLcmOperation).
type Coordinations struct {
	// Actions are names of CoordinationActions of the flavour. Referenced are names that other documents define.
	Actions, Referenced []string
	// Pos is the position of the last policy for the operation.
	Pos problem.Position
}
