package kubernetes

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// parametersPath begins the attributes of helm_parameters.
const parametersPath = "helm_parameters."

// readV2 reads the single release of version 2.
func (d *design) readV2(f *faults, op *vnflcm.Operation) {
	if len(d.Install) > 0 {
		f.add(listPath, "", "cannot be combined with helm_chart_path")
	}
	r := release{name: releaseNameV2(op.InstanceID), path: "helm_chart_path", chart: source{file: d.ChartPath}}
	checkChart(f, op, "helm_chart_path", d.ChartPath)
	r.attributes = map[string][]string{}
	for _, name := range sortedKeys(d.Parameters) {
		attribute := parametersPath + name
		if !valueName.MatchString(name) {
			f.add(attribute, "", valueNameForm)
			continue
		}
		text, isJSON := setting(name, d.Parameters[name])
		if isJSON {
			r.setJSON, r.attributes["SetJSON"] = append(r.setJSON, text), append(r.attributes["SetJSON"], attribute)
		} else {
			r.set, r.attributes["Set"] = append(r.set, text), append(r.attributes["Set"], attribute)
		}
	}
	r.checkSettings(f, &d.syntax)
	for _, id := range sortedKeys(d.ValueNames) {
		path := "helm_value_names." + id
		if op.Flavour.VDU(id) == nil {
			f.add(path, id, "is no VDU of the flavour "+op.Flavour.ID)
			continue
		}
		checkValueName(f, path+".replica", d.ValueNames[id].Replica)
		d.vdus[id] = vdu{value: d.ValueNames[id].Replica, release: r.name}
	}
	d.releases = []release{r}
	d.checkSharedValues(f, op)
}

// setting writes a value for Helm's --set, as Tacker does: Helm reads "3" as a number, "{a,b}" as a list, and "\," as a comma. Other
// commas belong to the text here: with Tacker they begin another setting. A list, a mapping or null, of which Tacker gives Helm
// Python's text, is written as JSON.
func setting(name string, value any) (text string, isJSON bool) {
	switch v := value.(type) {
	case string:
		if !isList(v) {
			v = oneValue(v)
		}
		return name + "=" + v, false
	case json.Number, bool:
		return fmt.Sprintf("%s=%v", name, v), false
	default:
		data, err := json.Marshal(v)
		if err != nil { // cannot fail: the value came from JSON
			data = []byte("null")
		}
		return name + "=" + string(data), true
	}
}

// isList reports whether Helm reads a text as one list.
func isList(text string) bool {
	end := 0 // of the list
	for i := 0; i < len(text) && end == 0; i++ {
		switch text[i] {
		case '\\':
			i++
		case '}':
			end = i + 1
		}
	}
	return strings.HasPrefix(text, "{") && end == len(text)
}

// oneValue escapes what would end a value, or begin a list, in Helm's grammar. Escapes of the text stay.
func oneValue(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ',' || c == '{' && i == 0:
			out.WriteByte('\\')
		case c == '\\' && i+1 < len(text):
			out.WriteByte(c)
			i++
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
