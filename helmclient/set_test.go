package helmclient_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/helmclient"
)

// lists are settings of that many lists, each as long as Helm makes them.
func lists(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "l%d[65536]=x,", i)
	}
	return out.String()
}

func TestValuesThatFillTheMemory(t *testing.T) {
	t.Parallel()
	set := func(texts ...string) helmclient.Values { return helmclient.Values{Set: texts} }
	numbers := ""
	for i := range 1400 {
		numbers += fmt.Sprintf("a[%d].port=%d,", i, i)
	}
	for name, c := range map[string]struct {
		values helmclient.Values
		fault  string // where; empty: none
	}{
		"nothing":                   {set("", "a=1,b={x,y}", "a[0].b[1]=c"), ""},
		"one by one":                {set(numbers), ""},
		"as many as may be":         {set(lists(15)), ""},
		"one list too many":         {set(lists(16)), "Set[0]"},
		"spread over texts":         {set(lists(8), "a=1", lists(8)), "Set[2]"},
		"spread over fields":        {helmclient.Values{Set: []string{lists(8)}, SetString: []string{"a=b"}, SetJSON: []string{"a=1", lists(7)}, Map: map[string]any{"a": 1}}, ""},
		"and then one more":         {helmclient.Values{Set: []string{lists(8)}, SetString: []string{lists(7)}, SetJSON: []string{"a=1", "b[65536]=[]"}}, "SetJSON[1]"},
		"the same list again":       {set(strings.Repeat("a[65536]=x,", 16)), "Set[0]"},
		"an index beyond Helm's":    {set("a[99999999]=x"), "Set[0]"},
		"no number for Helm":        {set("a[99999999999999999999]=x"), ""},
		"below zero":                {set("a[-5]=x"), ""},
		"in lists":                  {set("a[65536]" + strings.Repeat("[65536]", 20) + "=x"), "Set[0]"},
		"in maps of lists":          {set("a[65536]" + strings.Repeat(".b[65536]", 20) + "=x"), "Set[0]"},
		"deep":                      {set("a" + strings.Repeat("[0]", 31) + "=x"), "Set[0]"},
		"deep through maps":         {helmclient.Values{SetString: []string{"a" + strings.Repeat("[0].b", 31) + "=x"}}, "SetString[0]"},
		"as deep as may be":         {set("a"+strings.Repeat("[0]", 30)+"=x,b"+strings.Repeat("[0].c", 30)+"=y", "c[0]=1"), ""},
		"escaped":                   {set(`a\[99999999]=x,b=1`), ""},
		"an escaped number":         {set(`a[\9\9999999]=x`), "Set[0]"},
		"a value that looks so":     {set("a=b[99999999]=c", "a={b[99999999]=c,d[99999999]=e}", "c=d{,e[1]=f"), ""},
		"behind a list":             {set("a={x},b[99999999]=y", "a=1"), "Set[0]"},
		"behind a list, no comma":   {set("a={x}b[99999999]=y"), "Set[0]"},
		"behind an escaped comma":   {set(`a=x\,b[99999999]=y`), ""},
		"behind an empty value":     {set(`a=,b[99999999]=y`), "Set[0]"},
		"behind what is no grammar": {set(`a,b[99999999]=y`), ""},
		"JSON that looks so":        {helmclient.Values{SetJSON: []string{`a=[99999999], b={"x": "[99999999]="}`, `c=["[99999999]=",[[7]]]`}}, ""},
		"behind JSON":               {helmclient.Values{SetJSON: []string{"a=[1,{}]\u00a0,b[99999999]=y"}}, "SetJSON[0]"},
		"behind no JSON":            {helmclient.Values{SetJSON: []string{"a=\u00a0,b[99999999]=y"}}, "SetJSON[0]"},
		"behind JSON, no comma":     {helmclient.Values{SetJSON: []string{`a="x" b[99999999]=y`}}, "SetJSON[0]"},
		"behind broken JSON":        {helmclient.Values{SetJSON: []string{`a=[,b[99999999]=y`}}, ""},
	} {
		err := c.values.CheckLists()
		e, refused := errors.AsType[*helmclient.SetError](err)
		switch {
		case c.fault == "" && err == nil:
		case !refused || !errors.Is(err, helmclient.ErrInvalid) || fmt.Sprintf("%s[%d]", e.Field, e.Index) != c.fault || !strings.Contains(err.Error(), c.fault):
			t.Errorf("%s: %v, want a fault of %q", name, err, c.fault)
		}
	}
}
