package inventory

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readLiteral reads a value of an INI file as Ansible does: what is a Python literal is that, anything else is the text
// (ast.literal_eval in lib/ansible/plugins/inventory/ini.py). Sets, bytes and complex numbers, which no variable of a host is, count as
// text.
func readLiteral(text string) any {
	r := literalReader{rest: strings.TrimLeft(text, " \t")}
	value, ok := r.value(0)
	if r.blank(); !ok || r.rest != "" {
		return dataOrTemplate(text)
	}
	return value
}

type literalReader struct{ rest string }

func (r *literalReader) blank() { r.rest = strings.TrimLeft(r.rest, " \t\n\r\f") }

func (r *literalReader) take(prefix string) bool {
	rest, ok := strings.CutPrefix(r.rest, prefix)
	r.rest = rest
	return ok
}

func (r *literalReader) value(depth int) (any, bool) {
	if depth > deepest || r.rest == "" {
		return nil, false
	}
	switch c := r.rest[0]; {
	case c == '"' || c == '\'':
		return r.texts()
	case c == '[' || c == '(':
		return r.list(depth)
	case c == '{':
		return r.dict(depth)
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	}
	for word, value := range map[string]any{"True": true, "False": false, "None": nil} {
		if rest, ok := strings.CutPrefix(r.rest, word); ok && (rest == "" || strings.ContainsRune(" \t\n\r\f,]})", rune(rest[0]))) {
			r.rest = rest
			return value, true
		}
	}
	return nil, false
}

// texts reads string literals, which Python joins when they follow each other.
func (r *literalReader) texts() (any, bool) {
	var out strings.Builder
	for r.rest != "" && (r.rest[0] == '"' || r.rest[0] == '\'') {
		text, ok := r.text()
		if !ok {
			return nil, false
		}
		out.WriteString(text)
		r.blank()
	}
	return dataOrTemplate(out.String()), true
}

func (r *literalReader) text() (string, bool) {
	end := r.rest[:1]
	if triple := strings.Repeat(end, 3); strings.HasPrefix(r.rest, triple) {
		end = triple
	}
	r.rest = r.rest[len(end):]
	var out strings.Builder
	for r.rest != "" {
		if r.take(end) {
			return out.String(), true
		}
		if r.rest[0] == '\\' {
			if !r.escape(&out) {
				return "", false
			}
			continue
		}
		_, size := utf8.DecodeRuneInString(r.rest)
		out.WriteString(r.rest[:size])
		r.rest = r.rest[size:]
	}
	return "", false
}

var simpleEscapes = map[byte]string{'\\': "\\", '\'': "'", '"': `"`, 'n': "\n", 'r': "\r", 't': "\t", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\n': ""}

func (r *literalReader) escape(out *strings.Builder) bool {
	if len(r.rest) < 2 {
		return false
	}
	c, after := r.rest[1], r.rest[1:]
	r.rest = r.rest[2:]
	if text, simple := simpleEscapes[c]; simple {
		out.WriteString(text)
		return true
	}
	digits, base := 0, 16
	switch {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	case c >= '0' && c <= '7':
		r.rest = after
		base = 8
		for digits = 1; digits < 3 && digits < len(r.rest) && r.rest[digits] >= '0' && r.rest[digits] <= '7'; {
			digits++
		}
	case c == 'N':
		return false
	default: // Python keeps the backslash
		out.WriteByte('\\')
		r.rest = after
		return true
	}
	if len(r.rest) < digits {
		return false
	}
	code, err := strconv.ParseUint(r.rest[:digits], base, 32)
	if err != nil || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		return false
	}
	out.WriteRune(rune(code))
	r.rest = r.rest[digits:]
	return true
}

func (r *literalReader) list(depth int) (any, bool) {
	end := "]"
	if r.rest[0] == '(' {
		end = ")"
	}
	r.rest = r.rest[1:]
	out := []any{}
	comma := false
	for {
		r.blank()
		if r.take(end) {
			if end == ")" && len(out) == 1 && !comma { // parentheses around one value
				return out[0], true
			}
			return out, true
		}
		if len(out) > 0 && !comma {
			return nil, false
		}
		value, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, value)
		r.blank()
		comma = r.take(",")
	}
}

func (r *literalReader) dict(depth int) (any, bool) {
	r.rest = r.rest[1:]
	out := map[string]any{}
	for comma := true; ; {
		r.blank()
		if r.take("}") {
			return out, true
		}
		if !comma || r.rest == "" || (r.rest[0] != '"' && r.rest[0] != '\'') {
			return nil, false
		}
		key, ok := r.texts()
		if _, isText := key.(string); !ok || !isText || !r.take(":") {
			return nil, false
		}
		r.blank()
		value, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		out[key.(string)] = value
		r.blank()
		comma = r.take(",")
	}
}

func (r *literalReader) number() (any, bool) {
	end := 0
	for end < len(r.rest) {
		c := r.rest[end]
		sign := (c == '-' || c == '+') && (end == 0 || strings.ContainsRune("eE", rune(r.rest[end-1])) && !strings.HasPrefix(strings.TrimLeft(r.rest, "+-"), "0x"))
		if !sign && c != '.' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		end++
	}
	value, ok := readNumber(r.rest[:end])
	r.rest = r.rest[end:]
	return value, ok
}

// readNumber reads a number as Python writes it. Those beyond 64 bits are text.
func readNumber(text string) (any, bool) {
	digits := strings.ToLower(strings.TrimLeft(text, "+-"))
	if len(text)-len(digits) > 1 || digits == "" || strings.HasPrefix(digits, "_") || strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") || digits[0] > '9' {
		return nil, false
	}
	prefixed := len(digits) > 1 && digits[0] == '0' && strings.ContainsRune("xob", rune(digits[1]))
	if !prefixed && strings.ContainsAny(digits, ".e") {
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		return f, err == nil && !math.IsInf(f, 0) && !strings.ContainsAny(digits, "xp")
	}
	if !prefixed && digits[0] == '0' && strings.Trim(digits, "0_") != "" {
		return nil, false // 010 is no number for Python 3
	}
	base := 0
	if !prefixed {
		base, text = 10, strings.ReplaceAll(text, "_", "")
	}
	if i, err := strconv.ParseInt(text, base, 64); err == nil {
		return i, true
	}
	u, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), base, 64)
	return u, err == nil
}
