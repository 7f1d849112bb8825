package openstack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// userDataParams holds Tacker's attributes for a user data class. The script is a Python file, which the driver does not
// run. The driver refuses a request with a script and without a class, as Tacker does.
type userDataParams struct {
	Script string `json:"lcm-operation-user-data"`
	Class  string `json:"lcm-operation-user-data-class"`
}

// PublicParams implements vnflcm.PublicParams: it returns the additionalParams that hold no secrets.
func (d *Driver) PublicParams() []string {
	return slices.Concat(vnflcm.PublicPaths(userDataParams{}), vnflcm.PublicPaths(healParams{}))
}

const (
	scriptPath = "additionalParams.lcm-operation-user-data"
	classPath  = "additionalParams.lcm-operation-user-data-class"
)

// builtin holds the user data classes that Tacker's version 2 API has.
var builtin = map[string]UserData{
	"":                 DefaultUserData,
	"DefaultUserData":  DefaultUserData,
	"StandardUserData": StandardUserData,
}

// userData finds the function for the class that the request names.
func (d *Driver) userData(op *vnflcm.Operation) (UserData, error) {
	var params userDataParams
	if _, err := op.Params.Decode(&params); err != nil {
		return nil, err
	}
	if params.Class == "" && params.Script != "" {
		return nil, &vnflcm.ParamError{Path: classPath, Reason: "is required with lcm-operation-user-data"}
	}
	if f := d.cfg.UserData[params.Class]; f != nil {
		return f, nil
	}
	if f := builtin[params.Class]; f != nil {
		return f, nil
	}
	if d.cfg.DefaultForUnknown {
		return DefaultUserData, nil
	}
	var known []string
	for class := range d.cfg.UserData {
		known = append(known, class)
	}
	slices.Sort(known)
	return nil, &vnflcm.ParamError{Path: classPath, Value: params.Class, Reason: fmt.Sprintf("is not registered with the driver "+
		"(known: %s): register a Go function under this name in Config.UserData, or allow the default user data with Config.DefaultForUnknown",
		strings.Join(append(known, "DefaultUserData", "StandardUserData"), ", "))}
}

// hidden is the text that Heat shows instead of the value of a hidden parameter.
const hidden = "******"

// decoded returns the parameters of a stack, those of type json decoded. It leaves out hidden parameters: Heat keeps their
// values in an update.
func decoded(current map[string]string, template *hot.Template) (map[string]any, error) {
	if current == nil {
		return nil, nil
	}
	out := map[string]any{}
	for _, p := range template.Parameters() {
		text, there := current[p.Name]
		if !there || text == hidden {
			continue
		}
		out[p.Name] = text
		if p.Type == "json" {
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				return nil, fmt.Errorf("parameter %s of the stack: %w", p.Name, err)
			}
			out[p.Name] = value
		}
	}
	return out, nil
}
