package ansiblesim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// get is the value of a variable with its templates resolved; found is false when there is none.
func (v vars) get(name string) (value any, found bool, err error) {
	raw, found := v[name]
	if !found {
		return nil, false, nil
	}
	value, err = v.resolve(raw, 0)
	return value, true, err
}

// text is a variable as text, "" when there is none.
func (v vars) text(name string) (string, error) {
	value, found, err := v.get(name)
	if !found || err != nil || value == nil {
		return "", err
	}
	return plainText(value), nil
}

func plainText(value any) string {
	switch value := value.(type) {
	case bool: // as Python prints them
		if value {
			return "True"
		}
		return "False"
	case nil:
		return "None"
	default:
		return fmt.Sprint(value)
	}
}

// resolve replaces templates in a value, also in what they lead to.
func (v vars) resolve(value any, depth int) (any, error) {
	if depth > 20 {
		return nil, fmt.Errorf("recursive loop detected in template string")
	}
	switch value := value.(type) {
	case unsafe:
		return string(value), nil
	case string:
		return v.template(value, depth)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			var err error
			if out[i], err = v.resolve(item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for key, item := range value {
			var err error
			if out[key], err = v.resolve(item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

var expressions = regexp.MustCompile(`(?s)\{\{(.*?)\}\}`)

// template resolves the references in a text. One that is the whole text keeps its type.
func (v vars) template(text string, depth int) (any, error) {
	if strings.Contains(text, "{%") || strings.Contains(text, "{#") {
		return nil, fmt.Errorf("ansiblesim: the template %q is not simulated", text)
	}
	found := expressions.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 {
		if strings.Contains(text, "{{") {
			return nil, fmt.Errorf("template error while templating string: unexpected end of template. String: %s", text)
		}
		return text, nil
	}
	var out strings.Builder
	last := 0
	for _, at := range found {
		value, err := v.expression(strings.TrimSpace(text[at[2]:at[3]]), depth)
		if err != nil {
			return nil, err
		}
		if at[0] == 0 && at[1] == len(text) {
			return native(value), nil
		}
		out.WriteString(text[last:at[0]])
		out.WriteString(plainText(value))
		last = at[1]
	}
	out.WriteString(text[last:])
	return out.String(), nil
}

// native is what becomes of the result of a template: text that looks like a list, a dictionary or a boolean becomes one, unless
// the filter "string" keeps it.
func native(value any) any {
	switch value := value.(type) {
	case asText:
		return string(value)
	case string:
		if value == "True" || value == "False" {
			return value == "True"
		}
		if strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{") {
			var out any
			if yaml.Unmarshal([]byte(value), &out) == nil {
				return out
			}
		}
	}
	return value
}

var (
	nameToken = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	attribute = regexp.MustCompile(`^\.([A-Za-z_][A-Za-z0-9_]*)`)
	keyed     = regexp.MustCompile(`^\[\s*(?:'([^'\\]*)'|"([^"\\]*)"|([0-9]+)|([A-Za-z_][A-Za-z0-9_.]*))\s*\]`)
	asString  = regexp.MustCompile(`^\s*\|\s*string\b`)
	filter    = regexp.MustCompile(`^\s*\|\s*default\(\s*(?:'([^']*)'|"([^"]*)"|(omit|true|false|[0-9]+))\s*(?:,\s*true\s*)?\)`)
)

// expression evaluates a reference such as secrets[inventory_hostname].password | default("") | string.
func (v vars) expression(text string, depth int) (any, error) {
	name := nameToken.FindString(text)
	if name == "" {
		return nil, fmt.Errorf("ansiblesim: the expression %q is not simulated", text)
	}
	value, rest, missing := v.walk(name, text[len(name):], depth)
	stays := false
	for {
		if m := asString.FindString(rest); m != "" {
			stays, rest = true, rest[len(m):]
			continue
		}
		m := filter.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		rest = rest[len(m[0]):]
		if missing != nil {
			value, missing = defaultOf(m), nil
		}
	}
	if strings.TrimSpace(rest) != "" {
		return nil, fmt.Errorf("ansiblesim: the expression %q is not simulated", text)
	}
	if missing != nil {
		return nil, missing
	}
	value, err := v.resolve(value, depth+1)
	if err != nil || !stays {
		return value, err
	}
	return asText(plainText(value)), nil
}

// walk follows attributes and keys from a variable on. missing says what there is not; a default takes the place of the
// whole reference then, whose rest is behind it.
func (v vars) walk(name, text string, depth int) (value any, rest string, missing error) {
	rest = text
	value, found := v[name]
	if !found {
		missing = fmt.Errorf("'%s' is undefined", name)
	}
	for {
		key := ""
		if m := attribute.FindStringSubmatch(rest); m != nil {
			key, rest = m[1], rest[len(m[0]):]
		} else if m := keyed.FindStringSubmatch(rest); m != nil {
			key, rest = m[1]+m[2]+m[3], rest[len(m[0]):]
			if m[4] != "" {
				inner, err := v.expression(m[4], depth+1)
				if err != nil {
					return nil, rest, err
				}
				key = plainText(inner)
			}
		} else {
			return value, rest, missing
		}
		if missing == nil {
			value, missing = item(value, key)
		}
	}
}

// asText is a string that stays one, whatever it looks like.
type asText string

func defaultOf(m []string) any {
	switch {
	case m[3] == "omit":
		return nil
	case m[3] == "true" || m[3] == "false":
		return m[3] == "true"
	case m[3] != "":
		n, _ := strconv.Atoi(m[3])
		return n
	}
	return m[1] + m[2]
}

func item(of any, key string) (any, error) {
	switch of := of.(type) {
	case map[string]any:
		if value, found := of[key]; found {
			return value, nil
		}
		return nil, fmt.Errorf("'dict object' has no attribute '%s'", key)
	case []any:
		if n, err := strconv.Atoi(key); err == nil && n < len(of) {
			return of[n], nil
		}
		return nil, fmt.Errorf("'list object' has no element %s", key)
	}
	return nil, fmt.Errorf("'%T object' has no attribute '%s'", of, key)
}
