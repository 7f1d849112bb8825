package helmcli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/systemlabels"
)

// releaseTemplate makes helm print a revision as lines of a word and quoted text. Unlike the JSON of "helm status", it
// includes the chart and the labels.
const releaseTemplate = `{{with .Release}}{{printf "name %q\n" .Name}}{{printf "namespace %q\n" .Namespace}}{{printf "revision %d\n" .Version}}` +
	`{{range $k, $v := .Labels}}{{printf "label %q %q\n" $k $v}}{{end}}` +
	`{{with .Info}}{{printf "state %q\n" (printf "%s" .Status)}}{{printf "description %q\n" .Description}}{{printf "notes %q\n" .Notes}}` +
	`{{printf "updated %q\n" (.LastDeployed.Format "` + time.RFC3339Nano + `")}}{{printf "deleted %q\n" (.Deleted.Format "` + time.RFC3339Nano + `")}}{{end}}` +
	`{{with .Chart}}{{with .Metadata}}{{printf "chart %q\n" .Name}}{{printf "version %q\n" .Version}}{{printf "app %q\n" .AppVersion}}{{printf "about %q\n" .Description}}{{end}}{{end}}` +
	`{{printf "manifest %q\n" .Manifest}}{{end}}`

// parseRelease parses the output of releaseTemplate.
func parseRelease(out []byte) (*helmclient.Release, error) {
	r := &helmclient.Release{State: helmclient.Unknown}
	var deleted time.Time
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if word == "revision" {
			n, err := strconv.Atoi(rest)
			if err != nil {
				return nil, fmt.Errorf("helm: revision %.32q is no number", rest)
			}
			r.Revision = n
			continue
		}
		texts, err := quoted(rest)
		if err != nil || len(texts) == 0 {
			return nil, fmt.Errorf("helm: %.32q of a release cannot be read", word)
		}
		if err := setField(r, &deleted, word, texts); err != nil {
			return nil, err
		}
	}
	if r.Release == "" || r.Revision < 1 {
		return nil, fmt.Errorf("helm: what it printed is no release: %.64q", out)
	}
	if deleted.After(r.Updated) {
		r.Updated = deleted // time at which uninstalling began
	}
	return r, nil
}

func setField(r *helmclient.Release, deleted *time.Time, word string, texts []string) error {
	fields := map[string]*string{"name": &r.Release, "namespace": &r.Namespace, "description": &r.Description, "notes": &r.Notes, "manifest": &r.Manifest,
		"chart": &r.Chart.Name, "version": &r.Chart.Version, "app": &r.Chart.AppVersion, "about": &r.Chart.Description}
	times := map[string]*time.Time{"updated": &r.Updated, "deleted": deleted}
	if field := fields[word]; field != nil {
		*field = texts[0]
		return nil
	}
	if at := times[word]; at != nil {
		when, err := time.Parse(time.RFC3339Nano, texts[0])
		if err != nil {
			return fmt.Errorf("helm: %s of a release: %.64q is no time", word, texts[0])
		}
		*at = when
		return nil
	}
	switch {
	case word == "state":
		r.State = helmclient.State(texts[0])
	case word == "label" && len(texts) == 2 && !systemlabels.Has(texts[0]):
		if r.Labels == nil {
			r.Labels = map[string]string{}
		}
		r.Labels[texts[0]] = texts[1]
	}
	return nil
}

// quoted splits a sequence of Go string literals.
func quoted(rest string) ([]string, error) {
	var out []string
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		prefix, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, err
		}
		text, err := strconv.Unquote(prefix)
		if err != nil {
			return nil, err
		}
		out, rest = append(out, text), rest[len(prefix):]
	}
	return out, nil
}

// stored is a release in Helm's JSON: a line of a list or history, or the whole output of "install --dry-run".
type stored struct {
	Name       string          `json:"name"`
	Namespace  string          `json:"namespace"`
	Revision   json.RawMessage `json:"revision"` // a text in lists, a number in histories
	Updated    string          `json:"updated"`
	Status     string          `json:"status"`
	Chart      string          `json:"chart"`
	AppVersion string          `json:"app_version"`
	About      string          `json:"description"`
}

// parseReleases reads the JSON of "helm list" and "helm history".
func parseReleases(out []byte) ([]helmclient.Release, error) {
	var lines []stored
	if err := json.Unmarshal(out, &lines); err != nil {
		return nil, fmt.Errorf("helm: its list cannot be read: %w", err)
	}
	list := make([]helmclient.Release, 0, len(lines))
	for _, l := range lines {
		revision, err := strconv.Atoi(strings.Trim(string(l.Revision), `"`))
		if err != nil {
			return nil, fmt.Errorf("helm: revision %.32q is no number", l.Revision)
		}
		updated, err := parseTime(l.Updated)
		if err != nil {
			return nil, err
		}
		r := helmclient.Release{Name: helmclient.Name{Namespace: l.Namespace, Release: l.Name}, Revision: revision, State: helmclient.State(l.Status),
			Updated: updated, Description: l.About}
		r.Chart.Name, r.Chart.Version = splitChart(l.Chart)
		r.Chart.AppVersion = l.AppVersion
		list = append(list, r)
	}
	return list, nil
}

// parseTime parses the time format of histories and the one of lists, which is Go's.
func parseTime(text string) (time.Time, error) {
	if text == "" || text == "-" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999 -0700 MST"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("helm: %.64q is no time", text)
}

var chartVersion = regexp.MustCompile(`-v?(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:[-+].*)?$`)

// splitChart splits "name-version"; both parts may contain a "-".
func splitChart(text string) (name, version string) {
	at := chartVersion.FindStringIndex(text)
	if at == nil {
		return text, ""
	}
	return text[:at[0]], text[at[0]+1:]
}

// dryRun are the fields used from the JSON of "helm install --dry-run".
type dryRun struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	Manifest  string `json:"manifest"`
	Info      struct {
		Status      string `json:"status"`
		Description string `json:"description"`
		Notes       string `json:"notes"`
		Updated     string `json:"last_deployed"`
	} `json:"info"`
	Chart *struct {
		Metadata struct {
			Name, Version, AppVersion, Description string
		} `json:"metadata"`
	} `json:"chart"`
	Hooks []helmclient.Hook `json:"hooks"` // the names of the fields are equal but for case
}

func parseDryRun(out []byte) (*helmclient.Release, error) {
	var d dryRun
	if err := json.Unmarshal(out, &d); err != nil {
		return nil, fmt.Errorf("helm: what it would do cannot be read: %w", err)
	}
	updated, err := parseTime(d.Info.Updated)
	if err != nil {
		return nil, err
	}
	r := &helmclient.Release{Name: helmclient.Name{Namespace: d.Namespace, Release: d.Name}, Revision: d.Version, State: helmclient.State(d.Info.Status),
		Updated: updated, Description: d.Info.Description, Notes: d.Info.Notes, Manifest: d.Manifest, Hooks: d.Hooks}
	if d.Chart != nil {
		r.Chart = helmclient.ChartInfo(d.Chart.Metadata)
	}
	return r, nil
}

// parseValues reads the JSON of "helm get values", which is null if there are no values.
func parseValues(out []byte) (map[string]any, error) {
	values := map[string]any{}
	if out = bytes.TrimSpace(out); len(out) == 0 {
		return values, nil
	}
	if err := json.Unmarshal(out, &values); err != nil {
		return nil, fmt.Errorf("helm: values cannot be read: %w", err)
	}
	if values == nil {
		values = map[string]any{}
	}
	return values, nil
}

// labelArgument returns "a=b,c=d". Kubernetes does not allow "," or "=" in a label.
func labelArgument(labels map[string]string) (string, error) {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if systemlabels.Has(k) {
			return "", fmt.Errorf("%w: label %q is Helm's own", helmclient.ErrInvalid, k)
		}
		if !labelText.MatchString(k) || labels[k] != "" && !labelText.MatchString(labels[k]) {
			return "", fmt.Errorf("%w: label %q=%q", helmclient.ErrInvalid, k, labels[k])
		}
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, ","), nil
}

var labelText = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$`)
