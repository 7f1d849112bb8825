package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// paramsMCIOP are the parameters of VNFs whose charts are the MCIOPs of the VNFD.
type paramsMCIOP struct {
	Order  []string                  `json:"mciop_order"`  // all MCIOPs; default: the order of the VNFD
	Values map[string]map[string]any `json:"mciop_values"` // by MCIOP
}

// usesMCIOPs reports whether the charts are the MCIOPs of the VNFD: the request names neither charts nor manifests.
func (p *params) usesMCIOPs(f *tosca.Flavour) bool {
	return len(f.MCIOPs) > 0 && !p.UseHelm && len(p.Install) == 0 && p.ChartPath == "" && len(p.Files) == 0
}

// readMCIOPs makes a release of each MCIOP.
func (d *design) readMCIOPs(f *faults, op *vnflcm.Operation) {
	d.readNamedValues(f, op)
	for _, id := range sortedKeys(d.Values) {
		if mciop(op.Flavour, id) == nil {
			f.add("mciop_values."+id, "", "is no MCIOP: "+shownMCIOPs(op.Flavour))
		}
	}
	if len(d.Parameters) > 0 || len(d.ValueNames) > 0 {
		f.add("helm_chart_path", "", "is required with helm_parameters and helm_value_names; values of MCIOPs are in mciop_values")
	}
	for _, p := range d.orderedMCIOPs(f, op.Flavour) {
		r := release{name: mciopRelease(op.InstanceID, p.ID), path: "mciop_values." + p.ID, vdus: p.VDUs, values: d.Values[p.ID], wait: isDependency(op.Flavour, p.ID)}
		file, err := mciopChart(op.Package, p)
		if err != nil {
			f.list = append(f.list, &vnflcm.ParamError{Path: "flavourId", Value: op.Flavour.ID, Reason: fmt.Sprintf("has the MCIOP %s, whose chart %q %v", p.ID, p.Chart, err)})
		}
		if d.has(r.name) {
			f.list = append(f.list, &vnflcm.ParamError{Path: "flavourId", Value: op.Flavour.ID, Reason: fmt.Sprintf("has the MCIOP %s, whose release has the name of another one, %s", p.ID, r.name)})
		}
		r.chart = source{file: file}
		d.releases = append(d.releases, r)
	}
	d.readReplicaValues(f, op)
}

// readNamedValues moves values that the request has under the name of an MCIOP to mciop_values.
func (d *design) readNamedValues(f *faults, op *vnflcm.Operation) {
	var named map[string]any
	if _, err := op.Params.Decode(&named); err != nil {
		f.list = append(f.list, vnflcm.AtPath("additionalParams", err))
	}
	for _, p := range op.Flavour.MCIOPs {
		i := slices.Index(d.unknown, p.ID)
		if i < 0 {
			continue
		}
		d.unknown = slices.Delete(d.unknown, i, i+1)
		values, isObject := named[p.ID].(map[string]any)
		_, twice := d.Values[p.ID]
		switch {
		case !isObject:
			f.add(p.ID, "", "must be an object: the values of the chart of this MCIOP")
		case twice:
			f.add(p.ID, "", "is also in mciop_values")
		case d.Values == nil:
			d.Values = map[string]map[string]any{p.ID: values}
		default:
			d.Values[p.ID] = values
		}
	}
}

// refuseMCIOPs refuses parameters of MCIOPs in a request that does not use them.
func (d *design) refuseMCIOPs(f *faults, flavour *tosca.Flavour) {
	reason := "cannot be combined with charts or manifests of the request"
	if len(flavour.MCIOPs) == 0 {
		reason = "needs a VNFD with MCIOPs: " + shownMCIOPs(flavour)
	}
	if len(d.Order) > 0 {
		f.add("mciop_order", "", reason)
	}
	if len(d.Values) > 0 {
		f.add("mciop_values", "", reason)
	}
}

// orderedMCIOPs returns the MCIOPs in the order in which they are installed.
func (d *design) orderedMCIOPs(f *faults, flavour *tosca.Flavour) (out []tosca.MCIOP) {
	if len(d.Order) == 0 {
		return flavour.MCIOPs
	}
	for i, id := range d.Order {
		path := fmt.Sprintf("mciop_order[%d]", i)
		p := mciop(flavour, id)
		switch {
		case p == nil:
			f.add(path, id, "is no MCIOP: "+shownMCIOPs(flavour))
		case slices.Contains(d.Order[:i], id):
			f.add(path, id, "is in the list twice")
		default:
			out = append(out, *p)
		}
	}
	for _, p := range flavour.MCIOPs {
		if !slices.Contains(d.Order, p.ID) {
			f.add("mciop_order", "", "must have all MCIOPs, and "+p.ID+" is missing")
		}
	}
	return out
}

func mciop(f *tosca.Flavour, id string) *tosca.MCIOP {
	for i := range f.MCIOPs {
		if f.MCIOPs[i].ID == id {
			return &f.MCIOPs[i]
		}
	}
	return nil
}

func shownMCIOPs(f *tosca.Flavour) string {
	var ids []string
	for _, p := range f.MCIOPs {
		ids = append(ids, p.ID)
	}
	if len(ids) == 0 {
		return "the flavour " + f.ID + " has none"
	}
	return "the flavour " + f.ID + " has " + strings.Join(ids, ", ")
}

// warnOfScripts warns of scripts that would make the values of a chart from the request (HelmParamMappingScript, SOL001 v5.4.1
// 6.3.4): they are not run.
func warnOfScripts(ctx context.Context, op *vnflcm.Operation) {
	for _, p := range op.Flavour.MCIOPs {
		for _, key := range sortedKeys(p.Artifacts) {
			if strings.HasSuffix(p.Artifacts[key].Type, ".HelmParamMappingScript") {
				op.Log.WarnContext(ctx, "a script of the package has no effect: values of MCIOPs are in mciop_values", "mciop", p.ID, "artifact", key)
			}
		}
	}
}

// isDependency reports whether another MCIOP depends on an MCIOP.
func isDependency(f *tosca.Flavour, id string) bool {
	return slices.ContainsFunc(f.MCIOPs, func(p tosca.MCIOP) bool { return slices.Contains(p.DependsOn, id) })
}

// mciopChart returns the path of the chart of an MCIOP in the package.
func mciopChart(pkg *tosca.Package, p tosca.MCIOP) (string, error) {
	if p.Chart == "" {
		return "", errors.New("is missing: an artifact of the type tosca.artifacts.nfv.HelmChart is required")
	}
	file, err := pkg.Artifact(p.Chart)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("is not in the package")
	}
	if err == nil {
		_, err = inspect(pkg, file)
	}
	return file, err
}

var (
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	noDNSText = regexp.MustCompile(`[^a-z0-9]+`)
)

// Lengths of names of releases.
const (
	maxReleaseName = 53 // of Helm
	mciopDigest    = 6  // characters that keep shortened names of MCIOPs apart
)

// mciopRelease returns the name of the release of an MCIOP. The name of an MCIOP that does not fit, or that Kubernetes does not
// accept, is shortened and gets a digest.
func mciopRelease(instanceID, mciop string) string {
	prefix := releaseNameV2(instanceID) + "-"
	if name := prefix + mciop; dnsLabel.MatchString(mciop) && len(name) <= maxReleaseName {
		return name
	}
	sum := sha256.Sum256([]byte(mciop))
	digest := hex.EncodeToString(sum[:])[:mciopDigest]
	text := noDNSText.ReplaceAllString(strings.ToLower(mciop), "-")
	text = strings.Trim(text[:max(0, min(len(text), maxReleaseName-len(prefix)-len("-")-len(digest)))], "-")
	if text == "" {
		return prefix + digest
	}
	return prefix + text + "-" + digest
}

// namedInOtherRelease is a rule of identification data: the text is the name that the workload has in a release with another name. The
// author of a VNFD does not know the name of the release, which has the id of the instance.
func namedInOtherRelease(w workload, text string) bool {
	for i := range text {
		if i == 0 || text[i] != '-' {
			continue
		}
		if before, ends := strings.CutSuffix(w.Name, text[i:]); ends && before != "" && strings.HasPrefix(w.release, before) {
			return true
		}
	}
	return false
}
