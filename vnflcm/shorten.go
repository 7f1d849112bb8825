package vnflcm

import "strings"

// Bounds of texts that drivers give, in which peers may be quoted.
const (
	maxText     = 32 << 10 // an error, an event, an entry of the log
	maxStepText = 4 << 10  // a field of a StepFailure: an operation may have one for each VNFC
)

// shorten bounds a masked text. It cuts the text between lines or, if the last line is too long, between words: half a
// URL would not be recognised as one with a password by a reader that masks it again.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = strings.ToValidUTF8(text[:limit], "")
	end := strings.LastIndexByte(text, '\n')
	if end < limit/2 {
		end = strings.LastIndexAny(text, " \t\n")
	}
	if end < limit/2 { // one long word
		end = len(text)
	}
	return text[:end] + "\n… and more"
}
