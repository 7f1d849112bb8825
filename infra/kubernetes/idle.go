package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// idle is an attribute of additionalParams that has no effect.
type idle struct{ attribute, reason string }

// findIdle finds the attributes of the other version of the API, and of the other kinds of packages.
func (d *design) findIdle() {
	add := func(given bool, attribute, reason string) {
		if given {
			d.idle = append(d.idle, idle{attribute, reason})
		}
	}
	manifests, version1 := len(d.files) > 0, len(d.releases) > 0 && !d.version2
	for _, name := range []string{"helm_parameters", "helm_value_names"} {
		given := name == "helm_parameters" && len(d.Parameters) > 0 || name == "helm_value_names" && len(d.ValueNames) > 0
		add(given && version1, name, "it belongs to helm_chart_path")
		add(given && manifests, name, "the VNF consists of manifests")
	}
	add(len(d.ReplicaValues) > 0 && d.version2, "helm_replica_values", "with helm_chart_path it is helm_value_names")
	add(len(d.ReplicaValues) > 0 && manifests, "helm_replica_values", "the VNF consists of manifests")
	for i, entry := range d.Install {
		if !version1 || entry.External == nil {
			continue
		}
		path := fmt.Sprintf("%s[%d].", listPath, i)
		add(*entry.External && entry.ChartFile != "", path+"helmchartfile_path", "exthelmchart is true")
		for _, of := range []struct{ name, value string }{{"helmchartname", entry.Chart}, {"helmrepositoryname", entry.Repository}, {"helmrepostitoryname", entry.RepositoryTypo},
			{"exthelmrepo_url", entry.URL}, {"helmchartversion", entry.Version}, {"exthelmrepo_username", entry.Username}, {"exthelmrepo_ca_cert", entry.CA}} {
			add(!*entry.External && of.value != "", path+of.name, "exthelmchart is false")
		}
		add(!*entry.External && !entry.Password.IsZero(), path+"exthelmrepo_password", "exthelmchart is false")
	}
}

// warnOfIdle names in the operation's document the attributes that have no effect, and texts that have another effect than with Tacker.
func (w *work) warnOfIdle(ctx context.Context) error {
	all := slices.Clone(w.design.idle)
	for _, r := range w.design.releases {
		counts, err := w.counts(r.name)
		if err != nil {
			return err
		}
		all = append(all, r.replaced(counts)...)
		for i, text := range r.set {
			if quoted(text) && !w.design.version2 {
				w.op.Warn(ctx, "additionalParams."+r.attributes["Set"][i]+": the quotation marks are part of the value, because no shell removes them")
			}
		}
	}
	for _, i := range all {
		w.op.Warn(ctx, fmt.Sprintf("additionalParams.%s has no effect: %s", i.attribute, i.reason))
	}
	return nil
}

// quoted reports whether the value of a setting is in quotation marks.
func quoted(text string) bool {
	_, value, _ := strings.Cut(text, "=")
	return len(value) > 1 && (value[0] == '\'' || value[0] == '"') && value[len(value)-1] == value[0]
}

// maxLeaves bounds how many values are compared.
const maxLeaves = 2000

// assignment is a text of a release: the values that it sets, each as the path of its name.
type assignment struct {
	attribute string // empty: a number of pods
	paths     [][]string
}

// replaced finds the texts whose values later texts replace. counts are the texts that count pods.
func (r release) replaced(counts []string) (out []idle) {
	all, n := r.assignments(counts), 0
	for _, a := range all {
		n += len(a.paths)
	}
	if n > maxLeaves {
		return nil
	}
	for i, a := range all {
		by := ""
		covered := func(path []string) bool {
			return slices.ContainsFunc(all[i+1:], func(later assignment) bool {
				by = later.attribute
				return slices.ContainsFunc(later.paths, func(p []string) bool { return len(p) <= len(path) && slices.Equal(p, path[:len(p)]) })
			})
		}
		if a.attribute == "" || len(a.paths) == 0 || slices.ContainsFunc(a.paths, func(p []string) bool { return !covered(p) }) {
			continue
		}
		if by == "" {
			by = "the number of pods"
		}
		out = append(out, idle{a.attribute, by + " replaces the value"})
	}
	return out
}

// assignments returns the texts in the order in which Helm applies them.
func (r release) assignments(counts []string) (all []assignment) {
	add := func(attribute string, v helmclient.Values) {
		merged, err := helmcli.MergeValues(v)
		if err == nil {
			all = append(all, assignment{attribute, leaves(nil, merged)})
		}
	}
	for i, text := range r.set {
		add(r.attributes["Set"][i], in("Set", text))
	}
	for i, text := range r.setString {
		add(r.attributes["SetString"][i], in("SetString", text))
	}
	for _, attribute := range r.attributes["SetJSON"] { // the value as a whole
		add(attribute, in("SetString", strings.TrimPrefix(attribute, parametersPath)+"=x"))
	}
	for _, text := range counts {
		add("", in("Set", text))
	}
	return all
}

// leaves returns the paths of the values in a tree. Elements of a list that no text sets are nil.
func leaves(at []string, tree any) (out [][]string) {
	switch t := tree.(type) {
	case map[string]any:
		for _, name := range sortedKeys(t) {
			out = append(out, leaves(append(slices.Clone(at), name), t[name])...)
		}
	case []any:
		for i, e := range t {
			if e != nil {
				out = append(out, leaves(append(slices.Clone(at), fmt.Sprint(i)), e)...)
			}
		}
	default:
		return [][]string{at}
	}
	return out
}
