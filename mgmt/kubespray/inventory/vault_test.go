package inventory_test

import (
	"bytes"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestEncrypt checks that equal input gives equal bytes, that different input has nothing in common, and that lines are as
// long as those of ansible-vault. e2e-kubespray opens vaults with ansible-vault.
func TestEncrypt(t *testing.T) {
	if _, err := inventory.Encrypt([]byte("a: b\n"), vnflcm.Secret{}); err == nil {
		t.Error("encrypted without a password")
	}
	seen := map[string]string{}
	for _, input := range [][2]string{{"a: b\n", "x"}, {"a: c\n", "x"}, {"a: b\n", "y"}, {"", "x"}} {
		var vaults [2][]byte
		for i := range vaults {
			var err error
			if vaults[i], err = inventory.Encrypt([]byte(input[0]), vnflcm.NewSecret(input[1])); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(vaults[0], vaults[1]) {
			t.Errorf("%q: two vaults differ", input)
		}
		lines := bytes.Split(bytes.TrimSuffix(vaults[0], []byte("\n")), []byte("\n"))
		for i, line := range lines[1:] {
			if len(line) > 80 || i < len(lines)-2 && len(line) != 80 {
				t.Errorf("%q: line %d has %d characters", input, i+2, len(line))
			}
			if other, taken := seen[string(line)]; taken {
				t.Errorf("%q and %q share a line", input, other)
			}
			seen[string(line)] = input[0] + input[1]
		}
	}
}
