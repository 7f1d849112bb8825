package vnflcm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestTerminateClusterInUse checks that a graceful termination of a cluster with VNFs on it is refused unless the request explicitly
// allows it.
func TestTerminateClusterInUse(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	tenants := map[string]string{} // by instance
	create := func(tenant string) string {
		inst, err := s.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: toyVNFD, Tenant: tenant})
		must(t, err)
		tenants[inst.ID] = tenant
		return inst.ID
	}
	cluster := create("a")
	_, _ = s.instantiate(cluster, "plain", vnflcm.Completed)
	s.share(vimOf(cluster), "a", &vnflcm.Share{All: true})
	free := create("a")
	_, _ = s.instantiate(free, "plain", vnflcm.Completed)
	var users []string
	for _, tenant := range []string{"a", "b", "", "a"} {
		id := create(tenant)
		opID, err := s.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: vimOf(cluster)}}})
		s.wait(opID, err, vnflcm.Completed)
		users = append(users, id)
	}
	request := func(kind vnflcm.TerminationType, given string) vnflcm.TerminateVnfRequest {
		return vnflcm.TerminateVnfRequest{TerminationType: kind, AdditionalParams: params(t, given)}
	}
	for name, c := range map[string]struct {
		instance string
		request  any
		refused  bool
	}{
		"graceful":                        {cluster, request(vnflcm.TerminateGraceful, `{}`), true},
		"graceful, not with them":         {cluster, request(vnflcm.TerminateGraceful, `{"with_cnfs":false}`), true},
		"graceful, with them":             {cluster, request(vnflcm.TerminateGraceful, `{"with_cnfs":"true"}`), false},
		"forceful":                        {cluster, request(vnflcm.TerminateForceful, `{}`), false},
		"forceful stop":                   {cluster, stop, false},
		"graceful stop":                   {cluster, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped, StopType: vnflcm.StopGraceful, GracefulStopTimeout: 9}, true},
		"a cluster without VNFs":          {free, request(vnflcm.TerminateGraceful, `{}`), false},
		"a VNF that is no cluster":        {users[0], request(vnflcm.TerminateGraceful, `{}`), false},
		"an attribute that is no boolean": {cluster, request(vnflcm.TerminateForceful, `{"with_cnfs":"maybe"}`), true},
	} {
		got, err := s.Preview(t.Context(), c.instance, c.request)
		if c.refused {
			if diff := cmp.Diff([]string{"additionalParams.with_cnfs"}, faults(err)); diff != "" {
				t.Errorf("%s: error %v\n%s", name, err, diff)
			}
			continue
		}
		must(t, err)
		var want []string
		if others := 0; c.instance == cluster {
			want, others = slices.Sorted(slices.Values([]string{users[0], users[3]})), 2
			if got.OtherCNFs != others || !strings.Contains(got.String(), users[3]) {
				t.Errorf("%s: %d other VNFs\n%s", name, got.OtherCNFs, got)
			}
		}
		if diff := cmp.Diff(want, got.CNFs); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	_, err := s.Terminate(t.Context(), cluster, request(vnflcm.TerminateGraceful, `{}`))
	for id, tenant := range tenants {
		if shown := strings.Contains(fmt.Sprint(err), id); shown != (tenant == "a" && id != cluster && id != free) {
			t.Errorf("tenant %q, instance %s: %v", tenant, id, err)
		}
	}
	if !strings.Contains(fmt.Sprint(err), "2 VNF instances of other tenants") {
		t.Errorf("error %v", err)
	}
	var unknown []string
	s.watch(func(op *vnflcm.Operation) {
		var none struct{}
		unknown, _ = op.Params.Decode(&none)
		must(t, op.RemoveVIM(t.Context(), vimOf(op.InstanceID)))
	})
	opID, err := s.Terminate(t.Context(), cluster, request(vnflcm.TerminateGraceful, `{"with_cnfs":true,"other":1}`))
	s.wait(opID, err, vnflcm.Completed)
	if diff := cmp.Diff([]string{"other"}, unknown); diff != "" {
		t.Errorf("attributes that drivers see:\n%s", diff)
	}
	for _, user := range users {
		if !strings.Contains(s.log.String(), user) {
			t.Errorf("the log does not name %s:\n%s", user, s.log)
		}
	}
}
