package inprocess

import (
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/bounded"
)

// maxValues bounds the size of a values file: the stored release has to fit into a Secret of 1 MiB.
const maxValues = 4 << 20

// values lays the values of a request over each other. Errors hold no value: it may be a password.
func (helm *Version) values(v helmclient.Values) (map[string]any, error) {
	if err := v.CheckLists(); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for i, open := range v.Files {
		one := map[string]any{}
		text, err := read(open, maxValues)
		if err != nil {
			return nil, fmt.Errorf("%w: values: Files[%d]: %w", helmclient.ErrInvalid, i, err)
		}
		if err := yaml.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("%w: values: Files[%d]: is no YAML map", helmclient.ErrInvalid, i)
		}
		overlay(out, one)
	}
	overlay(out, v.Map)
	for _, set := range []struct {
		name  string
		lines []string
		parse func(string, map[string]any) error
	}{
		{"Set", v.Set, helm.Set},
		{"SetString", v.SetString, helm.SetString},
		{"SetJSON", v.SetJSON, helm.SetJSON},
	} {
		for i, line := range set.lines {
			if err := set.parse(line, out); err != nil {
				return nil, fmt.Errorf("%w: values: %s[%d]: does not follow Helm's grammar", helmclient.ErrInvalid, set.name, i)
			}
		}
	}
	return out, nil
}

// overlay merges maps, as Helm does with values files. It copies from, because Helm changes the maps that it gets.
func overlay(onto, from map[string]any) {
	for key, value := range from {
		if m, ok := value.(map[string]any); ok {
			old, ok := onto[key].(map[string]any)
			if !ok {
				old = map[string]any{}
				onto[key] = old
			}
			overlay(old, m)
			continue
		}
		onto[key] = copied(value)
	}
}

func copied(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		overlay(out, v)
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = copied(v[i])
		}
		return out
	}
	return value
}

// read reads all of a stream that may be no larger than limit.
func read(open func() (io.ReadCloser, error), limit int64) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return bounded.Read(r, limit)
}
