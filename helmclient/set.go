package helmclient

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Limits of the lists of --set. Helm makes a list as long as its largest index requires, up to 65537 entries each
// (MaxIndex of helm.sh/helm/v3/pkg/strvals), copies it each time it grows, and nests lists without a limit: a few
// kilobytes of text would fill the memory, or the stack, which ends the process.
const (
	maxSetEntries = 1 << 20
	maxSetDepth   = 30 // nested lists in one name; Helm has the same limit for dots (MaxNestedNameLevel)
)

// SetError is an ErrInvalid: one of Values.Set, SetString or SetJSON would make lists that are too large, or violates Helm's
// grammar. It contains no part of the text, which may be a password.
type SetError struct {
	Field  string // Set, SetString or SetJSON
	Index  int
	Reason string
}

func (e *SetError) Error() string {
	return fmt.Sprintf("helm: values: %s[%d]: %s", e.Field, e.Index, e.Reason)
}

// Is makes it an ErrInvalid.
func (e *SetError) Is(target error) bool { return target == ErrInvalid }

// setField is a field of Values in Helm's grammar.
type setField struct {
	field string
	texts []string
	json  bool
}

func (v Values) setFields() []setField {
	return []setField{{"Set", v.Set, false}, {"SetString", v.SetString, false}, {"SetJSON", v.SetJSON, true}}
}

// CheckLists returns a *SetError for texts that would fill the memory when they are expanded: indexes of lists in Set,
// SetString and SetJSON that add up to more than 1048576 entries, each occurrence counted, and names with more than 30
// indexes. Clients call it before they read values. It does not check that the texts follow Helm's grammar, see CheckSyntax.
func (v Values) CheckLists() error {
	entries := 0
	for _, of := range v.setFields() {
		for i, text := range of.texts {
			reason, _ := eachIndex(text, of.json, func(index, depth int) string {
				switch {
				case depth > maxSetDepth:
					return fmt.Sprintf("a name has more than %d indexes of lists", maxSetDepth)
				case index >= maxSetEntries-entries:
					return fmt.Sprintf("the indexes of lists come to more than %d entries: give long lists in a values file, or whole, as {a,b}", maxSetEntries)
				}
				entries += index + 1
				return ""
			})
			if reason != "" {
				return &SetError{of.field, i, reason}
			}
		}
	}
	return nil
}

// CheckSyntax returns a *SetError with the remedy for the first text in Set, SetString and SetJSON that Helm would refuse,
// such as "a=b,c": the comma begins another setting. Whether the settings contradict each other or the values of the chart is
// not checked.
func (v Values) CheckSyntax() error {
	for _, of := range v.setFields() {
		for i, text := range of.texts {
			reason, fault := eachIndex(text, of.json, func(index, _ int) string {
				if index > maxSetIndex {
					return fmt.Sprintf("an index of a list is larger than %d", maxSetIndex)
				}
				return ""
			})
			if reason != "" || fault != "" {
				return &SetError{of.field, i, reason + fault}
			}
		}
	}
	return nil
}

// maxSetIndex is MaxIndex of helm.sh/helm/v3/pkg/strvals.
const maxSetIndex = 65536

// eachIndex calls found for each index of a list that Helm would evaluate, with the number of indexes in its name so
// far, until found returns a reason to refuse it. It stops where the text violates Helm's grammar, as Helm does; fault is
// the violation.
func eachIndex(text string, isJSON bool, found func(index, depth int) string) (reason, fault string) {
	s := setText{rest: text}
	for s.rest != "" {
		named, reason := s.name(found)
		if !named || reason != "" {
			return reason, s.fault
		}
		if isJSON && !s.json() || !isJSON && !s.value() {
			return "", s.fault
		}
	}
	return "", ""
}

// The violations of Helm's grammar, with their remedies.
const (
	faultNoValue = `has a comma that is not followed by name=value: write "\," for a comma in a value, or {a,b} for a list`
	faultName    = `has no "=" after a name`
	faultIndex   = `has an index of a list that is not a number in brackets, such as a[0]`
	faultBehind  = `has text between an index of a list and the next ".", "[" or "="`
	faultList    = `has a list without its end: write {a,b}, or "\{" for a value that begins with "{"`
	faultJSON    = "has a value that is not JSON: write texts in quotation marks"
	faultEmpty   = "has an empty part of a name after a dot"
	faultNames   = "has a name with more than 30 dots"
)

// setText is the unread part of a text in the grammar of strvals.
type setText struct {
	rest  string
	later bool   // a setting has been read
	fault string // the violation at which reading stopped
}

// until consumes the text before the first of the stops, and that stop, which is 0 at the end.
func (s *setText) until(stops string) (text string, stop byte) {
	var out strings.Builder
	for i := 0; i < len(s.rest); i++ {
		c := s.rest[i]
		if strings.IndexByte(stops, c) >= 0 {
			s.rest = s.rest[i+1:]
			return out.String(), c
		}
		if c == '\\' {
			if i++; i == len(s.rest) {
				break
			}
			c = s.rest[i]
		}
		out.WriteByte(c)
	}
	s.rest = ""
	return out.String(), 0
}

// name consumes the name of a value, with "=".
func (s *setText) name(found func(index, depth int) string) (ok bool, reason string) {
	const stops = "=[,."
	text, stop := s.until(stops)
	dots, indexed := 0, false // indexed: the part of the name before is an index
	for depth := 1; ; {
		switch stop {
		case '=':
			s.later = true
			return true, ""
		case '.':
			if dots++; dots > maxSetDepth {
				s.fault = faultNames
				return false, ""
			}
			if text, stop = s.until(stops); text == "" && stop != 0 && stop != ',' && !indexed {
				s.fault = faultEmpty
				return false, ""
			}
			indexed = false
		case '[':
			number, end := s.until("]")
			index, err := strconv.Atoi(number)
			if end == 0 || err != nil || index < 0 {
				s.fault = faultIndex
				return false, ""
			}
			if reason := found(index, depth); reason != "" {
				return false, reason
			}
			depth++
			var behind string
			if behind, stop = s.until("[.="); behind != "" {
				s.fault = faultBehind
				return false, ""
			}
			text, indexed = "", true
		default:
			if text != "" || stop == ',' { // Helm ignores an empty name at the end
				if s.fault = faultName; s.later || stop == ',' {
					s.fault = faultNoValue
				}
			}
			return false, ""
		}
	}
}

// value consumes a value or a list of values, with the comma after it.
func (s *setText) value() bool {
	rest, list := strings.CutPrefix(s.rest, "{")
	if !list {
		s.until(",")
		return true
	}
	s.rest = rest
	for {
		switch _, stop := s.until(",}"); stop {
		case '}':
			s.rest = strings.TrimPrefix(s.rest, ",")
			return true
		case 0:
			s.fault = faultList
			return false
		}
	}
}

// json consumes a JSON value, possibly an empty one, with the comma after it.
func (s *setText) json() bool {
	if s.comma() {
		return true
	}
	d := json.NewDecoder(strings.NewReader(s.rest))
	var value json.RawMessage
	if d.Decode(&value) != nil {
		s.fault = faultJSON
		return false
	}
	s.rest = s.rest[d.InputOffset():]
	s.comma()
	return true
}

// comma consumes white space and one comma. It reports whether the text ended or the comma was there.
func (s *setText) comma() bool {
	rest, found := strings.CutPrefix(strings.TrimLeftFunc(s.rest, unicode.IsSpace), ",")
	s.rest = rest
	return found || rest == ""
}
