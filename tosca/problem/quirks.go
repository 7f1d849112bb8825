package problem

// Quirk names a way in which real packages deviate from TOSCA or SOL001 and can
// be understood nevertheless. A deviation is an error, or a warning where its quirk
// is allowed.
type Quirk string

// The quirks.
const (
	// IncompleteProperties lets pass that properties are missing which their type
	// requires.
	IncompleteProperties Quirk = "incomplete-properties"
	// UnquotedText takes numbers, booleans and dates for the texts they are to be:
	// "version: 1.0".
	UnquotedText Quirk = "unquoted-text"
	// QuotedValue takes texts for the numbers and booleans they are to be:
	// "order: '1'", and yes and no for booleans.
	QuotedValue Quirk = "quoted-value"
	// MissingUnit takes numbers for sizes, times and the like without a unit.
	MissingUnit Quirk = "missing-unit"
	// EmptyRequirement takes a requirement with no value for one that is not
	// assigned.
	EmptyRequirement Quirk = "empty-requirement"
	// MappedRequirements reads requirements that are a mapping instead of a list.
	MappedRequirements Quirk = "mapped-requirements"
	// DanglingMapping ignores substitution mappings to node templates that do not
	// exist.
	DanglingMapping Quirk = "dangling-mapping"
)

// Quirks lists all quirks.
var Quirks = []Quirk{
	IncompleteProperties, UnquotedText, QuotedValue, MissingUnit, EmptyRequirement, MappedRequirements, DanglingMapping,
}
