package hot_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
)

const base = `heat_template_version: 2018-08-31
parameters:
  nfv: {type: json}
  key: {type: string, hidden: true, default: x}
resources:
  VDU1:
    type: VDU1.yaml
    depends_on: [ link ]
    properties:
      image: { get_param: [ nfv, VDU, VDU1, vcImageId ] }
      net: { get_param: [ nfv, CP, VDU1_CP1, network ] }
      subnet: { get_param: [ nfv, CP, VDU1_CP1, fixed_ips, 0, subnet ] }
      internal: { get_resource: link }
  link: {type: OS::Neutron::Net}
  link_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: link}, cidr: 10.0.0.0/24}}
  group:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 4
      desired_capacity: 2
      resource:
        type: VDU2.yaml
        properties: { net: { get_param: [ nfv, CP, VDU2_CP1, network ] } }
  counted:
    type: OS::Heat::ResourceGroup
    properties:
      count: { get_param: [ nfv, VDU, VDU3, desired_capacity ] }
      resource_def: { type: OS::Nova::Server, properties: { user_data: { get_file: init.sh } } }
outputs:
  net: { value: { get_resource: link } }
  key: { value: { get_param: key } }
`

const nested = `heat_template_version: 2018-08-31
parameters: {net: {type: string}}
resources:
  %s:
    type: OS::Nova::Server
`

func pkg(change ...string) fstest.MapFS {
	files := map[string]string{
		"BaseHOT/df/top.yaml": base, "BaseHOT/df/nested/init.sh": "#!/bin/sh\n",
		"BaseHOT/df/nested/VDU1.yaml": strings.ReplaceAll(nested, "%s", "VDU1"), "BaseHOT/df/nested/VDU2.yaml": strings.ReplaceAll(nested, "%s", "VDU2"),
		"secret.txt": "outside of the templates' folders",
	}
	for i := 0; i+1 < len(change); i += 2 {
		files[change[i]] = change[i+1]
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return fsys
}

func load(t *testing.T) *hot.Template {
	t.Helper()
	template, err := hot.Load(pkg(), "df")
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func TestLookingInto(t *testing.T) {
	t.Parallel()
	template := load(t)
	if template.Text() != base {
		t.Error("a template that was not changed is not sent as it is")
	}
	files := template.Files()
	if len(files) != 3 || files["init.sh"] != "#!/bin/sh\n" || !strings.Contains(files["VDU2.yaml"], "VDU2") {
		t.Errorf("files %q", files)
	}
	var refs []string
	for _, r := range template.References("nfv") {
		refs = append(refs, r.String()+" "+strings.Join(r.Path, "."))
	}
	want := []string{
		"BaseHOT/df/top.yaml:10 nfv.VDU.VDU1.vcImageId", "BaseHOT/df/top.yaml:11 nfv.CP.VDU1_CP1.network",
		"BaseHOT/df/top.yaml:12 nfv.CP.VDU1_CP1.fixed_ips.0.subnet", "BaseHOT/df/top.yaml:24 nfv.CP.VDU2_CP1.network",
		"BaseHOT/df/top.yaml:28 nfv.VDU.VDU3.desired_capacity"}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Error(diff)
	}
	groups := []hot.Group{
		{Name: "group", Type: hot.AutoScalingGroup, Number: 2, Servers: []string{"VDU2"}, File: "BaseHOT/df/top.yaml", Line: 16},
		{Name: "counted", Type: hot.ResourceGroup, Number: -1, Parameter: []string{"nfv", "VDU", "VDU3", "desired_capacity"},
			Servers: []string{"counted"}, File: "BaseHOT/df/top.yaml", Line: 25}}
	if diff := cmp.Diff(groups, template.Groups()); diff != "" {
		t.Error(diff)
	}
	parameters := []hot.Parameter{{Name: "nfv", Type: "json", File: "BaseHOT/df/top.yaml", Line: 3},
		{Name: "key", Type: "string", HasDefault: true, Hidden: true, File: "BaseHOT/df/top.yaml", Line: 4}}
	if diff := cmp.Diff(parameters, template.Parameters()); diff != "" {
		t.Error(diff)
	}
	if singles := template.Singles(); len(singles) != 1 || singles[0].Name != "VDU1" || template.GroupOf("VDU2").Name != "group" || template.GroupOf("VDU9") != nil {
		t.Errorf("singles %+v", singles)
	}
}

// tree parses what is sent to Heat.
func tree(t *testing.T, template *hot.Template) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(template.Text()), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	template := load(t)
	if err := template.SetCapacity("group", 3); err != nil {
		t.Fatal(err)
	}
	if template.Groups()[0].Number != 3 || !strings.Contains(template.Text(), "desired_capacity: 3") {
		t.Error(template.Text())
	}
	if err := template.SetCapacity("VDU1", 3); !errors.Is(err, hot.ErrTemplate) {
		t.Errorf("error %v", err)
	}
}

func TestNetworkFromOutside(t *testing.T) {
	t.Parallel()
	template := load(t)
	if !template.UseNetwork("link", "net-1") || template.UseNetwork("group", "net-1") || template.UseNetwork("nowhere", "net-1") {
		t.Error("only link is a network")
	}
	got := tree(t, template)
	resources := got["resources"].(map[string]any)
	vdu := resources["VDU1"].(map[string]any)
	if len(resources) != 3 || vdu["properties"].(map[string]any)["internal"] != "net-1" || len(vdu["depends_on"].([]any)) != 0 || len(got["outputs"].(map[string]any)) != 2 {
		t.Error(template.Text())
	}
}

func TestIndividual(t *testing.T) {
	t.Parallel()
	template, err := hot.Load(pkg("BaseHOT/df/top.yaml", strings.Replace(base, "      internal:",
		"      key: { get_param: [ ssh_host_keys, VDU1 ] }\n      keys: { get_param: [ ssh_host_keys, VDU2 ] }\n      internal:", 1)), "df")
	if err == nil {
		err = template.Individual("VDU1", []int{0, 2})
	}
	if err != nil {
		t.Fatal(err)
	}
	resources := tree(t, template)["resources"].(map[string]any)
	two := resources["VDU1-2"].(map[string]any)["properties"].(map[string]any)
	want := map[string]any{"get_param": []any{"nfv", "CP", "VDU1_CP1-2", "fixed_ips", 0, "subnet"}}
	if diff := cmp.Diff(want, two["subnet"]); diff != "" || resources["VDU1"] != nil || resources["VDU1-0"] == nil {
		t.Errorf("%s\n%s", diff, template.Text())
	}
	keys := []any{map[string]any{"get_param": []any{"ssh_host_keys", "VDU1-2"}}, map[string]any{"get_param": []any{"ssh_host_keys", "VDU2"}}}
	if diff := cmp.Diff(keys, []any{two["key"], two["keys"]}); diff != "" {
		t.Error(diff)
	}
	for _, vdu := range []string{"VDU9", "group"} {
		if err := template.Individual(vdu, []int{0}); !errors.Is(err, hot.ErrTemplate) {
			t.Errorf("%s: error %v", vdu, err)
		}
	}
}

// TestAliases: changing one copy of an alias does not change the other copies.
func TestAliases(t *testing.T) {
	t.Parallel()
	text := `heat_template_version: 2018-08-31
resources:
  a: &group
    type: OS::Heat::AutoScalingGroup
    properties: {desired_capacity: 1, resource: {type: VDU1.yaml}}
  b: *group
`
	template, err := hot.Load(pkg("BaseHOT/df/top.yaml", text), "df")
	if err == nil {
		err = template.SetCapacity("a", 5)
	}
	if err != nil || template.Groups()[0].Number != 5 || template.Groups()[1].Number != 1 {
		t.Errorf("%v\n%s", err, template.Text())
	}
}

func TestFaultyPackages(t *testing.T) {
	t.Parallel()
	with := func(resource string) string {
		return "heat_template_version: 2018-08-31\nresources:\n  a: " + resource + "\n"
	}
	bomb := "heat_template_version: 2018-08-31\nresources:\n  a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'i'; c++ {
		bomb += "  " + string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "*" + string(c-1) + "]\n"
	}
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"none":              {[]string{"BaseHOT/df/top.yaml", ""}, "one .yaml file in BaseHOT/df is wanted"},
		"two":               {[]string{"BaseHOT/df/other.yaml", base}, "several templates, one is wanted: BaseHOT/df/other.yaml, BaseHOT/df/top.yaml"},
		"no YAML":           {[]string{"BaseHOT/df/top.yaml", "a: ["}, "top.yaml"},
		"no mapping":        {[]string{"BaseHOT/df/top.yaml", "- a"}, "is no mapping"},
		"no resources":      {[]string{"BaseHOT/df/top.yaml", "heat_template_version: 2018-08-31"}, "has no resources"},
		"no version":        {[]string{"BaseHOT/df/top.yaml", "resources: {}"}, "has no heat_template_version"},
		"twice":             {[]string{"BaseHOT/df/top.yaml", with("{type: X, type: Y}")}, "top.yaml:3: the key \"type\" comes twice"},
		"missing":           {[]string{"BaseHOT/df/nested/VDU2.yaml", ""}, `top.yaml:23: "VDU2.yaml" is not in the package`},
		"out of it":         {[]string{"BaseHOT/df/top.yaml", with("{type: ../../../etc/passwd.yaml}")}, "top.yaml:3: \"../../../etc/passwd.yaml\" leads out of the package"},
		"absolute":          {[]string{"BaseHOT/df/top.yaml", with("{properties: {x: {get_file: /etc/passwd}}}")}, "is no path within the package"},
		"file URL":          {[]string{"BaseHOT/df/top.yaml", with("{properties: {x: {get_file: 'file:///etc/passwd'}}}")}, "is no path within the package"},
		"URL":               {[]string{"BaseHOT/df/top.yaml", with("{type: 'http://h/x.yaml'}")}, "is no path within the package"},
		"itself":            {[]string{"BaseHOT/df/nested/VDU1.yaml", with("{type: VDU1.yaml}")}, "VDU1.yaml:3: VDU1.yaml leads back to itself"},
		"one text, two":     {[]string{"BaseHOT/df/nested/VDU1.yaml", with("{type: sub/A.yaml}"), "BaseHOT/df/nested/sub/A.yaml", with("{type: VDU2.yaml}"), "BaseHOT/df/nested/sub/VDU2.yaml", with("{}")}, "means"},
		"bomb":              {[]string{"BaseHOT/df/top.yaml", bomb}, "too large or nested too deeply"},
		"alias of itself":   {[]string{"BaseHOT/df/top.yaml", with("&a {x: *a}")}, "top.yaml"},
		"larger than taken": {[]string{"BaseHOT/df/top.yaml", base + strings.Repeat("# comment\n", 60000)}, "larger than 524288 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := hot.Load(pkg(c.files...), "df")
			if !errors.Is(err, hot.ErrTemplate) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	for _, flavour := range []string{"..", "a/b", "", "."} {
		if _, err := hot.Load(pkg(), flavour); !errors.Is(err, hot.ErrTemplate) {
			t.Errorf("flavour %q: %v", flavour, err)
		}
	}
}

// FuzzTemplate: no base HOT causes a panic, and the request to Heat can always be parsed.
func FuzzTemplate(f *testing.F) {
	f.Add(base)
	f.Add(strings.ReplaceAll(base, "resources:", "resources: &r"))
	f.Add("heat_template_version: 1\nresources: {VDU1: {type: VDU2.yaml, properties: [get_param, {get_param: [nfv, CP, {a: b}, c]}]}}")
	f.Add("heat_template_version: 1\nresources: {link: {type: OS::Neutron::Net}, b: {depends_on: {a: b}, properties: {get_resource: link}}}\noutputs: [a]")
	f.Fuzz(func(t *testing.T, text string) {
		template, err := hot.Load(pkg("BaseHOT/df/top.yaml", text), "df")
		if err != nil {
			if !errors.Is(err, hot.ErrTemplate) {
				t.Errorf("error %v", err)
			}
			return
		}
		template.References("nfv")
		template.Parameters()
		template.Singles()
		template.UseNetwork("link", "id")
		_ = template.Individual("VDU1", []int{0, 3})
		for _, g := range template.Groups() {
			_ = template.SetCapacity(g.Name, 3)
		}
		var out any
		if err := yaml.Unmarshal([]byte(template.Text()), &out); err != nil {
			t.Errorf("%v\n%s", err, template.Text())
		}
	})
}

// TestDifferences compares the sample package with the template of a stack as Heat shows it.
func TestDifferences(t *testing.T) {
	t.Parallel()
	template, err := hot.Load(pkg(), "df")
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal([]byte(base), &document); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(document) // as Heat shows it
	if err != nil {
		t.Fatal(err)
	}
	files := template.Files()
	for name, c := range map[string]struct {
		top    string
		change map[string]string // of files; "" removes one
		want   []string
	}{
		"the same":                  {top: base},
		"as Heat shows it":          {top: string(asJSON)},
		"a description":             {top: strings.Replace(base, "\nresources:", "\ndescription: other\nresources:", 1)},
		"another number of members": {top: strings.Replace(base, "desired_capacity: 2", "desired_capacity: 7", 1)},
		"a resource more":           {top: strings.Replace(base, "outputs:", "  more: {type: OS::Heat::None}\noutputs:", 1), want: []string{"resources.more"}},
		"no template":               {top: "a: [", want: []string{"base HOT"}},
		"a file is missing":         {top: base, change: map[string]string{"VDU1.yaml": ""}, want: []string{"VDU1.yaml"}},
		"a file is no template":     {top: base, change: map[string]string{"VDU1.yaml": "- a"}, want: []string{"VDU1.yaml"}},
		"a file beside":             {top: base, change: map[string]string{"other.yaml": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := maps.Clone(files)
			for name, text := range c.change {
				if have[name] = text; text == "" {
					delete(have, name)
				}
			}
			if diff := cmp.Diff(c.want, template.Differences(c.top, have)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzDifferences: no answer of Heat causes a panic, and a template has no differences to itself.
func FuzzDifferences(f *testing.F) {
	f.Add(base)
	f.Add("resources: {a: {type: OS::Heat::ResourceGroup, properties: {count: 1}}, b: {1: yes, no: 2}}")
	f.Fuzz(func(t *testing.T, text string) {
		template, err := hot.Load(pkg(), "df")
		if err != nil {
			t.Fatal(err)
		}
		template.Differences(text, map[string]string{"VDU1.yaml": text})
		if other, err := hot.Load(pkg("BaseHOT/df/top.yaml", text), "df"); err == nil {
			if different := other.Differences(other.Text(), other.Files()); len(different) > 0 {
				t.Errorf("other than itself: %q", different)
			}
		}
	})
}

// TestFloatingIPs finds floating addresses at ports of the same template, nested ones too.
func TestFloatingIPs(t *testing.T) {
	t.Parallel()
	template, err := hot.Load(pkg("BaseHOT/df/top.yaml", `heat_template_version: 2018-08-31
resources:
  lb_port: {type: OS::Neutron::Port}
  lb_FloatingIP: {type: OS::Neutron::FloatingIP, properties: {port_id: {get_resource: lb_port}}}
  free: {type: OS::Neutron::FloatingIP}
  at: {type: OS::Neutron::FloatingIPAssociation, properties: {floatingip_id: {get_resource: free}, port_id: {get_resource: lb_port}}}
  foreign: {type: OS::Neutron::FloatingIP, properties: {port_id: 7f1c}}
  workers: {type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: VDU1.yaml}}}
`, "BaseHOT/df/nested/VDU1.yaml", `heat_template_version: 2018-08-31
resources:
  worker_port: {type: OS::Neutron::Port}
  worker_FloatingIP: {type: OS::Neutron::FloatingIP, properties: {port_id: {get_resource: worker_port}}}
`), "df")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"lb_FloatingIP": "lb_port", "free": "lb_port", "worker_FloatingIP": "worker_port"}
	if diff := cmp.Diff(want, template.FloatingIPs()); diff != "" {
		t.Error(diff)
	}
}
