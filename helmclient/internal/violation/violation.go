// Package violation masks values in errors of Helm about values that violate the schema of a chart.
package violation

import "regexp"

// place is the beginning of a line about one value, as github.com/santhosh-tekuri/jsonschema/v6 writes it for Helm.
const place = `(?m)^(\s*- at '.*?': )`

// quotes are the messages that quote a value, or an error that may quote one (kind.go of that module).
var quotes = []struct {
	message *regexp.Regexp
	masked  string
}{
	{regexp.MustCompile(place + `.* does not match pattern `), "$1*** does not match pattern "},
	{regexp.MustCompile(place + `.* is not valid ([\w-]+): .*$`), "$1*** is not valid $2"},
	{regexp.MustCompile(place + `(value is not (?:of mediatype )?'.*?'(?: encoded)?): .*$`), "$1$2"},
	{regexp.MustCompile(place + `((?:exclusive)?[mM](?:in|ax)imum|multipleOf): got .*, want `), "$1$2: got ***, want "},
}

// Mask replaces the values that the text of an error quotes. The places of the values and the reasons stay.
func Mask(text string) string {
	for _, q := range quotes {
		text = q.message.ReplaceAllString(text, q.masked)
	}
	return text
}
