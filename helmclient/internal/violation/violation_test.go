package violation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient/internal/violation"
)

// TestMask has each message that quotes a value, and others. A value may look like a message.
func TestMask(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`- at '/db/password': 'CANARY' does not match pattern '^[a-z]+$'`:                                  `- at '/db/password': *** does not match pattern '^[a-z]+$'`,
		`  - at '': 'CANARY does not match pattern \'CANARY' does not match pattern '^a'`:                  `  - at '': *** does not match pattern '^a'`,
		`- at '/mail': 'CANARY' is not valid email: missing @ in CANARY`:                                   `- at '/mail': *** is not valid email`,
		`- at '/mail': 'CANARY is not valid x: \' is not valid date-time: CANARY`:                          `- at '/mail': *** is not valid date-time`,
		`- at '/pin': minimum: got 4,711, want 10,000`:                                                     `- at '/pin': minimum: got ***, want 10,000`,
		`- at '/pin': exclusiveMaximum: got 4,711, want 100`:                                               `- at '/pin': exclusiveMaximum: got ***, want 100`,
		`- at '/pin': multipleOf: got 4,711, want 2`:                                                       `- at '/pin': multipleOf: got ***, want 2`,
		`- at '/blob': value is not 'base64' encoded: CANARY`:                                              `- at '/blob': value is not 'base64' encoded`,
		`- at '/blob': value is not of mediatype 'application/json': CANARY`:                               `- at '/blob': value is not of mediatype 'application/json'`,
		"web:\n- at '/a': got string, want integer\n- at '/b': minLength: got 3, want 8\n":                 "web:\n- at '/a': got string, want integer\n- at '/b': minLength: got 3, want 8\n",
		`the chart does not match pattern 'x'`:                                                             `the chart does not match pattern 'x'`,
		"web:\n- at '/a': 'CANARY' does not match pattern 'x'\n- at '/b': 'CANARY' is not valid uri: no\n": "web:\n- at '/a': *** does not match pattern 'x'\n- at '/b': *** is not valid uri\n",
	} {
		if diff := cmp.Diff(want, violation.Mask(text)); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}
