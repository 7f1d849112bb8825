package kubernetes

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

var (
	repositoryNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	chartNames      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
	valueName       = regexp.MustCompile(`^([^\s=,{}\\]|\\.)+$`) // "\." is a dot in a key
)

// valueNameForm is the fault of the name of a value.
const valueNameForm = `must be the name of a value of the chart, such as web.replicaCount; a dot in a key is written "\."`

const listPath = "using_helm_install_param"

// readV1 reads the releases of version 1.
func (d *design) readV1(f *faults, op *vnflcm.Operation) {
	if len(d.Install) == 0 {
		f.add(listPath, "", "is required: one entry for each release, as use_helm is true")
	}
	for i, entry := range d.Install {
		path := fmt.Sprintf("%s[%d]", listPath, i)
		r := release{name: entry.Release, path: path, set: entry.Parameters, setString: entry.Texts, valueFiles: entry.ValueFiles, wait: entry.Wait}
		if d.has(r.name) {
			f.add(path+".helmreleasename", r.name, "is the name of another release of this request")
		} else {
			checkReleaseName(f, path+".helmreleasename", r.name)
		}
		r.attributes = map[string][]string{"Set": checkParameters(f, path+".helmparameter", r.set), "SetString": checkParameters(f, path+".helmstringparameter", r.setString)}
		r.checkSettings(f, &d.syntax)
		for j, file := range r.valueFiles {
			if err := isFile(op.Package, file); err != nil {
				f.add(fmt.Sprintf("%s.helmvaluesfile_path[%d]", path, j), file, err.Error())
			}
		}
		switch {
		case entry.External == nil:
			f.add(path+".exthelmchart", "", "is required: true for a chart of a repository, false for one in the package")
		case *entry.External:
			r.chart = d.external(f, path, entry)
		default:
			r.chart = source{file: entry.ChartFile}
			checkChart(f, op, path+".helmchartfile_path", entry.ChartFile)
		}
		d.releases = append(d.releases, r)
	}
	d.readReplicaValues(f, op)
}

func checkReleaseName(f *faults, path, name string) {
	switch {
	case name == "":
		f.add(path, "", "is required")
	case (helmclient.Name{Release: name}).Validate() != nil:
		f.add(path, name, "must be at most 53 lower case letters, digits, '-' and '.', beginning and ending with a letter or digit")
	}
}

// checkParameters returns the attribute of each entry of a list of settings.
func checkParameters(f *faults, path string, list []string) (attributes []string) {
	for i, p := range list {
		attributes = append(attributes, fmt.Sprintf("%s[%d]", path, i))
		if name, _, ok := strings.Cut(p, "="); !ok || name == "" {
			f.add(attributes[i], "", "must be of the form name=value") // it may hold a secret
		}
	}
	return attributes
}

// texts returns the values of the request in Helm's grammar.
func (r release) texts() helmclient.Values {
	return helmclient.Values{Set: r.set, SetString: r.setString, SetJSON: r.setJSON}
}

// checkSettings refuses texts that Helm cannot read, or whose lists fill the memory.
func (r release) checkSettings(f, syntax *faults) {
	at := func(e *helmclient.SetError) string { return r.attributes[e.Field][e.Index] }
	checkLists(f, r.texts(), at)
	for field, texts := range map[string][]string{"Set": r.set, "SetString": r.setString, "SetJSON": r.setJSON} {
		for i, text := range texts {
			checkSyntax(syntax, in(field, text), func(*helmclient.SetError) string { return r.attributes[field][i] })
		}
	}
}

// in returns a text as a field of helmclient.Values.
func in(field, text string) helmclient.Values {
	switch field {
	case "SetString":
		return helmclient.Values{SetString: []string{text}}
	case "SetJSON":
		return helmclient.Values{SetJSON: []string{text}}
	}
	return helmclient.Values{Set: []string{text}}
}

// checkLists refuses settings that make lists which fill the memory; at returns the attribute of a setting.
func checkLists(f *faults, v helmclient.Values, at func(*helmclient.SetError) string) {
	if e, refused := errors.AsType[*helmclient.SetError](v.CheckLists()); refused {
		f.add(at(e), "", e.Reason)
	}
}

// checkSyntax refuses settings that Helm cannot read; at returns the attribute of a setting.
func checkSyntax(f *faults, v helmclient.Values, at func(*helmclient.SetError) string) {
	if e, refused := errors.AsType[*helmclient.SetError](v.CheckSyntax()); refused {
		f.add(at(e), "", e.Reason)
	}
}

func checkChart(f *faults, op *vnflcm.Operation, path, file string) {
	if file == "" {
		f.add(path, "", "is required: the chart's file in the package")
		return
	}
	if _, err := inspect(op.Package, file); err != nil {
		f.add(path, file, err.Error())
	}
}

// external reads the source of a chart in a repository or registry.
func (d *design) external(f *faults, path string, entry installParam) source {
	name := cmp.Or(entry.Repository, entry.RepositoryTypo)
	if entry.Repository != "" && entry.RepositoryTypo != "" && entry.Repository != entry.RepositoryTypo {
		f.add(path+".helmrepostitoryname", entry.RepositoryTypo, "differs from helmrepositoryname, which is the same attribute")
	}
	switch {
	case entry.Chart == "":
		f.add(path+".helmchartname", "", "is required, as exthelmchart is true")
	case !chartNames.MatchString(entry.Chart):
		f.add(path+".helmchartname", entry.Chart, "is no name of a chart")
	}
	access := helmclient.Access{Username: entry.Username, CA: []byte(entry.CA)}
	if !entry.Password.IsZero() {
		access.Password = helmclient.NewPassword(entry.Password.Reveal())
	}
	if (entry.Username == "") != entry.Password.IsZero() {
		f.add(path+".exthelmrepo_password", "", "and exthelmrepo_username are given together or not at all")
	}
	if entry.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(entry.CA)) {
		f.add(path+".exthelmrepo_ca_cert", "", "must be a certificate in PEM form")
	}
	out := source{version: entry.Version}
	if checkURL(f, path+".exthelmrepo_url", entry.URL) == "oci" {
		out.ref, out.access = strings.TrimSuffix(entry.URL, "/")+"/"+entry.Chart, access
		return out
	}
	switch {
	case name == "":
		f.add(path+".helmrepositoryname", "", "is required, as exthelmchart is true")
	case !repositoryNames.MatchString(name):
		f.add(path+".helmrepositoryname", name, "must be letters, digits, '.', '_' and '-'")
	}
	out.ref = name + "/" + entry.Chart
	out.repository = &helmclient.Repository{Name: name, URL: entry.URL, Access: access}
	if other := d.repository(name); other != nil && !sameRepository(*other, *out.repository) {
		f.add(path+".helmrepositoryname", name, "is the name of another repository of this request")
	}
	return out
}

func (d *design) repository(name string) *helmclient.Repository {
	for _, r := range d.releases {
		if r.chart.repository != nil && r.chart.repository.Name == name {
			return r.chart.repository
		}
	}
	return nil
}

func sameRepository(a, b helmclient.Repository) bool {
	return a.URL == b.URL && a.Username == b.Username && a.Password.Reveal() == b.Password.Reveal() && string(a.CA) == string(b.CA)
}

// checkURL returns the scheme of the URL of a repository.
func checkURL(f *faults, path, text string) string {
	if text == "" {
		f.add(path, "", "is required, as exthelmchart is true")
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		f.add(path, "", "is no URL with a host") // not shown: a broken URL is not masked
		return ""
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "oci":
		f.add(path, text, "must be a URL with https, http or oci")
	case u.User != nil:
		f.add(path, "", "must hold no credentials: they go into exthelmrepo_username and exthelmrepo_password")
	case u.Scheme == "oci" && (u.RawQuery != "" || u.Fragment != ""):
		f.add(path, text, "is no reference of a registry")
	}
	return u.Scheme
}

// readReplicaValues finds the values that count the pods of VDUs (version 1). A VDU without one is scaled by its
// workload.
func (d *design) readReplicaValues(f *faults, op *vnflcm.Operation) {
	for _, aspect := range sortedKeys(d.ReplicaValues) {
		name, path := d.ReplicaValues[aspect], "helm_replica_values."+aspect
		scaled := op.Flavour.VDUsOf(aspect)
		if len(scaled) == 0 {
			f.add(path, "", "there is no such scaling aspect, or it scales nothing, in the flavour "+op.Flavour.ID)
		}
		checkValueName(f, path, name)
		for _, id := range scaled {
			in := d.VDUMapping[id].Release
			if of := d.possibleReleases(id); in == "" && len(of) == 1 {
				in = of[0].name
			}
			if in == "" {
				f.add("vdu_mapping."+id+".helmreleasename", "", "is required: there are several releases, and one of them has the value "+name)
			}
			d.vdus[id] = vdu{value: name, release: in}
		}
	}
	d.checkSharedValues(f, op)
}

// possibleReleases returns the releases that can have the workload of a VDU: those of its MCIOPs, else all.
func (d *design) possibleReleases(vduID string) []release {
	of := slices.DeleteFunc(slices.Clone(d.releases), func(r release) bool { return !slices.Contains(r.vdus, vduID) })
	if len(of) == 0 {
		return d.releases
	}
	return of
}

// checkSharedValues refuses one value for VDUs that do not always have equal numbers.
func (d *design) checkSharedValues(f *faults, op *vnflcm.Operation) {
	want, err := op.Instances()
	if err != nil {
		return // the Manager has reported it
	}
	counts := map[[2]string]string{}
	for _, id := range sortedKeys(d.vdus) {
		v := d.vdus[id]
		if v.value == "" {
			continue
		}
		key := [2]string{v.release, v.value}
		if other, taken := counts[key]; taken && want[other] != want[id] {
			f.add("vdu_mapping", "", fmt.Sprintf("VDUs %s and %s have %d and %d instances, and one value %s in release %s counts both",
				other, id, want[other], want[id], v.value, v.release))
		}
		counts[key] = id
	}
}

func checkValueName(f *faults, path, name string) {
	if !valueName.MatchString(name) {
		f.add(path, name, valueNameForm)
	}
}
