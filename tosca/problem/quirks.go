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
	// IncompleteProperties allows properties to be missing that their type requires.
	IncompleteProperties Quirk = "incomplete-properties"
	// UnquotedText accepts numbers, booleans and dates where a text is required: "version: 1.0".
	UnquotedText Quirk = "unquoted-text"
	// QuotedValue accepts texts where numbers or booleans are required, "order: '1'", and yes and no for booleans.
	QuotedValue Quirk = "quoted-value"
	// ValueCase accepts values that differ from a valid value only in case: SHA-512 for sha-512.
	ValueCase Quirk = "value-case"
	// MissingUnit accepts numbers without a unit for sizes, times and other scalars with units.
	MissingUnit Quirk = "missing-unit"
	// EmptyRequirement treats a requirement with no value as not assigned.
	EmptyRequirement Quirk = "empty-requirement"
	// MappedRequirements reads requirements that are a mapping instead of a list.
	MappedRequirements Quirk = "mapped-requirements"
	// RollbackHooks accepts hooks for the rollback of operations, for example instantiate_rollback_start. VNFMs have
	// these hooks, SOL001 does not.
	RollbackHooks Quirk = "rollback-hooks"
	// LooseMappings accepts substitution mappings of requirements and capabilities that the node type does not have, or
	// that lead to node templates that do not exist.
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
