package tosca

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// CheckParameters compares the additionalParams of a request with AdditionalParameters. operation is a key of this map. given is the JSON
// object, decoded to texts, booleans, numbers (also json.Number), []any and map[string]any.
//
// The error joins a *RequestError for each required attribute that is missing and has no default, and for each value of another type.
// Booleans and numbers may be texts, and a single value may stand for a list, because requests come from command lines too. Null counts as
// absent. Constraints are not checked.
//
// undeclared are the attributes that the descriptor does not declare, each with the nearest declared name if there is one. An operation
// that declares no attributes accepts any.
func (f *Flavour) CheckParameters(operation string, given map[string]any) (undeclared []Undeclared, err error) {
	declared := f.AdditionalParameters[operation]
	if len(declared) == 0 {
		return nil, nil
	}
	var c parameterCheck
	c.attributes("additionalParams", declared, given)
	return c.undeclared, errors.Join(c.faults...)
}

// Undeclared is an attribute of a request that the descriptor does not declare.
type Undeclared struct {
	// Path is the attribute, for example "additionalParams.site.zone". Nearest is a declared name that may be meant, "" without one.
	Path, Nearest string
}

type parameterCheck struct {
	faults     []error
	undeclared []Undeclared
}

func (c *parameterCheck) fault(path, format string, args ...any) {
	c.faults = append(c.faults, &RequestError{Attribute: path, Reason: fmt.Sprintf(format, args...)})
}

func (c *parameterCheck) attributes(path string, declared []Attribute, given map[string]any) {
	known := map[string]bool{}
	for _, a := range declared {
		known[a.Name] = true
		at := path + "." + a.Name
		if value := given[a.Name]; value != nil {
			c.value(at, a, value)
		} else if a.Required && a.Default == nil {
			c.fault(at, "is required by the VNFD")
		}
	}
	for _, name := range sortedKeys(given) {
		if !known[name] {
			c.undeclared = append(c.undeclared, Undeclared{path + "." + name, problem.Nearest(name, sortedKeys(known))})
		}
	}
}

func (c *parameterCheck) value(path string, a Attribute, value any) {
	switch object, isObject := value.(map[string]any); {
	case value == nil:
	case a.Base == "list":
		c.list(path, a, value)
	case a.Base == "map" && isObject:
		for _, key := range sortedKeys(object) {
			c.entry(path+"."+key, a, object[key])
		}
	case a.Base == "" && len(a.Attributes) == 0:
	case a.Base == "" && isObject:
		c.attributes(path, a.Attributes, object)
	case a.Base == "" || a.Base == "map":
		c.fault(path, "must be an object")
	default:
		c.scalar(path, a.Base, value)
	}
}

func (c *parameterCheck) list(path string, a Attribute, value any) {
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	for i, item := range items {
		c.entry(fmt.Sprintf("%s[%d]", path, i), a, item)
	}
}

func (c *parameterCheck) entry(path string, of Attribute, value any) {
	if of.Entry != nil {
		c.value(path, *of.Entry, value)
	}
}

// scalar checks a value of a primitive type. Types such as timestamp and scalar-unit.size are texts or numbers in a request.
func (c *parameterCheck) scalar(path, kind string, value any) {
	text, isText := value.(string)
	isBoolean, isNumber, err := false, false, error(nil)
	switch value.(type) {
	case bool:
		isBoolean = true
	case json.Number, float64, int64, int:
		text, isNumber = fmt.Sprint(value), true
	}
	switch kind {
	case "integer":
		_, err = strconv.ParseInt(text, 10, 64)
	case "float":
		_, err = strconv.ParseFloat(text, 64)
	case "boolean":
		if !isBoolean {
			_, err = strconv.ParseBool(text)
		}
	case "string":
		if !isText {
			err = errors.New("no text")
		}
	case "range":
	default:
		if !isText && !isNumber {
			err = errors.New("neither a text nor a number")
		}
	}
	if err != nil {
		c.fault(path, "must be of type %s", kind)
	}
}
