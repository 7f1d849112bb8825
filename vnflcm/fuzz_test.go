package vnflcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// FuzzDecodeRequest checks that no document makes DecodeRequest panic, and that a decoded request survives encoding and decoding.
func FuzzDecodeRequest(f *testing.F) {
	files, _ := filepath.Glob("testdata/requests/*.json")
	for _, file := range files {
		body, err := os.ReadFile(file) //nolint:gosec // test data
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for _, body := range []string{`{"vimConnectionInfo":{"a":{"vimType":"t"},"b":null,"c":1}}`, `{"vimConnectionInfo":5,"extVirtualLinks":{}}`,
		`{"flavourId":1e3,"additionalParams":{"a":1e999}}`, `{"additionalParams":"***"}`, `[[`, `{"extVirtualLinks":[{"extCps":[{"cpConfig":{"":{}}}]}]}`,
		`{"additionalParams":{"a":"\ud800"}}`, `{"extensions":null,"targetScaleLevelInfo":[{"scaleLevel":"7"}]}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(decodeTwice[vnflcm.InstantiateVnfRequest])
}

// decodeTwice checks that a document is decoded or refused, and that a decoded request survives encoding and decoding.
func decodeTwice[T any](t *testing.T, body []byte) {
	var first, second T
	if _, err := vnflcm.DecodeRequest(body, &first); err != nil {
		if !errors.Is(err, vnflcm.ErrInvalidRequest) {
			t.Errorf("no fault of the request: %v", err)
		}
		return
	}
	clear, err := vnflcm.RevealJSON(first)
	if err != nil {
		t.Fatal(err)
	}
	if unknown, err := vnflcm.DecodeRequest(clear, &second); err != nil || len(unknown) > 0 {
		t.Fatalf("%s: unknown %q, %v", clear, unknown, err)
	}
	again, err := vnflcm.RevealJSON(second)
	if diff := cmp.Diff(string(clear), string(again)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// FuzzDecodeScaleToLevel checks the same for the strict decoding of nested attributes.
func FuzzDecodeScaleToLevel(f *testing.F) {
	for _, body := range []string{`{"instantiationLevelId":"a"}`, `{"scaleInfo":[{"aspectId":"a","scaleLevel":"1"},null]}`, `{"scaleInfo":{"aspectId":"a"}}`,
		`{"scaleInfo[":1,"scaleInfo[0]":2,"[":3,"additionalParams[0].a":4}`, `{"scaleInfo":[{"scaleLevel":0,"x":{"y":[{"z":1}]}}],"ScaleInfo":[]}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(decodeTwice[vnflcm.ScaleVnfToLevelRequest])
}

// FuzzMerge checks that applying a patch twice equals applying it once, and that an empty patch changes nothing.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a":{"b":1}}`, `{"a":{"b":null,"c":[1]}}`)
	f.Add(`{"a":1}`, `{"a":{"b":{"c":null}}}`)
	f.Add(`{"":{"":null}}`, `{"a":1e999,"a":2}`)
	f.Fuzz(func(t *testing.T, base, over string) {
		p, err1 := vnflcm.ParseParams([]byte(base))
		q, err2 := vnflcm.ParseParams([]byte(over))
		if err1 != nil || err2 != nil {
			return
		}
		once, err := p.Merge(q)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := once.Merge(q)
		if err != nil || !twice.Equal(once) {
			t.Errorf("once %s, twice %s (%v)", once.Reveal(), twice.Reveal(), err)
		}
		if same, err := once.Merge(vnflcm.Params{}); err != nil || !same.Equal(once) {
			t.Errorf("%s became %s (%v)", once.Reveal(), same.Reveal(), err)
		}
	})
}

// FuzzDocument checks that the document of any free-form attributes is an object with the same keys, contains no value, and can be
// decoded.
func FuzzDocument(f *testing.F) {
	for _, body := range []string{`{}`, `{"a":{"b":[1,"canary",null,true,{"":{}}]}}`, `{"a":"***","a":1e999}`, `{"a.b":"x","[]":["y"],"*":"z"}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p, err := vnflcm.ParseParams([]byte(body))
		if err != nil {
			return
		}
		text, err := json.Marshal(vnflcm.HealVnfRequest{AdditionalParams: p})
		if err != nil {
			t.Fatal(err)
		}
		var back vnflcm.HealVnfRequest
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var before, after any
		if json.Unmarshal(p.Reveal(), &before) != nil || json.Unmarshal(back.AdditionalParams.Reveal(), &after) != nil {
			return // a number that is too large
		}
		if diff := cmp.Diff(maskedTree(before), after, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s became %s:\n%s", body, text, diff)
		}
	})
}

// maskedTree replaces every value of a tree.
func maskedTree(tree any) any {
	switch v := tree.(type) {
	case nil:
		return nil
	case map[string]any:
		for key, child := range v {
			v[key] = maskedTree(child)
		}
		return v
	case []any:
		for i, child := range v {
			v[i] = maskedTree(child)
		}
		return v
	}
	return vnflcm.Mask
}

// FuzzMask checks that no distinctive secret remains in a text, also if secrets overlap.
func FuzzMask(f *testing.F) {
	f.Add("abc-12345X", "12345X-def", "see ", " ok")
	f.Add("abcabc12", "abcabc12abcabc12", "ab", "c")
	f.Add(`a'b"c`+"\n", "line one\nline two", `\`, `"`)
	f.Add("p@ss/word", "%41%2F", "http://u:", "@h/")

	f.Fuzz(func(t *testing.T, a, b, before, after string) {
		for _, s := range []string{a, b} {
			if utf8.RuneCountInString(s) < 8 || len(s) > 100 || strings.Contains(s, "*") || strings.ToValidUTF8(s, "") != s {
				return
			}
			if !strings.ContainsFunc(s, unicode.IsLetter) || !strings.ContainsFunc(s, unicode.IsDigit) {
				return // a number or a possible ordinary word, which is masked only in some places
			}
		}
		mask := maskOf(t, a, b)
		for _, text := range []string{before + a + after + b, before + a + b + after, a[:len(a)-1] + b, jsonText(a + before + b)} {
			got := mask(text)
			for _, s := range []string{a, b} {
				if strings.Contains(got, s) && !strings.Contains("***@", s) && !strings.Contains("://", s) {
					t.Errorf("%q survived: %q became %q", s, text, got)
				}
			}
		}
	})
}

// maskOf returns Mask of an operation with these secrets. It gets the Operation from a Plan, which changes nothing.
func maskOf(t *testing.T, secrets ...string) (mask func(string) string) {
	t.Helper()
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Infra["toy"] = planner(func(op *vnflcm.Operation) { mask = op.Mask })
	})
	p, err := vnflcm.NewParams(map[string]any{"password": secrets[0], "token": secrets[1]})
	must(t, err)
	_, err = x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: p})
	wantIs(t, err, errCut)
	return mask
}

// planner is an InfraDriver whose Plan passes the Operation to a function and refuses it.
type planner func(op *vnflcm.Operation)

func (p planner) Plan(_ context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	p(op)
	return vnflcm.Change{}, errCut
}
func (planner) Instantiate(context.Context, *vnflcm.Operation) error { return nil }
func (planner) Scale(context.Context, *vnflcm.Operation) error       { return nil }
func (planner) Heal(context.Context, *vnflcm.Operation) error        { return nil }
func (planner) Terminate(context.Context, *vnflcm.Operation) error   { return nil }
func (planner) Resources(context.Context, *vnflcm.Operation) (vnflcm.Resources, error) {
	return vnflcm.Resources{}, nil
}
