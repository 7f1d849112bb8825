package vnflcm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestVIMTypeNames uses different names for the same type in requests, registered entries and drivers.
func TestVIMTypeNames(t *testing.T) {
	t.Parallel()
	const helm = "ETSINFV.HELM.V_3"
	for _, c := range []struct {
		driver, entry, request string
		want                   string // name that the driver gets; "": the request is refused
	}{
		{"kubernetes", "kubernetes", "ETSINFV.KUBERNETES.V_1", "ETSINFV.KUBERNETES.V_1"},
		{"ETSINFV.KUBERNETES.V_1", "kubernetes", "ETSINFV.KUBERNETES.V_1", "ETSINFV.KUBERNETES.V_1"},
		{"ETSINFV.KUBERNETES.V_1", "ETSINFV.KUBERNETES.V_1", "kubernetes", "kubernetes"},
		{"ETSINFV.KUBERNETES.V_1", "kubernetes", "", "kubernetes"},
		{"openstack", "openstack", "ETSINFV.OPENSTACK_KEYSTONE.V_3", "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
		{"ETSINFV.OPENSTACK_KEYSTONE.V_3", "openstack", "ETSINFV.OPENSTACK_KEYSTONE.V_2", "ETSINFV.OPENSTACK_KEYSTONE.V_2"},
		{"openstack", "ETSINFV.OPENSTACK_KEYSTONE.V_2", "openstack", "openstack"},
		{helm, "ETSINFV.KUBERNETES.V_1", helm, helm},
		{"openstack", "openstack", "kubernetes", ""},
		{"kubernetes", "openstack", "ETSINFV.KUBERNETES.V_1", ""},
		{"openstack", "kubernetes", "", ""},
		{"kubernetes", "kubernetes", "Kubernetes", ""},
	} {
		t.Run(c.driver+" "+c.entry+" "+c.request, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Infra = map[string]vnflcm.InfraDriver{"toy": cfg.Infra["toy"], c.driver: cfg.Infra["toy"]}
			})
			must(t, x.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: "named", VimType: c.entry, Extra: params(t, `{"use_helm":true}`)}))
			var got []string
			x.watch(func(op *vnflcm.Operation) { got = append(got, op.VIM.VimType) })
			id := x.create()
			request := vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{{ID: "c", VimID: "named", VimType: c.request}}}
			_, preview := x.Preview(t.Context(), id, request)
			opID, err := x.Instantiate(t.Context(), id, request)
			if c.want == "" {
				if diff := cmp.Diff([][]string{{"vimConnectionInfo[0].vimType"}, {"vimConnectionInfo[0].vimType"}}, [][]string{faults(preview), faults(err)}); diff != "" {
					t.Errorf("%v, %v\n%s", preview, err, diff)
				}
				return
			}
			must(t, preview)
			x.wait(opID, err, vnflcm.Completed)
			names := vnflcm.VIMTypeNames(c.want)
			patch := vnflcm.VimConnections{{ID: "c", VimType: names[len(names)-1], AccessInfo: params(t, `{"region":"r"}`)}}
			opID, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VimConnectionInfo: patch}, "")
			x.wait(opID, err, vnflcm.Completed)
			opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
			x.wait(opID, err, vnflcm.Completed)
			opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
			x.wait(opID, err, vnflcm.Completed)
			if len(got) == 0 {
				t.Error("the driver saw nothing")
			}
			for _, name := range got {
				if name != c.want {
					t.Errorf("the driver saw the type %s", name)
				}
			}
		})
	}
}

// TestDefaultVIMUnderAllNames checks that a tenant has one default VIM per type, whichever name the entry and the drivers use.
func TestDefaultVIMUnderAllNames(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) {
		toy := cfg.Infra["toy"]
		cfg.Infra = map[string]vnflcm.InfraDriver{"openstack": toy, "ETSINFV.OPENSTACK_KEYSTONE.V_3": toy}
	})
	v, ctx := x.VIMs(), t.Context()
	for vimID, name := range map[string]string{"one": "openstack", "two": "ETSINFV.OPENSTACK_KEYSTONE.V_3"} {
		must(t, v.Put(ctx, vnflcm.VimConnectionInfo{VimID: vimID, VimType: name}))
	}
	var got []string
	x.watch(func(op *vnflcm.Operation) { got = append(got, op.VIM.VimID+" "+op.VIM.VimType) })
	want := []string{}
	for _, vimID := range []string{"one", "two", "one"} {
		must(t, v.SetDefault(ctx, "", vimID))
		for _, name := range vnflcm.VIMTypeNames("openstack") {
			found, err := v.Default(ctx, "a", name)
			must(t, err)
			if found.VimID != vimID {
				t.Errorf("the default of the type %s is %s, want %s", name, found.VimID, vimID)
			}
		}
		opID, err := x.Instantiate(ctx, x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		x.wait(opID, err, vnflcm.Completed)
		want = append(want, vimID+" "+map[string]string{"one": "openstack", "two": "ETSINFV.OPENSTACK_KEYSTONE.V_3"}[vimID])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
