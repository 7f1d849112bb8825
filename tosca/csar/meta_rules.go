package csar

import (
	"path"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// checkKeys reports the keys that each TOSCA.meta must have and has not (TOSCA Simple Profile 1.3 clause 6.2), and unknown versions.
func (a *Archive) checkKeys(r *report.Report) {
	for _, required := range []struct {
		key, value string
		allowed    []string // all if nil
	}{
		{"TOSCA-Meta-File-Version", a.meta.Version, []string{"1.0", "1.1"}},
		{"CSAR-Version", a.meta.CSARVersion, []string{"1.1"}},
		{"Created-By", a.meta.CreatedBy, nil},
	} {
		switch {
		case required.value == "":
			r.Warnf(problem.Position{File: a.metaName}, problem.MissingMetaKey, "there is no %s", required.key)
		case required.allowed != nil && !slices.Contains(required.allowed, required.value):
			r.Add(problem.Problem{
				Position: a.entryLines[strings.ToLower(required.key)], Severity: problem.Warning, Code: problem.MetaValue,
				Message: required.key + " is \"" + required.value + "\"", Expected: strings.Join(required.allowed, " or "),
			})
		}
	}
}

// wantedEntries are the keys that SOL004 v2.6.1 clause 4.1.2.3 requires.
var wantedEntries = []string{"manifest", "change-log"}

// checkEntries reports the files and folders of ETSI-Entry-* that do not exist, and missing keys. Without Options.Strict it does not check a
// package without any of these keys, which is a plain TOSCA package, like most packages for Tacker. readManifest checks the entry of the manifest.
func (a *Archive) checkEntries(r *report.Report) {
	if len(a.meta.Entries) == 0 && !a.strict {
		return
	}
	for _, name := range wantedEntries {
		if a.meta.Entries[name] == "" {
			r.Warnf(problem.Position{File: a.metaName}, problem.MissingMetaKey, "there is no ETSI-Entry-%s", name)
		}
	}
	for name, file := range a.meta.Entries {
		a.checkEntry(name, file, r)
		if name == "manifest" {
			continue
		}
		clean, inside := resolve(".", strings.TrimSuffix(file, "/"))
		if !inside || !a.Has(clean) && !a.hasFolder(clean) {
			r.Warnf(a.entryLine(name), problem.MissingFile, "%q is not in the package", file)
		}
	}
}

// entryNames are the keys of SOL004 v2.6.1 clause 4.1.2.3, in lower case and without their prefix.
var entryNames = []string{"certificate", "change-log", "licenses", "manifest", "tests"}

// checkEntry reports an ETSI-Entry-* key that SOL004 does not define, and a file with another name than SOL004 v2.6.1 clause 4.3 prescribes.
func (a *Archive) checkEntry(name, file string, r *report.Report) {
	pos := a.entryLine(name)
	if _, isPrefixed := a.entryLines["etsi-entry-"+name]; isPrefixed && !slices.Contains(entryNames, name) {
		p := problem.Problem{Position: pos, Severity: problem.Warning, Code: problem.MetaValue, Message: "SOL004 has no key ETSI-Entry-" + name}
		if near := problem.Nearest(name, entryNames); near != "" {
			p.Nearest = "ETSI-Entry-" + near
		}
		r.Add(p)
	}
	switch base := path.Base(file); {
	case name == "change-log" && base != changeLog:
		r.Warnf(pos, problem.MisnamedFile, "the change log %q must be named %s", file, changeLog)
	case name == "certificate" && path.Ext(base) != ".cert":
		r.Warnf(pos, problem.MisnamedFile, "the name of the certificate %q must end with .cert", file)
	}
}

const changeLog = "ChangeLog.txt"

// checkBlocks reports Name blocks that state no media type or only half of a digest, and those of files that do not exist.
func (a *Archive) checkBlocks(r *report.Report) {
	first := map[string]problem.Position{}
	for _, e := range a.meta.Artifacts {
		name, inside := resolve(".", strings.TrimSuffix(e.Name, "/"))
		switch before, isKnown := first[name]; {
		case isKnown:
			r.Warnf(e.Pos, problem.Meta, "%s stands already in line %d", e.Name, before.Line)
		case e.Algorithm != "" && e.Hash == "":
			r.Warnf(e.Pos, problem.Meta, "%s has an Algorithm without a Hash", e.Name)
		case e.ContentType == "":
			r.Warnf(e.Pos, problem.MissingMetaKey, "%s has no Content-Type", e.Name)
		case e.Hash == "" && inside && !a.Has(name) && !a.hasFolder(name):
			r.Warnf(e.Pos, problem.MissingFile, "%s is not in the package", e.Name)
		}
		first[name] = e.Pos
	}
}
