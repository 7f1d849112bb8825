package kubernetes_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
)

// TestValuesWithoutEffect: a warning names the values that surely have no effect.
func TestValuesWithoutEffect(t *testing.T) {
	t.Parallel()
	const known = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: known}\ndata: {text: %s}\n"
	sub := chart("sub", fmt.Sprintf(known, "{{ .Values.ofSub | quote }}")).pack(t)
	for name, c := range map[string]struct {
		template string
		given    string
		want     []string
	}{
		"unknown":                     {`"{{ .Values.text }}"`, `"typo=1", "text=a", "greeting=b", "global.x=1", "other.a=1"`, []string{"other, typo"}},
		"below a map":                 {`"{{ .Values.text }}"`, `"web.disk=ssd"`, nil},
		"of a chart that it needs":    {`"{{ .Values.text }}"`, `"sub.ofSub=1", "ofSub=1"`, nil},
		"a loop over all values":      {`"{{ range $name, $value := .Values }}{{ $name }}{{ end }}"`, `"typo=1"`, nil},
		"a name that is computed":     {`"{{ index .Values (printf "ty%s" "po") }}"`, `"typo=1"`, nil},
		"a name in quotation marks":   {`"{{ index .Values "text" }}"`, `"typo=1", "text=a"`, []string{"typo"}},
		"a value that is a template":  {`"{{ tpl .Values.text . }}"`, `"mine=1", "text=a {{ .Values.mine }}"`, nil},
		"a guide that names a value":  {`"{{ .Values.text }}"`, `"inGuide=1"`, []string{"inGuide"}},
		"no values, nothing to check": {`"{{ .Values.text }}"`, ``, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			files := chart("mine", webDeployment, fmt.Sprintf(known, c.template))
			files["mine/charts/sub-0.1.0.tgz"] = string(sub)
			files["mine/README.md"] = "inGuide"
			l.files["Files/mine.tgz"] = &fstest.MapFile{Data: files.pack(t)}
			l.instantiate("simple", `{"use_helm": true, "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/mine.tgz", "helmreleasename": "r",
				"helmparameter": [`+c.given+`]}], "vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web-r"}}}`)
			var got []string
			for _, text := range l.warnings() {
				if _, names, found := strings.Cut(text, "does not know them: "); found {
					got = append(got, names)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
