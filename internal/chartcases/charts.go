package chartcases

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Chart is a chart with an odd feature.
type Chart struct {
	Name, Feature string
	Sample        bool              // among the charts of each run of the tests
	Real          bool              // among the charts for a real cluster
	Files         map[string][]byte // by path in the chart
}

//go:embed charts/*.txt
var texts embed.FS

var head = regexp.MustCompile(`^=== (\S+)(?: \(([a-z, ]+)\))?: (.+)$`)

// All returns the charts in the order of their names.
func All() []Chart {
	names, err := fs.Glob(texts, "charts/*.txt")
	if err != nil {
		panic(err)
	}
	var out []Chart
	for _, name := range names {
		text, err := texts.ReadFile(name)
		if err != nil {
			panic(err)
		}
		for _, one := range strings.Split("\n"+string(text), "\n=== ")[1:] {
			out = append(out, parse("=== "+one))
		}
	}
	slices.SortFunc(out, func(a, b Chart) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func parse(text string) Chart {
	parts := strings.Split(text, "\n-- ")
	m := head.FindStringSubmatch(strings.TrimSpace(parts[0]))
	if m == nil {
		panic(fmt.Sprintf("no head of a chart: %q", parts[0]))
	}
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: " + m[1] + "\nversion: 1.0.0\n", "templates/web.yaml": web}
	for _, part := range parts[1:] {
		name, content, _ := strings.Cut(part, " --\n")
		files[name] = content + "\n"
	}
	return Chart{Name: m[1], Feature: m[3], Sample: strings.Contains(m[2], "sample"), Real: strings.Contains(m[2], "real"), Files: packed(files)}
}

// web is a Deployment.
const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-web"}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: web, image: web}]}
`

// packed returns files with an archive for each folder charts/*.tgz.
func packed(files map[string]string) map[string][]byte {
	out, archives := map[string][]byte{}, map[string]map[string]string{}
	for name, text := range files {
		folder, inside, found := strings.Cut(name, ".tgz/")
		if !found {
			out[name] = []byte(text)
			continue
		}
		if archives[folder] == nil {
			archives[folder] = map[string]string{}
		}
		archives[folder][inside] = text
	}
	for name, files := range archives {
		out[name+".tgz"] = Archive(path.Base(name), packed(files))
	}
	return out
}

// Archive packs files below a directory.
func Archive(directory string, files map[string][]byte) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := archive.WriteHeader(&tar.Header{Name: directory + "/" + name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = archive.Write(files[name])
		}
		if err != nil {
			panic(err)
		}
	}
	if err := archive.Close(); err != nil {
		panic(err)
	}
	if err := zipped.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}
