package vnflcm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// checkSurrogates finds every text of a JSON document that has half of a surrogate pair. A document that is not JSON has no
// faults here.
func checkSurrogates(document []byte) error {
	if !hasHalfPair(document) {
		return nil
	}
	f := surrogateFinder{document: document, tokens: json.NewDecoder(bytes.NewReader(document))}
	f.value("")
	return errors.Join(f.faults...)
}

// surrogateFinder reads a document by tokens, because the values that encoding/json returns do not show what it has replaced.
type surrogateFinder struct {
	document []byte
	tokens   *json.Decoder
	faults   []error
}

// next returns the next token, nil at the end, and whether its text has half of a surrogate pair.
func (f *surrogateFinder) next() (token json.Token, half bool) {
	start := f.tokens.InputOffset()
	token, err := f.tokens.Token()
	if err != nil {
		return nil, false
	}
	return token, hasHalfPair(f.document[start:f.tokens.InputOffset()])
}

func (f *surrogateFinder) value(path string) {
	token, half := f.next()
	f.check(path, half)
	switch token {
	case json.Delim('{'):
		for f.tokens.More() {
			name, half := f.next()
			at := join(path, fmt.Sprint(name))
			f.check(at, half)
			f.value(at)
		}
		f.next()
	case json.Delim('['):
		for i := 0; f.tokens.More(); i++ {
			f.value(fmt.Sprintf("%s[%d]", path, i))
		}
		f.next()
	}
}

func (f *surrogateFinder) check(path string, half bool) {
	if half {
		f.faults = append(f.faults, &ParamError{Path: cmp.Or(path, wholeDocument), Reason: `has half of a surrogate pair (\ud800 to \udfff), which is no character`})
	}
}

// hasHalfPair reports whether JSON has an escaped half of a surrogate pair without the other half.
func hasHalfPair(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		text = text[i:]
		first, escaped := escapedUnit(text)
		switch {
		case !escaped:
			text = text[min(2, len(text)):]
		case !utf16.IsSurrogate(first):
			text = text[unitSize:]
		default:
			second, _ := escapedUnit(text[unitSize:])
			if utf16.DecodeRune(first, second) == utf8.RuneError {
				return true
			}
			text = text[2*unitSize:]
		}
	}
}

// unitSize is the length of an escaped UTF-16 code unit, such as \u00fc.
const unitSize = 6

// escapedUnit returns the code unit that text begins with.
func escapedUnit(text []byte) (unit rune, escaped bool) {
	if len(text) < unitSize || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:unitSize]), 16, 16)
	return rune(n), err == nil
}
