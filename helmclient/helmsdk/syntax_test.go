package helmsdk_test

import (
	"testing"

	"helm.sh/helm/v3/pkg/strvals"

	"github.com/vnfkit/vnfkit/helmclient"
)

// TestSyntax compares CheckSyntax with Helm's parser.
func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a=1", "a=b,c=d", "a=b,", "a=b,c", "a=b,c,d=e", `a=b\,c`, "a", "a,b=c", "a=", "a.b=c", "a.", "a.b", "a=1,.", "a..b=c", "a.=x", "a[0].=x", "a.[0]=x", ".b=c", ",", "a=1,,b=2", "=", "=x",
		"a[0]=x", "a[0", "a[x]=1", "a[-1]=x", "a[0]b=x", "a[0][1]=x", "a[0].b=x", "a[0]", "a[0].", "a[70000]=x", "a[]=x",
		"a={x,y}", "a={x,y", "a={x}y", "a={x},b=1", "a={", "a={}", `a=\{x,b=1`, "a=b={x", "a=b.c[d", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.a.b.c.d.e.f=1", `a=x\`,
	} {
		want := strvals.ParseInto(text, map[string]any{})
		if got := (helmclient.Values{Set: []string{text}}).CheckSyntax(); (got == nil) != (want == nil) {
			t.Errorf("%q: %v, Helm: %v", text, got, want)
		}
	}
	for _, text := range []string{"a=1", `a="x"`, "a=x", "a=[1,2],b={}", "a=[1", "a=", "a=,b=1", "a", `a="x" b=1`, `a="x" b`, "a[0]=x", "a[0]=1"} {
		want := strvals.ParseJSON(text, map[string]any{})
		if got := (helmclient.Values{SetJSON: []string{text}}).CheckSyntax(); (got == nil) != (want == nil) {
			t.Errorf("JSON %q: %v, Helm: %v", text, got, want)
		}
	}
}
