package kubernetes

import (
	"encoding/json"
	"errors"
	"strings"
)

// errLiteral does not quote the text, which contains a password.
var errLiteral = errors.New("is neither JSON nor a Python dictionary of strings")

// maxLiteral bounds how deep a literal is nested.
const maxLiteral = 8

// parseLiteral reads JSON, or the Python literal that Tacker's client makes of it.
func parseLiteral(text string) (any, error) {
	var tree any
	if json.Unmarshal([]byte(text), &tree) == nil {
		return tree, nil
	}
	p := literalParser{rest: text}
	tree, ok := p.value(0)
	if p.space(); !ok || p.rest != "" {
		return nil, errLiteral
	}
	return tree, nil
}

type literalParser struct{ rest string }

func (p *literalParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take consumes a token if it is next.
func (p *literalParser) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *literalParser) value(depth int) (any, bool) {
	if depth > maxLiteral {
		return nil, false
	}
	switch {
	case p.take("{"):
		return p.dictionary(depth)
	case p.take("["):
		return p.list("]", depth)
	case p.take("("):
		return p.list(")", depth)
	case p.take("None"):
		return nil, true
	case p.take("True"):
		return true, true
	case p.take("False"):
		return false, true
	}
	p.rest = strings.TrimPrefix(p.rest, "u") // prefix of Python 2
	return p.text()
}

func (p *literalParser) dictionary(depth int) (any, bool) {
	out := map[string]any{}
	for !p.take("}") {
		p.space()
		p.rest = strings.TrimPrefix(p.rest, "u")
		key, ok := p.text()
		if !ok || !p.take(":") {
			return nil, false
		}
		value, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		out[key] = value
		if !p.take(",") && !strings.HasPrefix(p.rest, "}") {
			return nil, false
		}
	}
	return out, true
}

func (p *literalParser) list(end string, depth int) (any, bool) {
	out := []any{}
	for !p.take(end) {
		value, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, value)
		if !p.take(",") && !strings.HasPrefix(p.rest, end) {
			return nil, false
		}
	}
	return out, true
}

// escapes are Python's escapes of one letter.
var escapes = map[byte]string{'\\': `\`, '\'': "'", '"': `"`, 'n': "\n", 't': "\t", 'r': "\r"}

func (p *literalParser) text() (string, bool) {
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", false
	}
	quote := p.rest[0]
	var out strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case quote:
			p.rest = p.rest[i+1:]
			return out.String(), true
		case '\\':
			i++
			if i == len(p.rest) {
				return "", false
			}
			plain, known := escapes[p.rest[i]]
			if !known {
				return "", false
			}
			out.WriteString(plain)
		default:
			out.WriteByte(c)
		}
	}
	return "", false
}
