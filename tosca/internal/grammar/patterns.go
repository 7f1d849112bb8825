package grammar

import (
	"regexp"
	"strconv"
)

// maxPattern limits the characters of a pattern with its repetitions written out. The patterns of SOL001 have 80.
const maxPattern = 20_000

// matches reports whether a whole text matches a pattern. It returns true for patterns that are too large or that RE2 does not
// support.
func (v *validator) matches(pattern, text string) bool {
	re, known := v.patterns[pattern]
	if !known {
		re = v.compile(pattern)
		v.patterns[pattern] = re
	}
	if re == nil || !v.spend(len(pattern)*len(text)/100) {
		return true
	}
	return re.MatchString(text)
}

func (v *validator) compile(pattern string) *regexp.Regexp {
	length := len(pattern)
	for _, m := range repetition.FindAllStringSubmatch(pattern, -1) {
		if n, _ := strconv.Atoi(m[1]); n > 1 && length <= maxPattern {
			length *= n
		}
	}
	if length > maxPattern || !v.spend(length) {
		return nil
	}
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		return nil
	}
	return re
}

// repetition matches {4}, {2,4} and {2,} and captures the largest number.
var repetition = regexp.MustCompile(`\{(?:[0-9]*,)?([0-9]+),?\}`)
