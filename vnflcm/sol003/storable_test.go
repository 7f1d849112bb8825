package sol003_test

import (
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

// TestUnstorableTextPostgres checks that a text that the database refuses leads to the error of an invalid request or of an unknown
// resource.
func TestUnstorableTextPostgres(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), pgtest.Start(t).NewDatabase(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	x := newVNFM(t, func(cfg *vnflcm.Config) { cfg.Store = store }, sol003.Options{})
	for _, text := range []string{"%00", "a%ffb", "%ed%a0%80", strings.Repeat("x", 3000)} {
		for _, api := range versions {
			base := "/vnflcm/" + api
			x.send("GET", base+"/vnf_instances/"+text, "", 404)
			x.send("DELETE", base+"/vnf_instances/"+text, "", 404)
			x.send("PATCH", base+"/vnf_instances/"+text, `{"vnfInstanceName":"x"}`, 404)
			x.send("POST", base+"/vnf_instances/"+text+"/instantiate", `{"flavourId":"simple"}`, 404)
			x.send("POST", base+"/vnf_instances/"+text+"/heal", `{}`, 404)
			x.send("GET", base+"/vnf_lcm_op_occs/"+text, "", 404)
			x.send("POST", base+"/vnf_lcm_op_occs/"+text+"/retry", "", 404)
			x.send("POST", base+"/vnf_lcm_op_occs/"+text+"/cancel", `{"cancelMode":"FORCEFUL"}`, 404)
			x.send("GET", base+"/vnf_instances?filter=(eq,vnfdId,"+text+")", "", 200)
			x.send("GET", base+"/vnf_instances?filter=(eq,instantiationState,"+text+")", "", 200)
			x.send("GET", base+"/vnf_lcm_op_occs?filter=(eq,vnfInstanceId,"+text+")", "", 200)
			x.send("GET", base+"/vnf_lcm_op_occs?filter=(in,operation,"+text+",HEAL)", "", 200)
			x.send("GET", base+"/vnf_instances?nextpage_opaque_marker="+text, "", 400)
		}
		x.send("POST", "/preview/v1/vnf_instances/"+text+"/heal", `{}`, 404)
	}
	for _, text := range []string{`a\u0000b`, strings.Repeat("x", 3000)} {
		x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+text+`"}`, 422)
	}
}
