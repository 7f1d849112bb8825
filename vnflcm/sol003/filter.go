package sol003

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Filter selects documents by their attributes (SOL013 v2.6.1 5.2). The zero Filter selects every document.
type Filter struct{ terms []term }

// term is one condition. A document must meet every term of a filter.
type term struct {
	op     string
	path   []string // names of attributes, from the top of the document
	values []string
}

// operators maps the names of SOL013 v2.6.1 5.2.2 to whether there may be several values.
var operators = map[string]bool{"eq": false, "neq": false, "gt": false, "gte": false, "lt": false, "lte": false,
	"in": true, "nin": true, "cont": true, "ncont": true}

// The characters that a value may have only in quotes.
const filterSyntax = "(),'"

// ParseFilter reads the value of the query parameter "filter":
//
//	(eq,instantiationState,INSTANTIATED);(cont,vnfInstanceName,edge,core)
//
// A value with a bracket, a comma or a quote stands in single quotes, in which a quote is doubled. What OpenStack Tacker reads
// beyond SOL013 is read too: further brackets around expressions, and expressions without brackets.
func ParseFilter(text string) (Filter, error) {
	p := filterParser{rest: text}
	var f Filter
	for {
		p.open += p.skip('(')
		t, err := p.term()
		if err != nil {
			return Filter{}, fmt.Errorf("filter: at %q: %w", beginning(p.rest), err)
		}
		f.terms = append(f.terms, t)
		if p.open -= p.skip(')'); p.open < 0 {
			return Filter{}, fmt.Errorf("filter: there are more closing brackets than opening ones")
		}
		separated := p.skip(';') > 0
		switch {
		case p.rest == "" && p.open == 0:
			return f, nil
		case p.rest == "":
			return Filter{}, fmt.Errorf("filter: a bracket is not closed")
		case !separated:
			return Filter{}, fmt.Errorf("filter: at %q: expressions are separated by a semicolon", beginning(p.rest))
		}
	}
}

// beginning cuts a text to a length that an error or a log record can quote.
func beginning(text string) string {
	const longest = 100
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

type filterParser struct {
	rest string
	open int // brackets
}

// skip passes over repetitions of a character and returns how many there were.
func (p *filterParser) skip(c byte) int {
	trimmed := strings.TrimLeft(p.rest, string(c))
	n := len(p.rest) - len(trimmed)
	p.rest = trimmed
	return n
}

// word reads up to the next comma.
func (p *filterParser) word() string {
	word, rest, _ := strings.Cut(p.rest, ",")
	p.rest = rest
	return word
}

func (p *filterParser) term() (term, error) {
	start := p.rest
	t := term{op: p.word()}
	several, known := operators[t.op]
	if !known {
		p.rest = start
		return t, fmt.Errorf("an operator is expected: eq, neq, gt, gte, lt, lte, in, nin, cont or ncont")
	}
	path := p.word()
	if t.path = strings.Split(path, "/"); slices.Contains(t.path, "") || strings.ContainsAny(path, filterSyntax+";") {
		p.rest = start
		return t, fmt.Errorf("the name of an attribute is expected after the operator, and a value")
	}
	for {
		value, err := p.value()
		if err != nil {
			return t, err
		}
		t.values = append(t.values, value)
		if !strings.HasPrefix(p.rest, ",") {
			break
		}
		p.rest = p.rest[1:]
	}
	if len(t.values) > 1 && !several {
		return t, fmt.Errorf("%s has one value; put a value with a comma in single quotes", t.op)
	}
	return t, nil
}

func (p *filterParser) value() (string, error) {
	if strings.HasPrefix(p.rest, "'") {
		return p.quoted()
	}
	ends := filterSyntax
	if p.open == 0 {
		ends += ";"
	}
	end := strings.IndexAny(p.rest, ends)
	if end < 0 {
		end = len(p.rest)
	}
	value := p.rest[:end]
	p.rest = p.rest[end:]
	if strings.HasPrefix(p.rest, "(") || strings.HasPrefix(p.rest, "'") {
		return "", fmt.Errorf("a value with this character stands in single quotes")
	}
	return value, nil
}

func (p *filterParser) quoted() (string, error) {
	var value strings.Builder
	for rest := p.rest[1:]; ; {
		part, after, closed := strings.Cut(rest, "'")
		value.WriteString(part)
		if !closed {
			return "", fmt.Errorf("a quote is not closed")
		}
		if !strings.HasPrefix(after, "'") {
			p.rest = after
			return value.String(), nil
		}
		value.WriteByte('\'')
		rest = after[1:]
	}
}

// String returns the filter as ParseFilter reads it.
func (f Filter) String() string {
	out := make([]string, len(f.terms))
	for i, t := range f.terms {
		parts := []string{t.op, strings.Join(t.path, "/")}
		for _, v := range t.values {
			if strings.ContainsAny(v, filterSyntax) {
				v = "'" + strings.ReplaceAll(v, "'", "''") + "'"
			}
			parts = append(parts, v)
		}
		out[i] = "(" + strings.Join(parts, ",") + ")"
	}
	return strings.Join(out, ";")
}

// Match reports whether a document meets the filter. The document is what package encoding/json reads into an any.
//
// An attribute of the objects in a list has several values: eq, gt, gte, lt, lte, in and cont want one of them to match. neq,
// nin and ncont are the opposites of eq, in and cont: they also match documents without the attribute. The keys of a map are
// names in a path; @key stands for the keys themselves.
func (f Filter) Match(document any) bool {
	return !slices.ContainsFunc(f.terms, func(t term) bool { return !t.match(document) })
}

// opposites are the operators that want no value to match.
var opposites = map[string]string{"neq": "eq", "nin": "in", "ncont": "cont"}

func (t term) match(document any) bool {
	op, opposite := t.op, false
	if positive := opposites[t.op]; positive != "" {
		op, opposite = positive, true
	}
	found := slices.ContainsFunc(leaves(document, t.path), func(leaf string) bool {
		return slices.ContainsFunc(t.values, func(value string) bool { return compare(op, leaf, value) })
	})
	return found != opposite
}

// leaves returns the values of an attribute.
func leaves(node any, path []string) (out []string) {
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			out = append(out, leaves(item, path)...)
		}
	case map[string]any:
		if len(path) == 0 {
			return nil
		}
		if path[0] == "@key" && len(path) == 1 {
			for key := range n {
				out = append(out, key)
			}
			return out
		}
		return leaves(n[path[0]], path[1:])
	case nil:
	default:
		if len(path) == 0 {
			out = append(out, scalar(n))
		}
	}
	return out
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func compare(op, leaf, value string) bool {
	switch op {
	case "cont":
		return strings.Contains(leaf, value)
	case "eq", "in":
		return leaf == value || order(leaf, value) == 0
	case "gt":
		return order(leaf, value) > 0
	case "gte":
		return order(leaf, value) >= 0
	case "lt":
		return order(leaf, value) < 0
	default:
		return order(leaf, value) <= 0
	}
}

// order compares two numbers, two times or, if one of both is neither, two texts.
func order(a, b string) int {
	if x, err := strconv.ParseFloat(a, 64); err == nil {
		if y, err := strconv.ParseFloat(b, 64); err == nil {
			return cmp.Compare(x, y)
		}
	}
	if x, err := time.Parse(time.RFC3339Nano, a); err == nil {
		if y, err := time.Parse(time.RFC3339Nano, b); err == nil {
			return x.Compare(y)
		}
	}
	return strings.Compare(a, b)
}

// take removes the first term that says which values a top-level attribute may have, and returns these values: the store
// selects by them.
func (f *Filter) take(attribute string, most int) []string {
	i := slices.IndexFunc(f.terms, func(t term) bool {
		return len(t.path) == 1 && t.path[0] == attribute && (t.op == "eq" || t.op == "in") && (most == 0 || len(t.values) <= most) &&
			!slices.Contains(t.values, "") // for a store, it is no condition
	})
	if i < 0 {
		return nil
	}
	values := f.terms[i].values
	f.terms = slices.Delete(slices.Clone(f.terms), i, i+1)
	return values
}
