package helmcli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/bounded"
)

// maxValues bounds a values file. Helm stores at most 1 MiB per release, compressed.
const maxValues = 16 << 20

// values is the input for one helm command: a document on standard input, and whole numbers as arguments.
type values struct {
	document []byte   // JSON, which is YAML; nil if there are no values
	args     []string // --set of whole numbers
}

// mergeValues returns the input for a helm command.
func mergeValues(v helmclient.Values) (values, error) {
	if len(v.Files)+len(v.Map)+len(v.Set)+len(v.SetString)+len(v.SetJSON) == 0 {
		return values{}, nil
	}
	merged, err := MergeValues(v)
	if err != nil {
		return values{}, err
	}
	document, err := json.Marshal(merged)
	if err != nil {
		return values{}, fmt.Errorf("%w: values: %w", helmclient.ErrInvalid, err)
	}
	return values{document, wholeNumbers(merged, document)}, nil
}

// MergeValues merges values by Helm's grammar, in the order of helmclient.Values, which differs from the order of helm's
// arguments. The result has the types that templates see: numbers are int64 from Set and from integers of Map, and float64
// otherwise. It shares no maps and lists with v. Errors do not contain values.
func MergeValues(v helmclient.Values) (map[string]any, error) {
	if err := v.CheckLists(); err != nil {
		return nil, err
	}
	merged := map[string]any{}
	for i, open := range v.Files {
		file, err := readValues(open)
		if err != nil {
			return nil, fmt.Errorf("values: file %d: %w", i+1, err)
		}
		merge(merged, file)
	}
	given, err := normal(v.Map)
	if err != nil {
		return nil, fmt.Errorf("%w: values: %w", helmclient.ErrInvalid, err)
	}
	merge(merged, given)
	for _, s := range []struct {
		name  string
		texts []string
		apply func(string, map[string]any) error
	}{{"Set", v.Set, strvals.ParseInto}, {"SetString", v.SetString, strvals.ParseIntoString}, {"SetJSON", v.SetJSON, strvals.ParseJSON}} {
		for i, text := range s.texts {
			if err := s.apply(text, merged); err != nil {
				return nil, fmt.Errorf("%w: values: %s[%d] is not in the grammar of helm's --set", helmclient.ErrInvalid, s.name, i)
			}
		}
	}
	return merged, nil
}

func readValues(open func() (io.ReadCloser, error)) (map[string]any, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := bounded.Read(r, maxValues)
	if errors.Is(err, bounded.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", helmclient.ErrInvalid, err)
	}
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if yaml.Unmarshal(data, &out) != nil {
		return nil, fmt.Errorf("%w: it is no YAML mapping", helmclient.ErrInvalid)
	}
	return out, nil
}

// normal copies a caller's map with the types of JSON. Integers become int64, and float64 stays float64.
func normal(in map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(in))
	for k, v := range in {
		n, err := normalValue(v)
		if err != nil {
			return nil, err
		}
		out[k] = n
	}
	return out, nil
}

func normalValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int64, float64:
		return v, nil
	case map[string]any:
		return normal(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = normalValue(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, err
	}
	return numbers(out), nil
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	}
	return v
}

// merge merges one map into another, as helm does with several values files.
func merge(into, over map[string]any) {
	for k, v := range over {
		if m, ok := v.(map[string]any); ok {
			if below, ok := into[k].(map[string]any); ok {
				merge(below, m)
				continue
			}
		}
		into[k] = v
	}
}

// maxNumbers bounds the bytes of --set arguments of one command.
const maxNumbers = 32 << 10

// wholeNumbers returns arguments that pass the whole numbers of --set and of a caller's map to Helm as whole numbers.
// From a values file Helm reads them as floating point, prints 1000000 as 1e+06, and templates cannot compare them with
// 3. Each argument is parsed as Helm would; a number that Helm would read differently stays in the document.
func wholeNumbers(merged map[string]any, document []byte) []string {
	var texts []string
	collect(merged, "", &texts)
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	text := strings.Join(texts, ",")
	read := map[string]any{}
	if len(text) > maxNumbers || json.Unmarshal(document, &read) != nil || strvals.ParseInto(text, read) != nil || !reflect.DeepEqual(read, merged) {
		return nil
	}
	return []string{"--set=" + text}
}

func collect(v any, at string, texts *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, below := range v {
			name := keyEscapes.Replace(k)
			if at != "" {
				name = at + "." + name
			}
			collect(below, name, texts)
		}
	case []any:
		for i, below := range v {
			collect(below, at+"["+strconv.Itoa(i)+"]", texts)
		}
	case int64:
		if at != "" && v != math.MinInt64 {
			*texts = append(*texts, at+"="+strconv.FormatInt(v, 10))
		}
	}
}

var keyEscapes = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `,`, `\,`, `=`, `\=`, `[`, `\[`, `]`, `\]`)
