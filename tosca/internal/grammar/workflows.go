package grammar

import (
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

var (
	workflowDefinition = entity("a workflow", // 3.8.7
		"description metadata inputs preconditions steps implementation outputs")
	workflowPrecondition = entity("a precondition", "target target_relationship condition") // 3.6.26
	workflowStep         = entity("a step",                                                 // 3.6.27
		"description target target_relationship operation_host filter activities on_success on_failure")
)

// declarative are the workflows that an orchestrator derives from the topology (7.4).
var declarative = []string{"deploy", "undeploy"}

// workflows checks the steps of workflows and what they refer to (TOSCA Simple Profile 1.3, 3.8.7).
func (v *validator) workflows(s *scope) {
	for _, f := range s.workflows.Map() {
		if !v.spend(1) || !v.keys(f.Value, workflowDefinition) {
			continue
		}
		for _, p := range f.Value.Get("preconditions").List() {
			if v.keys(p, workflowPrecondition) {
				v.workflowTarget(s, p.Get("target"))
			}
		}
		steps := f.Value.Get("steps")
		for _, step := range steps.Map() {
			if v.spend(1) && v.keys(step.Value, workflowStep) {
				v.workflowStep(s, step.Value, steps)
			}
		}
	}
}

func (v *validator) workflowStep(s *scope, step, steps *yamltree.Node) {
	v.workflowTarget(s, step.Get("target"))
	for _, next := range []string{"on_success", "on_failure"} {
		for _, n := range step.Get(next).List() {
			if v.spend(1) && !steps.Has(n.Str()) {
				v.unknown(n.Pos, problem.UnknownStep, "the workflow has no step", n.Str(), keysOf(steps))
			}
		}
	}
	v.activities(s, step.Get("activities"), step.Get("target"))
}

// workflowTarget checks the target of a step or a precondition: a node template or a group.
func (v *validator) workflowTarget(s *scope, n *yamltree.Node) {
	if n != nil && !s.templates.Has(n.Str()) && !s.groups.Has(n.Str()) {
		v.unknown(n.Pos, problem.UnknownNode, "there is no template", n.Str(), append(keysOf(s.templates), keysOf(s.groups)...))
	}
}

// activities checks the activities of a step or a trigger (3.6.23). target is the node of a step, nil for a trigger.
func (v *validator) activities(s *scope, section, target *yamltree.Node) {
	if !section.Is(yamltree.Sequence) {
		return
	}
	for _, f := range section.Named() {
		if !v.spend(1) {
			return
		}
		switch f.Key {
		case "delegate", "inline":
			v.workflowNamed(s, nameIn(f.Value, "workflow"))
		case "call_operation":
			v.calledOperation(s, nameIn(f.Value, "operation"), target)
		}
	}
}

// nameIn returns the name in an activity in the short notation or, below key, in the long notation.
func nameIn(n *yamltree.Node, key string) *yamltree.Node {
	if long := n.Get(key); long != nil {
		return long
	}
	return n
}

func (v *validator) workflowNamed(s *scope, n *yamltree.Node) {
	if n.Str() == "" || s.workflows.Has(n.Str()) {
		return
	}
	for _, name := range declarative {
		if n.Str() == name {
			return
		}
	}
	v.unknown(n.Pos, problem.UnknownWorkflow, "there is no workflow", n.Str(), keysOf(s.workflows))
}

// calledOperation checks the operation that a step calls, "interface.operation". The interface is a name, or the name of its type.
func (v *validator) calledOperation(s *scope, n, target *yamltree.Node) {
	f, known := s.templates.Field(target.Str())
	dot := strings.LastIndex(n.Str(), ".")
	if !known || dot < 0 {
		return
	}
	name, operation := n.Text[:dot], n.Text[dot+1:]
	d := v.types.Lookup(NodeTypes, f.Value.Get("type").Str())
	own, _ := f.Value.Get("interfaces").Field(name)
	def, defined := d.member("interfaces", name)
	if own.Value == nil && !defined || d == nil {
		return // the type of an interface, or an interface of a type that is not known
	}
	kind := own.Value.Get("type").Str()
	if kind == "" {
		kind = def.Value.Get("type").Str()
	}
	if kind == "" {
		kind = def.Value.Str()
	}
	of := v.types.Lookup(InterfaceTypes, kind)
	if of != nil && !hasOwn(own.Value, operation) && !hasOwn(def.Value, operation) && !v.hasOperation(of, operation) {
		v.unknown(n.Pos, problem.UnknownOperation, of.Name+" has no operation", operation, v.operationNames(of))
	}
}
