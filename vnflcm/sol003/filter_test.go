package sol003_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

func ExampleParseFilter() {
	filter, err := sol003.ParseFilter("(eq,instantiationState,INSTANTIATED);(cont,vnfInstanceName,edge,core)")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"edge-7", "lab"} {
		fmt.Println(name, filter.Match(map[string]any{"instantiationState": "INSTANTIATED", "vnfInstanceName": name}))
	}
	// Output:
	// edge-7 true
	// lab false
}

const filtered = `{"id":123,"weight":100.5,"name":"a,(b)'c'","ok":true,"none":null,"at":"2026-01-02T03:04:05Z",
	"parts":[{"id":1,"color":"red"},{"id":2,"color":"green"}],"tags":["x","y"],"map":{"k1":{"v":"1"},"k2":{"v":"2"}}}`

func TestFilter(t *testing.T) {
	t.Parallel()
	var document any
	if err := json.Unmarshal([]byte(filtered), &document); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"(eq,id,123)": true, "(eq,id,123.0)": true, "(eq,id,1)": false, "(neq,id,1)": true, "(neq,id,123)": false, "(eq,weight,100.5)": true,
		"(gt,weight,99)": true, "(gt,weight,100.5)": false, "(gte,weight,100.5)": true, "(lt,weight,1000)": true, "(lte,weight,100)": false,
		"(eq,name,'a,(b)''c''')": true, "(in,name,x,'a,(b)''c''',y)": true, "(cont,name,'(b)')": true, "(ncont,name,'(b)')": false, "(ncont,name,z)": true,
		"(eq,ok,true)": true, "(eq,ok,false)": false, "(eq,none,x)": false, "(neq,none,x)": true, "(eq,missing,x)": false, "(nin,missing,x,y)": true,
		"(gt,at,2026-01-01T00:00:00Z)": true, "(lt,at,2026-01-02T04:04:05+01:00)": false, "(eq,at,2026-01-02T04:04:05+01:00)": true,
		"(eq,parts/color,green)": true, "(eq,parts/color,blue)": false, "(in,parts/id,2,7)": true, "(neq,parts/color,green)": false, "(nin,parts/color,blue)": true,
		"(eq,tags,y)": true, "(eq,map/k1/v,1)": true, "(eq,map/@key,k2)": true, "(eq,map/@key,k3)": false, "(eq,parts,x)": false, "(eq,id/x,1)": false,
		"(eq,id,123);(eq,ok,true)": true, "(eq,id,123);(eq,ok,false)": false, "((eq,id,123);(eq,ok,true));": true, "eq,id,123": true, "eq,id,123;eq,ok,true": true,
		"(eq,name,)": false, "(cont,name,)": true, "(eq,id,a;b)": false,
	} {
		f, err := sol003.ParseFilter(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if f.Match(document) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	for _, text := range []string{"", "()", "(", "(eq,id,1", "(eq,id,1))", "(eq,id)", "(eq,,1)", "(eq,a//b,1)", "(is,id,1)", "(eq,id,1,2)", "(eq,id,a(b)", "(eq,id,a'b)", "(eq,id,'a)",
		"(eq,id,1)(eq,id,2)", "(eq,id,'a'b)", ";", "(eq,i(d,1)"} {
		if f, err := sol003.ParseFilter(text); err == nil {
			t.Errorf("%q was read as %s", text, f)
		}
	}
	if _, err := sol003.ParseFilter(strings.Repeat("x", 10000)); err == nil || len(err.Error()) > 300 {
		t.Errorf("a long filter: %v", err)
	}
	if !(sol003.Filter{}).Match(document) {
		t.Error("the zero Filter selects not everything")
	}
}

// FuzzParseFilter checks that no filter makes ParseFilter panic, and that String returns a text that ParseFilter reads as the same filter.
func FuzzParseFilter(f *testing.F) {
	for _, seed := range []string{"(eq,id,1)", "(in,a/b,'x,''y',z);(neq,c,d)", "((eq,a,b);(eq,c,d))", "eq,a,b;cont,c,d", "(eq,a,'", "(((((", "(eq,a,b;c)"} {
		f.Add(seed)
	}
	var document any
	if err := json.Unmarshal([]byte(filtered), &document); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := sol003.ParseFilter(text)
		if err != nil {
			return
		}
		again, err := sol003.ParseFilter(first.String())
		if err != nil {
			t.Fatalf("%q: %v", first.String(), err)
		}
		if diff := cmp.Diff(first.String(), again.String()); diff != "" || first.Match(document) != again.Match(document) {
			t.Errorf("%q is read as %q: %s", text, first, diff)
		}
	})
}
