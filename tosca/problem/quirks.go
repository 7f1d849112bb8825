package problem

// Quirk names a deviation from TOSCA or SOL001 that occurs in real packages and that this project can interpret. A deviation is an error,
// or a warning if its quirk is allowed.
type Quirk string

// The quirks.
const (
	// UnimportedTypes accepts types of SOL001 that a descriptor does not import. They are taken from the bundled definitions.
	UnimportedTypes Quirk = "unimported-types"
	// IncompleteProperties accepts templates without properties that their type requires.
	IncompleteProperties Quirk = "incomplete-properties"
	// UnquotedText accepts numbers, booleans and dates where a text is required: "version: 1.0".
	UnquotedText Quirk = "unquoted-text"
	// QuotedValue accepts texts where numbers or booleans are required, "order: '1'", and yes and no for booleans.
	QuotedValue Quirk = "quoted-value"
	// ValueCase accepts values that differ from a valid value only in case: SHA-512 for sha-512.
	ValueCase Quirk = "value-case"
	// OtherIdentifiers accepts identifiers of a VNF, such as its provider or descriptor_id, that are not among the valid_values of their
	// type.
	OtherIdentifiers Quirk = "other-identifiers"
	// MissingUnit accepts numbers without a unit for sizes, times and other scalars with units.
	MissingUnit Quirk = "missing-unit"
	// EmptyRequirement treats a requirement with no value as not assigned.
	EmptyRequirement Quirk = "empty-requirement"
	// MappedRequirements accepts requirements that are a mapping instead of a list.
	MappedRequirements Quirk = "mapped-requirements"
	// RollbackHooks accepts hooks for the rollback of operations, for example instantiate_rollback_start. VNFMs have
	// these hooks, SOL001 does not.
	RollbackHooks Quirk = "rollback-hooks"
	// LooseMappings accepts substitution mappings of requirements and capabilities that the node type does not have, or
	// that lead to node templates that do not exist.
	LooseMappings Quirk = "loose-mappings"
	// MisplacedSections accepts policies and groups that are beside the topology_template instead of in it.
	MisplacedSections Quirk = "misplaced-sections"
	// MisfiledTypes accepts types of OASIS and ETSI that are defined in the section of another kind, for example data types among
	// the node types.
	MisfiledTypes Quirk = "misfiled-types"
)

// Quirks lists all quirks.
var Quirks = []Quirk{
	UnimportedTypes, IncompleteProperties, UnquotedText, QuotedValue, ValueCase, OtherIdentifiers, MissingUnit, EmptyRequirement, MappedRequirements, RollbackHooks, LooseMappings,
	MisplacedSections, MisfiledTypes,
}
