package vnflcm_test

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestInstanceIsSOL003 holds what an instance shows against ETSI's own schema (TST010 v2.6.1).
func TestInstanceIsSOL003(t *testing.T) {
	t.Parallel()
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS is not set: no schemas to read")
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(corpus, "sol003", "tst010-2.6.1-schemas", "VNFLifecycleManagement-API", "schemas", "vnfInstance.schema.json"))
	must(t, err)
	x := newToys(t, nil)
	id := x.create()
	x.world.machines[id] = []vnflcm.VNFC{{ID: "master-0", ResourceID: "vm-master-0-0", VDU: "master", Zone: "nova", StorageIDs: []string{"s"},
		CPs: []vnflcm.ConnectionPoint{{CPD: "master_cp", ResourceID: "port", MAC: "fa:16:3e:00:00:01", Fixed: []netip.Addr{netip.MustParseAddr("10.0.0.5")}}}}}
	links := link("a", "net-a", "master_cp")
	links[0].ExtLinkPorts = []vnflcm.ExtLinkPortData{{ID: "p", ResourceHandle: vnflcm.ResourceHandle{ResourceID: "port-1"}}}
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", ExtVirtualLinks: links,
		ExtManagedVirtualLinks: []vnflcm.ExtManagedVirtualLinkData{{ID: "m", VnfVirtualLinkDescID: "internal", ResourceID: "net-m"}}})
	x.wait(opID, err, vnflcm.Completed)
	text, err := json.Marshal(x.get(id))
	must(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must(t, err)
	if err := schema.Validate(document); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
