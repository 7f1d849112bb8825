package vnflcm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestGrantOfBothVersions reads the VIM connections of a grant in the forms of SOL003 v2.6.1 and v3.3.1.
func TestGrantOfBothVersions(t *testing.T) {
	t.Parallel()
	want := vnflcm.VimConnections{{ID: "c", VimID: "v", VimType: "toy", AccessInfo: params(t, `{"password":"p"}`)}}
	for name, text := range map[string]string{
		"2.6.1": `{"id":"g","vimConnections":[{"id":"c","vimId":"v","vimType":"toy","accessInfo":{"password":"p"}}]}`,
		"3.3.1": `{"id":"g","vimConnectionInfo":{"c":{"vimId":"v","vimType":"toy","accessInfo":{"password":"p"}}}}`,
	} {
		var grant vnflcm.Grant
		must(t, json.Unmarshal([]byte(text), &grant))
		if diff := cmp.Diff(vnflcm.Grant{ID: "g", VimConnectionInfo: want}, grant); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
