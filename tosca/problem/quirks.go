package problem

// Quirk names a way in which real packages deviate from TOSCA or SOL001 and can
// be understood nevertheless. A deviation is an error, or a warning where its quirk
// is allowed.
type Quirk string

// The quirks.
const (
	// UnimportedTypes takes types of SOL001 that a descriptor does not import from
	// the bundled definitions.
	UnimportedTypes Quirk = "unimported-types"
	// IncompleteProperties lets pass that properties are missing which their type
	// requires.
	IncompleteProperties Quirk = "incomplete-properties"
	// UnquotedText takes numbers, booleans and dates for the texts they are to be:
	// "version: 1.0".
	UnquotedText Quirk = "unquoted-text"
	// QuotedValue takes texts for the numbers and booleans they are to be:
	// "order: '1'", and yes and no for booleans.
	QuotedValue Quirk = "quoted-value"
	// ValueCase takes values for those that their type allows in spite of letters
	// in the wrong case: SHA-512 for sha-512.
	ValueCase Quirk = "value-case"
	// MissingUnit takes numbers for sizes, times and the like without a unit.
	MissingUnit Quirk = "missing-unit"
	// EmptyRequirement takes a requirement with no value for one that is not
	// assigned.
	EmptyRequirement Quirk = "empty-requirement"
	// MappedRequirements reads requirements that are a mapping instead of a list.
	MappedRequirements Quirk = "mapped-requirements"
	// RollbackHooks lets VNFDs hook the rollback of operations, as in
	// instantiate_rollback_start: SOL001 has no such hooks, VNFMs do.
	RollbackHooks Quirk = "rollback-hooks"
	// LooseMappings lets pass substitution mappings of requirements and
	// capabilities that the node type does not have, or that lead to node
	// templates that do not exist.
	LooseMappings Quirk = "loose-mappings"
	// MisplacedSections reads policies and groups that stand beside the
	// topology_template instead of in it.
	MisplacedSections Quirk = "misplaced-sections"
	// MisfiledTypes reads types of OASIS and ETSI that are defined in the section of
	// another kind, as data types among the node types.
	MisfiledTypes Quirk = "misfiled-types"
)

// Quirks lists all quirks.
var Quirks = []Quirk{
	UnimportedTypes, IncompleteProperties, UnquotedText, QuotedValue, ValueCase, MissingUnit, EmptyRequirement, MappedRequirements, RollbackHooks, LooseMappings,
	MisplacedSections, MisfiledTypes,
}
