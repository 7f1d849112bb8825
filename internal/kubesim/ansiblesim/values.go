package ansiblesim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// vars are variables by name. Values are what YAML has: maps, lists, strings, numbers, booleans, nil, and unsafe.
type vars map[string]any

// unsafe is text that is no template, whatever is in it.
type unsafe string

// valueOf reads a YAML value with Ansible's tags.
func valueOf(n *yaml.Node, keys []string) (any, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return valueOf(n.Alias, keys)
	case yaml.MappingNode:
		return mappingOf(n, keys)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			value, err := valueOf(item, keys)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	}
	switch n.Tag {
	case "!unsafe":
		return unsafe(n.Value), nil
	case "!vault", "!vault-encrypted":
		plain, err := decrypt(n.Value, keys)
		return string(plain), err
	}
	return scalar(n)
}

func mappingOf(n *yaml.Node, keys []string) (any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value, err := valueOf(n.Content[i+1], keys)
		if err != nil {
			return nil, err
		}
		if n.Tag == "!unsafe" {
			return nil, errors.New("ansiblesim: a mapping with !unsafe is not simulated")
		}
		out[n.Content[i].Value] = value
	}
	return out, nil
}

// scalar reads plain scalars as YAML 1.1 does, which is what Ansible reads.
func scalar(n *yaml.Node) (any, error) {
	if n.Style == 0 {
		switch strings.ToLower(n.Value) {
		case "yes", "on", "true":
			return true, nil
		case "no", "off", "false":
			return false, nil
		}
	}
	var out any
	if err := n.Decode(&out); err != nil {
		return nil, err
	}
	return out, nil
}

// literal reads a value of an INI inventory: Python's literals, anything else is text.
func literal(text string) (any, error) {
	switch {
	case text == "True":
		return true, nil
	case text == "False":
		return false, nil
	case text == "None":
		return nil, nil
	case len(text) >= 2 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0]:
		return unquote(text)
	case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "{{") && !strings.HasPrefix(text, "{%"):
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
			return text, nil //nolint:nilerr // what is no literal is text
		}
		return valueOf(doc.Content[0], nil)
	}
	if n, err := strconv.Atoi(text); err == nil && (text == "0" || !strings.HasPrefix(strings.TrimLeft(text, "+-"), "0")) {
		return n, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".eE") && strings.Trim(text, "0123456789.eE+-") == "" {
		return f, nil
	}
	return text, nil
}

// unquote reads a quoted Python string of one line.
func unquote(text string) (any, error) {
	body, quote := text[1:len(text)-1], text[:1]
	var out strings.Builder
	for i := 0; i < len(body); i++ {
		switch {
		case string(body[i]) == quote:
			return text, nil // no literal: Ansible takes it as it is
		case body[i] != '\\':
			out.WriteByte(body[i])
		case i+1 < len(body) && strings.ContainsRune(`\'"`, rune(body[i+1])):
			i++
			out.WriteByte(body[i])
		case i+1 < len(body) && strings.ContainsRune("nrt", rune(body[i+1])):
			i++
			out.WriteByte(map[byte]byte{'n': '\n', 'r': '\r', 't': '\t'}[body[i]])
		case i+1 < len(body) && strings.ContainsRune("xuUN01234567abfv", rune(body[i+1])):
			n := map[byte]int{'x': 4, 'u': 6, 'U': 10}[body[i+1]]
			if n == 0 || i+n > len(body) {
				return nil, fmt.Errorf("ansiblesim: the escape in %s is not simulated", text)
			}
			code, err := strconv.ParseInt(body[i+2:i+n], 16, 32)
			if err != nil {
				return nil, fmt.Errorf("ansiblesim: the escape in %s is not simulated", text)
			}
			out.WriteRune(rune(code))
			i += n - 1
		default:
			out.WriteByte('\\') // Python keeps what it does not know
		}
	}
	return out.String(), nil
}

// split splits words as Python's shlex.split does.
func split(line string, comments bool) (words []string, err error) {
	var word strings.Builder
	var quote byte
	inWord := false
	for i := 0; i < len(line); i++ {
		ch := line[i]
		switch {
		case quote == 0 && (ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r'):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case quote == 0 && comments && ch == '#':
			i = len(line)
		case quote == 0 && (ch == '\'' || ch == '"'):
			quote, inWord = ch, true
		case quote == ch && quote != 0:
			quote = 0
		case ch == '\\' && quote == 0, ch == '\\' && quote == '"' && i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\\'):
			if i+1 == len(line) {
				return nil, errors.New("No escaped character")
			}
			i++
			word.WriteByte(line[i])
			inWord = true
		default:
			word.WriteByte(ch)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("No closing quotation")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
