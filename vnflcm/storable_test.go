package vnflcm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestUnstorableText: text that databases refuse ends the operation instead of being tried again for ever, and is not found.
func TestUnstorableText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"NUL": "a\x00b", "no UTF-8": "a\xffb", "long": strings.Repeat("x", 3000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			x.watch(func(op *vnflcm.Operation) {
				if op.Phase() != "instantiate_end" {
					return
				}
				if err := op.State().Put(t.Context(), "hostkey/"+text, "key"); err == nil {
					t.Error("the state was stored")
				} else if strings.Contains(err.Error(), "\x00") || len(err.Error()) > 500 {
					t.Errorf("the error quotes the text: %q", err)
				}
			})
			x.instantiated("plain")
			_, err := x.Get(t.Context(), text)
			wantIs(t, err, vnflcm.ErrNotFound)
			page, err := x.Instances(t.Context(), vnflcm.InstanceQuery{VnfdID: text})
			if err != nil || len(page.Items) > 0 {
				t.Errorf("%d instances, %v", len(page.Items), err)
			}
			_, err = x.Operation(context.Background(), text)
			wantIs(t, err, vnflcm.ErrNotFound)
		})
	}
}
