package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// sources returns what the values of a release are made from: those of the request that the VNF was instantiated with, merged from
// its files and texts in their order, and the numbers of pods.
func (w *work) sources(r release) (helmclient.Values, error) {
	counts, err := w.counts(r.name)
	if err != nil {
		return helmclient.Values{}, err
	}
	v := r.texts()
	v.Map = r.values
	for _, name := range r.valueFiles {
		v.Files = append(v.Files, func() (io.ReadCloser, error) {
			data, err := fs.ReadFile(r.chart.pkg, name)
			return io.NopCloser(bytes.NewReader(data)), err
		})
	}
	given, err := helmcli.MergeValues(v)
	return helmclient.Values{Map: given, Set: counts}, err // the numbers come last
}

// counts returns the values of a release that count pods, at the scale levels after the operation.
func (w *work) counts(name string) ([]string, error) {
	want, err := w.op.Instances()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, id := range sortedKeys(w.design.vdus) {
		if v := w.design.vdus[id]; v.value != "" && v.release == name {
			out = append(out, fmt.Sprintf("%s=%d", v.value, want[id]))
		}
	}
	return slices.Compact(out), nil
}

// releaseValues are the values of a release before and after an operation.
type releaseValues struct{ before, after map[string]any }

// changeOf returns the values that a revision of a release has, and those that the operation gives the release. If another
// client has upgraded the release with other values than those of the sources, these are kept, and a warning names them.
func (w *work) changeOf(ctx context.Context, r release, revision int) (v releaseValues, err error) {
	if v.before, err = w.recordedValues(ctx, r, revision); err != nil {
		return v, err
	}
	counts, err := w.counts(r.name)
	if err != nil {
		return v, err
	}
	if v.after, err = helmcli.MergeValues(helmclient.Values{Map: v.before, Set: counts}); err != nil {
		return v, err
	}
	given, err := w.givenValues(r)
	if names := differences("", given, v.after); len(names) > 0 {
		w.op.Log.WarnContext(ctx, "values that another client has given to the release are kept", "release", r.name,
			"values", names[:min(len(names), shownObjects)])
	}
	return v, err
}

// givenValues returns the merged sources.
func (w *work) givenValues(r release) (map[string]any, error) {
	sources, err := w.sources(r)
	if err != nil {
		return nil, err
	}
	return helmcli.MergeValues(sources)
}

// recordedValues returns the values of a revision. Those that the sources give are made from the sources, because Helm's
// record does not have the types of numbers.
func (w *work) recordedValues(ctx context.Context, r release, revision int) (map[string]any, error) {
	given, err := w.givenValues(r)
	if err != nil {
		return nil, err
	}
	recorded, err := w.helm.Values(ctx, w.named(r.name), revision, false)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, value := range recorded {
		out[name] = withTypes(value, given[name])
	}
	return out, nil
}

// withTypes returns a recorded value with the types of the given one as far as both are equal. Whole numbers are int64
// elsewhere: Helm reads all numbers of its record as float64, which templates print with an exponent.
func withTypes(recorded, given any) any {
	switch r := recorded.(type) {
	case map[string]any:
		of, _ := given.(map[string]any)
		out := make(map[string]any, len(r))
		for name, value := range r {
			out[name] = withTypes(value, of[name])
		}
		return out
	case []any:
		of, _ := given.([]any)
		out := make([]any, len(r))
		for i, value := range r {
			var one any
			if i < len(of) {
				one = of[i]
			}
			out[i] = withTypes(value, one)
		}
		return out
	case float64:
		if equalValues(r, given) {
			return given
		}
		if n := int64(r); float64(n) == r && n > -maxExact && n < maxExact {
			return n
		}
	}
	return recorded
}

// maxExact bounds the whole numbers that float64 represents exactly.
const maxExact = 1 << 53

// equalValues compares values as Helm's record has them: without the types of numbers.
func equalValues(a, b any) bool {
	x, isNumber := number(a)
	y, both := number(b)
	if isNumber && both {
		return x == y
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalValues)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	}
	return reflect.DeepEqual(a, b)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// differences returns the names of the values that differ, in order, lists as a whole.
func differences(in string, a, b map[string]any) (names []string) {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	for _, name := range sortedKeys(all) {
		x, given := a[name]
		y, has := b[name]
		below, ok := x.(map[string]any)
		other, both := y.(map[string]any)
		switch at := in + name; {
		case ok && both:
			names = append(names, differences(at+".", below, other)...)
		case given != has || !equalValues(x, y):
			names = append(names, at)
		}
	}
	return names
}
