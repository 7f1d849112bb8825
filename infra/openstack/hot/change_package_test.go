package hot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
)

const (
	oneServer = `heat_template_version: 2018-08-31
parameters:
  nfv: {type: json}
  login: {type: string, default: a}
conditions:
  large: {equals: [{get_param: login}, a]}
resources:
  net: {type: 'OS::Neutron::Net'}
  group:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 3
      desired_capacity: {get_param: [nfv, VDU, node, desired_capacity]}
      resource: {type: node.yaml, properties: {image: {get_param: [nfv, VDU, node, image]}, net: {get_resource: net}}}
  gate:
    type: OS::Nova::Server
    properties:
      image: {get_param: [nfv, VDU, gate, image]}
      flavor: {if: [large, big, small]}
      networks: [{port: {get_resource: gate_CP}}]
      user_data: {get_resource: setup}
  gate_CP: {type: 'OS::Neutron::Port', properties: {network: {get_resource: net}}}
  gate_address: {type: 'OS::Neutron::FloatingIP', properties: {port_id: {get_resource: gate_CP}, floating_network: public}}
  gate_data: {type: 'OS::Cinder::Volume', properties: {size: 1}}
  gate_attachment: {type: 'OS::Cinder::VolumeAttachment', properties: {instance_uuid: {get_resource: gate}, volume_id: {get_resource: gate_data}}}
  setup: {type: 'OS::Heat::CloudConfig', properties: {cloud_config: {user: {get_param: login}}}}
`
	node = `heat_template_version: 2018-08-31
parameters:
  image: {type: string}
  net: {type: string}
resources:
  node:
    type: OS::Nova::Server
    properties: {image: {get_param: image}, networks: [{port: {get_resource: node_CP}}]}
  node_CP: {type: 'OS::Neutron::Port', properties: {network: x}}
  data: {type: 'OS::Cinder::Volume', properties: {size: 1, image: {get_param: image}}}
`
)

func parsed(t *testing.T, top string, files map[string]string) *hot.Template {
	t.Helper()
	out, err := hot.Parse(top, files)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func nfvOf(image string) map[string]any {
	of := map[string]any{"image": image, "desired_capacity": 2}
	return map[string]any{"nfv": map[string]any{"VDU": map[string]any{"node": of, "gate": of}}}
}

// TestEffects compares two templates with their parameters.
func TestEffects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		top, nested []string // replacements
		image       string
		login       string
		want        []string
	}{
		"equal":               {image: "one"},
		"size":                {top: []string{"max_size: 3", "max_size: 4"}, image: "one"},
		"image":               {image: "two", want: []string{"rebuild gate: image", "replace group/data: image", "rebuild group/node: image"}},
		"policy":              {nested: []string{"networks:", "image_update_policy: REPLACE, networks:"}, image: "two", want: []string{"rebuild gate: image", "replace group/data: image", "replace group/node: image"}},
		"flavor by condition": {top: []string{"equals: [{get_param: login}, a]", "equals: [{get_param: login}, b]"}, image: "one", want: []string{"update gate: flavor"}},
		"configuration":       {image: "one", login: "b", want: []string{"replace gate: flavor user_data", "update gate_attachment: instance_uuid", "replace setup: cloud_config"}},
		"network":             {nested: []string{"network: x", "network: y"}, image: "one", want: []string{"update group/node: networks", "replace group/node_CP: network"}},
		"volume removed":      {nested: []string{"  data:", "  #"}, image: "one", want: []string{"remove group/data:"}},
		"server removed":      {top: []string{"  gate:\n    type: OS::Nova::Server", "  port:\n    type: OS::Neutron::Port"}, image: "one", want: []string{"remove gate:", "add port:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := parsed(t, oneServer, map[string]string{"node.yaml": node})
			to := parsed(t, strings.NewReplacer(c.top...).Replace(oneServer), map[string]string{"node.yaml": strings.NewReplacer(c.nested...).Replace(node)})
			parameters := nfvOf(c.image)
			if c.login != "" {
				parameters["login"] = c.login
			}
			var got []string
			for _, e := range to.Effects(parameters, from, nfvOf("one")) {
				line := []string{"update", "rebuild", "replace", "remove", "add"}[e.Action] + " " + strings.Join(e.Path, "/") + ":"
				for _, p := range e.Properties {
					line += " " + p.Name
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTransition takes one server of the next template, which brings along what belongs to it.
func TestTransition(t *testing.T) {
	t.Parallel()
	from := parsed(t, oneServer, map[string]string{"node.yaml": node})
	to := parsed(t, strings.NewReplacer("floating_network: public", "floating_network: other", "OS::Neutron::Net'}", "OS::Neutron::Net', properties: {name: n}}",
		"  setup:", "  more: {type: 'OS::Neutron::SecurityGroup', condition: large}\n  setup:").Replace(oneServer),
		map[string]string{"node.yaml": strings.ReplaceAll(node, "size: 1", "size: 2")})
	to.DistinctFiles(from.Files())
	middle, err := hot.Transition{From: from, To: to, Taken: []string{"gate"}, Evaluated: []string{"group"}, Sizes: map[string]int{"group": 4}, Kept: []string{"login"}}.Template()
	if err != nil {
		t.Fatal(err)
	}
	if middle = parsed(t, middle.Text(), middle.Files()); !middle.InTransition() || from.InTransition() || to.InTransition() {
		t.Error("a template is taken for one between two others, or one between for another")
	}
	got := cut(middle.Differences(from.Text(), from.Files()))
	want := []string{"parameters.nfv__next", "conditions.large__next", "resources.gate", "resources.gate_address", "resources.group",
		"resources.more", "resources.vnfkit_member_group", "node-"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"get_param: [nfv__next, VDU, node, image]", "if: [large__next, big, small]", "condition: large__next", "floating_network: other", "max_size: 4"} {
		if !strings.Contains(middle.Text(), text) {
			t.Errorf("the template lacks %q:\n%s", text, middle.Text())
		}
	}
	if !middle.Defines("net", from) || middle.Defines("net", to) {
		t.Error("the network, which servers share, is not that of the first template")
	}
	dropped, err := hot.Transition{From: from, To: parsed(t, strings.NewReplacer("gate", "other").Replace(oneServer), map[string]string{"node.yaml": node}),
		Dropped: []string{"gate"}, Withheld: []string{"other"}}.Template()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range dropped.Resources() {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{"net", "group", "setup"}, names); diff != "" {
		t.Error(diff)
	}
}

// cut cuts names of files off before the digest.
func cut(names []string) (out []string) {
	for _, n := range names {
		if at := strings.Index(n, "node-"); at >= 0 {
			n = n[:at+len("node-")]
		}
		out = append(out, n)
	}
	return out
}

// TestDistinctNames: two packages with equal names of files and configurations can be in one stack.
func TestDistinctNames(t *testing.T) {
	t.Parallel()
	from := parsed(t, oneServer, map[string]string{"node.yaml": node})
	next := func() *hot.Template {
		return parsed(t, strings.ReplaceAll(oneServer, "user:", "name:"), map[string]string{"node.yaml": strings.ReplaceAll(node, "size: 1", "size: 2")})
	}
	to := next()
	to.DistinctConfigs(nfvOf("one"), from, nfvOf("one"))
	to.DistinctFiles(from.Files())
	var config string
	for _, r := range to.Resources() {
		if strings.HasPrefix(r.Name, "setup") {
			config = r.Name
		}
	}
	if len(config) != len("setup-")+12 || !strings.Contains(to.Text(), "user_data: {get_resource: "+config+"}") || len(to.Files()) != 1 || to.Files()["node.yaml"] != "" {
		t.Errorf("%s\n%v", to.Text(), to.Files())
	}
	again := next() // a later operation
	again.KeepConfigNames(to)
	again.DistinctFiles(to.Files())
	if diff := again.Differences(to.Text(), to.Files()); len(diff) > 0 {
		t.Errorf("differences %q", diff)
	}
	back := parsed(t, oneServer, map[string]string{"node.yaml": node})
	back.DistinctConfigs(nfvOf("one"), to, nfvOf("one"))
	back.DistinctFiles(map[string]string{"node.yaml": node})
	if diff := back.Differences(oneServer, map[string]string{"node.yaml": node}); len(diff) > 0 {
		t.Errorf("differences %q", diff)
	}
}
