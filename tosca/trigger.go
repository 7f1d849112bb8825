package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// Trigger is a trigger of a policy (TOSCA 1.3 3.6.22): what the policy does upon an event.
type Trigger struct {
	Description string
	// Event is the name of the event or notification, for example "tosca.interfaces.nfv.VnfIndicator.utilization".
	Event string
	// Schedule, TargetFilter and Condition are as written in the descriptor, with evaluated expressions; nil if absent.
	Schedule, TargetFilter, Condition any
	// Actions are the activities of the trigger, in document order.
	Actions []Action
	// Pos is the position of the trigger.
	Pos problem.Position
}

// Action is an activity of a Trigger (TOSCA 1.3 3.6.23).
type Action struct {
	// Kind is "call_operation", "delegate", "inline" or "set_state". Before TOSCA 1.3 it is any name.
	Kind string
	// Name is the operation, the workflow or the state, for example "Vnflcm.scale".
	Name string
	// Inputs are the inputs of the operation or workflow. Before TOSCA 1.3 they are all keys of the action.
	Inputs map[string]any
	// Pos is the position of the action.
	Pos problem.Position
}
