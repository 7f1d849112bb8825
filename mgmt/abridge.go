package mgmt

import "strings"

// longest value that an error shows.
const longest = 100

// Abridged shortens a value that is shown in an error: a request can hold one of any length. What is left of a
// longer one ends in "...".
func Abridged(value string) string {
	if len(value) <= longest {
		return value
	}
	return strings.ToValidUTF8(value[:longest], "") + "..."
}
