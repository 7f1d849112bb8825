package inventory

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Generate implements Generator.
func (g INI) Generate(inv Inventory) ([]File, error) {
	inv = complete(inv)
	if err := check(inv, g.Options); err != nil {
		return nil, err
	}
	hosts, secrets, values := g.written(inv)
	var out bytes.Buffer
	fmt.Fprintf(&out, "[%s]\n", groupAll)
	for _, h := range hosts {
		out.WriteString(h.Name)
		for _, v := range h.lines {
			fmt.Fprintf(&out, " %s", assignment(v))
		}
		out.WriteByte('\n')
	}
	for _, group := range inv.memberships() {
		fmt.Fprintf(&out, "\n[%s]\n", group.name)
		for _, name := range group.children {
			out.WriteString(name + "\n")
		}
	}
	for _, group := range inv.Generation.groupTree() {
		fmt.Fprintf(&out, "\n[%s:children]\n", group.name)
		for _, name := range group.children {
			out.WriteString(name + "\n")
		}
	}
	files, err := variablesFiles(inv, g.Options, secrets, values)
	return append([]File{{iniName, g.inventoryMode(), out.Bytes()}}, files...), err
}

// written also moves data that looks like a template into a dictionary, because an INI file has no !unsafe.
func (g INI) written(inv Inventory) ([]host, apart, apart) {
	return written(inv.Nodes, g.Options, hasTemplateData)
}

// assignment returns a variable as it is written on the line of a host.
func assignment(v variable) string { return v.name + "=" + token(v.value) }

// bareText matches texts that need no quotes: neither the splitter (shlex) nor Python's literals change them. It limits the
// length, because Ansible passes every value to Python's parser, which refuses very long expressions.
var bareText = regexp.MustCompile(`^([A-Za-z_/][A-Za-z0-9_./@-]{0,63}|[0-9]{1,3}(\.[0-9]{1,3}){3})$`)

// token writes a plain value as a Python literal within quotes of a shell. Ansible removes both
// (lib/ansible/plugins/inventory/ini.py).
func token(value any) string {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case Template:
		text = string(v)
	default:
		return "'" + literal(value) + "'"
	}
	if bareText.MatchString(text) && !slices.Contains([]string{"True", "False", "None"}, text) {
		return text
	}
	return "'" + literal(text) + "'"
}

// literal writes a plain value as a Python literal without single quotes and line breaks.
func literal(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		return strings.ToTitle(strconv.FormatBool(v)[:1]) + strconv.FormatBool(v)[1:]
	case int64, uint64:
		return fmt.Sprint(v)
	case float64:
		return floatText(v)
	case string:
		return quote(v)
	case Template:
		return quote(string(v))
	case []any:
		parts := make([]string, len(v))
		for i, each := range v {
			parts[i] = literal(each)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, quote(key)+": "+literal(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	panic(fmt.Sprintf("inventory: %T is not plain", value))
}

// quote writes a string literal of Python. It escapes every character that Python takes as the end of a line
// (str.splitlines), because Ansible splits the file at these before it looks for quotes.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r != '\'' && unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String() + `"`
}
