package helmclient

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// What the lists of --set may be. Helm makes a list as long as its largest index says, up to 65537 entries each
// (MaxIndex of helm.sh/helm/v3/pkg/strvals), copies it each time it grows, and goes as deep into lists as it is told: a few
// kilobytes of text would fill the memory, or the stack, which ends the process.
const (
	maxSetEntries = 1 << 20
	maxSetDepth   = 30 // of lists in one name; of dots Helm takes as many (MaxNestedNameLevel)
)

// SetError is an ErrInvalid: one of Values.Set, SetString or SetJSON would make lists that are too large. It holds nothing
// of the text, which may be a password.
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

// CheckLists refuses, before anything is expanded, what would fill the memory (*SetError): indexes of lists in Set, SetString
// and SetJSON that come to more than 1048576 entries together, each index counted as often as it is written, and names with
// more than 30 indexes. Clients call it before they read values. It does not check that the texts follow Helm's grammar.
func (v Values) CheckLists() error {
	entries := 0
	for _, of := range []struct {
		field string
		texts []string
		json  bool
	}{{"Set", v.Set, false}, {"SetString", v.SetString, false}, {"SetJSON", v.SetJSON, true}} {
		for i, text := range of.texts {
			reason := eachIndex(text, of.json, func(index, depth int) string {
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

// eachIndex calls found for each index of a list that Helm would come to, with how many there are in its name up to it,
// until found gives a reason against it. It ends where the text leaves Helm's grammar, as Helm does.
func eachIndex(text string, isJSON bool, found func(index, depth int) string) (reason string) {
	s := setText{text}
	for s.rest != "" {
		named, reason := s.name(found)
		if !named || reason != "" {
			return reason
		}
		if isJSON && !s.json() || !isJSON && !s.value() {
			return ""
		}
	}
	return ""
}

// setText is what is left of a text in the grammar of strvals.
type setText struct{ rest string }

// until takes what is before the first of the stops, and that one, which is 0 at the end.
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

// name takes the name of a value, with "=".
func (s *setText) name(found func(index, depth int) string) (ok bool, reason string) {
	const stops = "=[,."
	_, stop := s.until(stops)
	for depth := 1; ; {
		switch stop {
		case '=':
			return true, ""
		case '.':
			_, stop = s.until(stops)
		case '[':
			text, end := s.until("]")
			index, err := strconv.Atoi(text)
			if end == 0 || err != nil || index < 0 {
				return false, ""
			}
			if reason := found(index, depth); reason != "" {
				return false, reason
			}
			depth++
			if text, stop = s.until("[.="); text != "" {
				return false, ""
			}
		default:
			return false, ""
		}
	}
}

// value takes a value or a list of values, with the comma behind it.
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
			return false
		}
	}
}

// json takes a value of JSON, or none, with the comma behind it.
func (s *setText) json() bool {
	if s.comma() {
		return true
	}
	d := json.NewDecoder(strings.NewReader(s.rest))
	var value json.RawMessage
	if d.Decode(&value) != nil {
		return false
	}
	s.rest = s.rest[d.InputOffset():]
	s.comma()
	return true
}

// comma takes space and one comma behind it. It reports whether that was all, or the comma was there.
func (s *setText) comma() bool {
	rest, found := strings.CutPrefix(strings.TrimLeftFunc(s.rest, unicode.IsSpace), ",")
	s.rest = rest
	return found || rest == ""
}
