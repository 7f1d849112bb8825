package packages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// heatTemplate has the parts of a Heat template that the tests read.
type heatTemplate struct {
	Resources map[string]struct {
		Type       string
		Properties struct {
			Rules          []securityRule
			CloudConfig    map[string]any `yaml:"cloud_config"`
			Policies       []string
			SchedulerHints map[string]any `yaml:"scheduler_hints"`
			UserData       any            `yaml:"user_data"`
			UserDataPolicy string         `yaml:"user_data_update_policy"`
			SecurityGroups any            `yaml:"security_groups"`
		}
	}
}

type securityRule struct {
	Protocol string
	First    int    `yaml:"port_range_min"`
	Last     int    `yaml:"port_range_max"`
	Remote   string `yaml:"remote_mode"`
	Group    struct {
		Name string `yaml:"get_resource"`
	} `yaml:"remote_group_id"`
}

func (r securityRule) String() string {
	from := "anywhere"
	if r.Remote != "" {
		from = "the same group"
	}
	if r.Group.Name != "" {
		from = r.Group.Name
	}
	return fmt.Sprintf("%s %d-%d from %s", r.Protocol, r.First, r.Last, from)
}

func readHeat(t *testing.T, path ...string) (out heatTemplate) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSecurityGroups compares the templates with the ports that docs/kubeadm.md lists.
func TestSecurityGroups(t *testing.T) {
	everywhere := []string{"tcp 22-22 from anywhere", "tcp 10250-10250 from the same group", "udp 8472-8472 from the same group"}
	for flavour, controlPlane := range map[string][]string{
		"simple": {"tcp 6443-6443 from anywhere"},
		"complex": {"tcp 16443-16443 from anywhere", "tcp 6443-6443 from node_ports", "tcp 2379-2380 from the same group",
			"112 0-0 from the same group"},
	} {
		top := readHeat(t, k8s, "BaseHOT", flavour, flavour+"_hot_top.yaml")
		for group, want := range map[string][]string{"node_ports": everywhere, "control_plane_ports": controlPlane} {
			var got []string
			for _, r := range top.Resources[group].Properties.Rules {
				got = append(got, r.String())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", flavour, group, diff)
			}
		}
	}
}

// TestMachines checks that cloud-init sets up every machine of the templates, that every machine has security groups, and that several
// control-plane nodes are on different hosts.
func TestMachines(t *testing.T) {
	for _, flavour := range []string{"simple", "complex"} {
		top := readHeat(t, k8s, "BaseHOT", flavour, flavour+"_hot_top.yaml")
		if setup := top.Resources["machine_setup"].Properties.CloudConfig; setup["manage_etc_hosts"] != false || setup["users"] == nil {
			t.Errorf("%s: cloud-init gets %v", flavour, setup)
		}
		for _, kind := range []string{"master", "worker"} {
			nested := readHeat(t, k8s, "BaseHOT", flavour, "nested", flavour+"_nested_"+kind+".yaml")
			for name, r := range nested.Resources {
				p := r.Properties
				if r.Type == "OS::Nova::Server" && (p.UserData == nil || p.UserDataPolicy != "IGNORE") ||
					r.Type == "OS::Neutron::Port" && p.SecurityGroups == nil {
					t.Errorf("%s, %s: %+v", flavour, name, p)
				}
				if apart := p.SchedulerHints["group"] != nil; r.Type == "OS::Nova::Server" && apart != (flavour == "complex" && kind == "master") {
					t.Errorf("%s, %s: server group %v", flavour, name, p.SchedulerHints)
				}
			}
		}
		if policies := top.Resources["control_plane_hosts"].Properties.Policies; flavour == "complex" && !slices.Equal(policies, []string{"soft-anti-affinity"}) {
			t.Errorf("server group with policies %q", policies)
		}
	}
}
