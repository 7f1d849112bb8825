package script_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/script"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestChangePackage runs the scripts of the new package around a change, and those of the former one around a rollback. The grant request has both
// VNFDs.
func TestChangePackage(t *testing.T) {
	const oldVNFD, newVNFD = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0", "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea1"
	const hook = "            implementation: mgmt-drivers-kubernetes\n"
	changed := strings.NewReplacer("          instantiate_end:\n", "          change_current_package_start:\n"+hook+"          change_current_package_end:\n"+hook+"          instantiate_end:\n",
		"etsi_nfv_sol001_vnfd_types.yaml", "https://forge.etsi.org/rep/nfv/SOL001/raw/v3.3.1/etsi_nfv_sol001_vnfd_types.yaml",
		"etsi_nfv_sol001_common_types.yaml", "https://forge.etsi.org/rep/nfv/SOL001/raw/v3.3.1/etsi_nfv_sol001_common_types.yaml", oldVNFD, newVNFD, "version: '24.04'", "version: '26.04'")
	l := newLab(t, sampleScript(t), nil, script.Config{})
	granted := l.Process(func(c *vnflcm.Config) {
		c.Granter = vnflcm.GranterFunc(func(context.Context, vnflcm.GrantRequest) (*vnflcm.Grant, error) { return &vnflcm.Grant{ID: "g"}, nil })
	})
	l.Must(l.instantiate("nothing"))
	files := map[string]string{}
	paths, err := filepath.Glob(l.Package + "/Definitions/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files["Definitions/"+filepath.Base(path)] = changed.Replace(string(text))
	}
	l.Onboard(mgmttest.Package(t, l.Package, files))

	params, err := l.params("change_current_package_end", "fail").Merge(mgmttest.Params(t, "max_unavailable", "2"))
	if err != nil {
		t.Fatal(err)
	}
	opID, err := granted.ChangeVnfPkg(t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: params})
	l.Fails(opID, err, granted)
	l.RollBack(opID, granted)
	l.Must(granted.ChangeVnfPkg(t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: l.params("", "")}))

	var got []string
	for _, g := range l.given()[1:] {
		request := g.Said.GrantRequest
		got = append(got, fmt.Sprint(g.Said.Operation, " ", g.Said.Request["vnfdId"], " ", request["vnfdId"], " ", request["dstVnfdId"]))
	}
	both := " " + newVNFD + " " + oldVNFD + " " + newVNFD
	want := []string{"change_current_package_start" + both, "change_current_package_end" + both, "change_current_package_start" + both, "change_current_package_end" + both}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
