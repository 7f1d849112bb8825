package kubernetes

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// readV2 reads the single release of version 2.
func (d *design) readV2(f *faults, op *vnflcm.Operation) {
	if len(d.Install) > 0 {
		f.add(listPath, "", "cannot be combined with helm_chart_path")
	}
	r := release{name: releaseNameV2(op.InstanceID), path: "helm_chart_path", chart: source{file: d.ChartPath}}
	checkChart(f, op, "helm_chart_path", d.ChartPath)
	names := map[string][]string{} // of the parameters, by the field of helmclient.Values where they are
	for _, name := range sortedKeys(d.Parameters) {
		if !valueName.MatchString(name) {
			f.add("helm_parameters."+name, "", "must be the name of a value of the chart, such as web.replicaCount")
			continue
		}
		text, isJSON := setting(name, d.Parameters[name])
		if isJSON {
			r.setJSON, names["SetJSON"] = append(r.setJSON, text), append(names["SetJSON"], name)
		} else {
			r.set, names["Set"] = append(r.set, text), append(names["Set"], name)
		}
	}
	values := helmclient.Values{Set: r.set, SetJSON: r.setJSON}
	at := func(e *helmclient.SetError) string { return "helm_parameters." + names[e.Field][e.Index] }
	checkLists(f, values, at)
	checkSyntax(&d.syntax, values, at)
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

// literal escapes text so that Helm's grammar does not read it as several settings or as a list.
var literal = strings.NewReplacer(`\`, `\\`, `,`, `\,`)

// setting writes a value for Helm's --set, which reads "3" as a number as Tacker does. A list or mapping is written as
// JSON.
func setting(name string, value any) (text string, isJSON bool) {
	switch v := value.(type) {
	case string:
		v = literal.Replace(v)
		if strings.HasPrefix(v, "{") {
			v = `\` + v
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
