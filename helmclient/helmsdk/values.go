package helmsdk

import (
	"fmt"
	"io"

	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
)

// maxValues is how large a file of values may be: what is kept of a release has to fit into a Secret of 1 MiB.
const maxValues = 4 << 20

// values lays the values of a request over each other. Errors hold no value: it may be a password.
func values(v helmclient.Values) (map[string]any, error) {
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
		{"Set", v.Set, strvals.ParseInto},
		{"SetString", v.SetString, strvals.ParseIntoString},
		{"SetJSON", v.SetJSON, strvals.ParseJSON},
	} {
		for i, line := range set.lines {
			if err := set.parse(line, out); err != nil {
				return nil, fmt.Errorf("%w: values: %s[%d]: does not follow Helm's grammar", helmclient.ErrInvalid, set.name, i)
			}
		}
	}
	return out, nil
}

// overlay lays maps over each other, as Helm does with files of values; from is copied: Helm changes what it is given.
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
	return readAll(r, limit)
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("is larger than %d MiB", limit>>20)
	}
	return text, err
}
