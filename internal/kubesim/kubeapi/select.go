package kubeapi

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// fieldLabels are the fields that lists can be selected by, beside the name and the namespace.
var fieldLabels = map[string][]string{
	"Pod":       {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP"},
	"Event":     {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "type", "source"},
	"Secret":    {"type"},
	"Namespace": {"status.phase"}, "Node": {"spec.unschedulable"}, "ReplicaSet": {"status.replicas"}, "Job": {"status.successful"},
}

// selector reads the selectors of a request.
func (q *request) selector() (func(Object) bool, error) {
	query := q.http.URL.Query()
	fields, err := selectFields(q.path.kind.Kind, query.Get("fieldSelector"))
	if err != nil {
		return nil, err
	}
	labels, err := selectLabels(query.Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	return func(o Object) bool {
		set, _ := at(o, "metadata", "labels").(Object)
		return fields(o) && labels(set)
	}, nil
}

func selectFields(kind, text string) (func(Object) bool, error) {
	var tests []func(Object) bool
	for term := range strings.SplitSeq(text, ",") {
		if term == "" {
			continue
		}
		name, value, ok := strings.Cut(term, "=")
		name, differs := strings.CutSuffix(name, "!")
		value = strings.TrimPrefix(value, "=")
		if !ok {
			return nil, apiFault(http.StatusBadRequest, "BadRequest", "invalid selector: %q; can't understand %q", text, term)
		}
		if name != "metadata.name" && name != "metadata.namespace" && !slices.Contains(fieldLabels[kind], name) {
			return nil, apiFault(http.StatusBadRequest, "BadRequest", "field label not supported: %s", name)
		}
		path := strings.Split(name, ".")
		tests = append(tests, func(o Object) bool {
			is := ""
			if v := at(o, path...); v != nil {
				is = fmt.Sprint(v)
			}
			return (is == value) != differs
		})
	}
	return func(o Object) bool {
		return !slices.ContainsFunc(tests, func(test func(Object) bool) bool { return !test(o) })
	}, nil
}

// setTerm is a term of a label selector that names a set of values.
var setTerm = regexp.MustCompile(`^(\S+)\s+(in|notin)\s*\(([^()]*)\)$`)

// selectLabels reads a label selector, by equality and by sets (apimachinery, labels.Parse).
func selectLabels(text string) (func(labels Object) bool, error) {
	var tests []func(Object) bool
	for _, term := range labelTerms(text) {
		name, operator, values := term, "exists", []string(nil)
		if m := setTerm.FindStringSubmatch(term); m != nil {
			name, operator = m[1], m[2]
			for v := range strings.SplitSeq(m[3], ",") {
				values = append(values, strings.TrimSpace(v))
			}
		} else if before, value, found := strings.Cut(term, "="); found {
			operator = "in"
			if name, found = strings.CutSuffix(before, "!"); found {
				operator = "notin"
			}
			values = []string{strings.TrimSpace(strings.TrimPrefix(value, "="))}
		} else if rest, found := strings.CutPrefix(term, "!"); found {
			name, operator = rest, "missing"
		}
		name = strings.TrimSpace(name)
		if !labelNames.MatchString(name) || slices.ContainsFunc(values, func(v string) bool { return !labelValues.MatchString(v) }) {
			return nil, apiFault(http.StatusBadRequest, "BadRequest", "unable to parse requirement: %q", term)
		}
		tests = append(tests, labelTest(name, operator, values))
	}
	return func(labels Object) bool {
		return !slices.ContainsFunc(tests, func(test func(Object) bool) bool { return !test(labels) })
	}, nil
}

func labelTest(name, operator string, values []string) func(Object) bool {
	return func(labels Object) bool {
		value, there := labels[name].(string)
		switch operator {
		case "exists", "Exists":
			return there
		case "missing", "DoesNotExist":
			return !there
		case "in", "In":
			return there && slices.Contains(values, value)
		case "notin", "NotIn":
			return !there || !slices.Contains(values, value)
		}
		return false
	}
}

// labelTerms parts a selector at the commas that are in no parentheses.
func labelTerms(text string) (terms []string) {
	depth, start := 0, 0
	for i, r := range text + "," {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			if term := strings.TrimSpace(text[start:i]); term != "" {
				terms = append(terms, term)
			}
			start = i + 1
		}
	}
	return terms
}

// selects reads a LabelSelector (meta/v1). One that is missing selects nothing, an empty one everything.
func selects(selector any, labels any) bool {
	s, given := selector.(Object)
	if !given {
		return false
	}
	set, _ := labels.(Object)
	exact, _ := s["matchLabels"].(Object)
	for name, value := range exact {
		if set[name] != value {
			return false
		}
	}
	return matchesExpressions(s["matchExpressions"], set)
}

func matchesExpressions(list any, set Object) bool {
	expressions, _ := list.([]any)
	for _, e := range expressions {
		if !labelTest(Text(e, "key"), Text(e, "operator"), texts(at(e, "values")))(set) {
			return false
		}
	}
	return true
}

// texts are the strings of a list.
func texts(list any) (out []string) {
	values, _ := list.([]any)
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// selectorText is a LabelSelector as text, as the status of a Scale has it.
func selectorText(selector any) string {
	exact, _ := at(selector, "matchLabels").(Object)
	var terms []string
	for name, value := range exact {
		terms = append(terms, fmt.Sprintf("%s=%v", name, value))
	}
	slices.Sort(terms)
	expressions, _ := at(selector, "matchExpressions").([]any)
	for _, e := range expressions {
		switch operator := Text(e, "operator"); operator {
		case "Exists":
			terms = append(terms, Text(e, "key"))
		case "DoesNotExist":
			terms = append(terms, "!"+Text(e, "key"))
		default:
			terms = append(terms, Text(e, "key")+" "+strings.ToLower(operator)+" ("+strings.Join(texts(at(e, "values")), ",")+")")
		}
	}
	return strings.Join(terms, ",")
}
