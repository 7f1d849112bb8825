package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// inZones are values that some templates ask for and the user data of their packages makes up.
const inZones = `{"nfv": {"vdu": {"VDU1": {"zone": "nova"}, "VDU2": {"zone": "nova"}}}}`

// given are the additionalParams that packages need beyond names of networks.
var given = map[string]string{
	"tacker-ut-user_data_sample_virtual_storage_missing/simple": inZones,
	"tacker-ut-user_data_sample_normal_scaling/simple":          inZones,
	"tacker-ut-stack_update_in_scale/simple":                    inZones,
	"tacker-ut-stack_update_in_heal/simple":                     inZones,
	"tacker-ut-functional6/simple":                              inZones,
	"tacker-ut-functional5/simple":                              inZones,
	"tacker-ut-functional4/simple":                              inZones,
	"tacker-ut-functional3/simple":                              inZones,
	"tacker-ut-functional2/simple":                              inZones,
	"tacker-s-practical_vnf_package/ha":                         `{"security_group": "vnfkit"}`,
	"tacker-s-practical_vnf_package/scalable":                   `{"security_group": "vnfkit"}`,
}

// refused are the flavours of packages that are not accepted as they are.
var refused = map[string]string{ // made wrong by its author
	"tacker-ut-user_data_sample_basehot_invalid/simple": "Property error: resources.VDU1.properties: Property flavor not assigned",
}

// TestPackagesOfOthers takes the packages of the corpus as far as a request that Heat says it would accept.
func TestPackagesOfOthers(t *testing.T) {
	o := needCloud(t)
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS is not set: no corpus of packages to read")
	}
	dirs, err := filepath.Glob(filepath.Join(corpus, "tosca", "pkg", "*", "BaseHOT"))
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	got, accepted := map[string]string{}, 0
	for _, dir := range dirs {
		pkg, err := tosca.Open(t.Context(), filepath.Dir(dir))
		must(t, err)
		for i := range pkg.VNFD().Flavours {
			f := &pkg.VNFD().Flavours[i]
			name := filepath.Base(filepath.Dir(dir)) + "/" + f.ID
			if outcome := o.outcome(t, pkg, f, given[name]); outcome != "" {
				got[name] = outcome
				continue
			}
			accepted++
		}
		must(t, pkg.Close())
	}
	t.Logf("%d flavours of %d packages: %d are accepted", accepted+len(got), len(dirs), accepted)
	if diff := cmp.Diff(refused, got); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// outcome is what becomes of a flavour, empty when Heat accepts it.
func (o *openStack) outcome(t *testing.T, pkg *tosca.Package, f *tosca.Flavour, params string) string {
	t.Helper()
	def, err := o.definition(t, pkg, f, params)
	if err == nil {
		err = o.preview(t, def)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// definition is what the driver would make a stack from.
func (o *openStack) definition(t *testing.T, pkg *tosca.Package, f *tosca.Flavour, params string) (openstack.Definition, error) {
	t.Helper()
	o.addAssets(t, f)
	template, err := hot.Load(pkg, f.ID)
	if err != nil {
		return openstack.Definition{}, err
	}
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{ID: "op", InstanceID: "preview", Kind: vnflcm.OpInstantiate, Package: pkg, Flavour: f,
		Connectivity: o.connections(t, template)}}
	if params != "" {
		op.Params, err = vnflcm.ParseParams([]byte(params))
	}
	must(t, err)
	def, err := openstack.DefaultUserData(t.Context(), openstack.UserDataRequest{Op: op, Template: template})
	if err == nil || !strings.Contains(err.Error(), "the user data class StandardUserData") { // the remedy
		return def, err
	}
	if template, err = hot.Load(pkg, f.ID); err != nil {
		return openstack.Definition{}, err
	}
	return openstack.StandardUserData(t.Context(), openstack.UserDataRequest{Op: op, Template: template})
}

// preview asks Heat what it would make, which Heat checks as it does before it makes a stack.
func (o *openStack) preview(t *testing.T, def openstack.Definition) error {
	t.Helper()
	api := o.cloud.Orchestration
	_, err := api.Request(t.Context(), http.MethodPost, api.ServiceURL("stacks", "preview"), &gophercloud.RequestOpts{ //nolint:bodyclose // gophercloud closes it
		OkCodes: []int{http.StatusOK}, JSONBody: map[string]any{"stack_name": "preview", "template": def.Template.Text(),
			"files": def.Template.Files(), "parameters": def.Parameters}})
	var code gophercloud.ErrUnexpectedResponseCode
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if errors.As(err, &code) && json.Unmarshal(code.Body, &body) == nil {
		return errors.New(body.Error.Message)
	}
	return err
}

// addAssets makes the flavors and images that the VNFD names.
func (o *openStack) addAssets(t *testing.T, f *tosca.Flavour) {
	t.Helper()
	var images []*tosca.SoftwareImage
	for _, v := range f.VDUs {
		images = append(images, v.Image)
		if name := v.Compute.FlavourName; name != "" {
			must(t, o.cloud.AddFlavor(t.Context(), name))
		}
	}
	for _, s := range f.Storages {
		images = append(images, s.Image)
	}
	for _, i := range images {
		if i != nil {
			must(t, o.cloud.AddImage(t.Context(), i.Name))
		}
	}
}

// connections connects all connection points that a template asks about to a network: with the addresses, subnets
// and ports that it asks for.
func (o *openStack) connections(t *testing.T, template *hot.Template) []vnflcm.ExtVirtualLinkData {
	t.Helper()
	link := vnflcm.ExtVirtualLinkData{ID: "link", ResourceID: o.networks[1]}
	addresses := map[string][]vnflcm.IPAddressData{}
	ports := map[string]string{}
	next := netip.MustParseAddr("127.61.1.10")
	for _, ref := range template.References("nfv") {
		if len(ref.Path) < 4 || ref.Path[1] != "CP" {
			continue
		}
		cpd, asked := ref.Path[2], ref.Path[3:]
		list := addresses[cpd]
		if len(asked) > 1 { // fixed_ips, 0, subnet; or subnets, 0, fixed_ip_addresses, 0
			place, err := strconv.Atoi(asked[1])
			must(t, err)
			for len(list) <= place {
				list = append(list, vnflcm.IPAddressData{Type: "IPV4", NumDynamicAddresses: 1})
			}
			if list[place].SubnetID = "net1"; asked[2] != "subnet" && list[place].FixedAddresses == nil {
				list[place].FixedAddresses, list[place].NumDynamicAddresses = []string{next.String()}, 0
				next = next.Next()
			}
		} else if asked[0] == "port" {
			port, err := o.cloud.AddPort(t.Context(), link.ResourceID)
			must(t, err)
			t.Cleanup(func() { must(t, o.cloud.DeletePort(context.WithoutCancel(t.Context()), port)) })
			link.ExtLinkPorts = append(link.ExtLinkPorts, vnflcm.ExtLinkPortData{ID: cpd, ResourceHandle: vnflcm.ResourceHandle{ResourceID: port}})
			ports[cpd] = cpd
		}
		addresses[cpd] = list
	}
	for cpd, list := range addresses {
		cp := vnflcm.VnfExtCpData{CpdID: cpd}
		if len(list) > 0 || ports[cpd] != "" {
			cp.CpConfig = []vnflcm.VnfExtCpConfig{{LinkPortID: ports[cpd], CpProtocolData: []vnflcm.CpProtocolData{
				{LayerProtocol: "IP_OVER_ETHERNET", IPOverEthernet: &vnflcm.IPOverEthernetAddressData{IPAddresses: list}}}}}
		}
		link.ExtCps = append(link.ExtCps, cp)
	}
	return []vnflcm.ExtVirtualLinkData{link}
}
