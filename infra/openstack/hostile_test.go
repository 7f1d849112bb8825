package openstack_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestHostileParameters checks that a text of a request is only the value of a stack parameter: it changes neither templates nor files,
// and a template function in it stays a text.
func TestHostileParameters(t *testing.T) {
	t.Parallel()
	type sent struct{ template, files, login any }
	send := func(t *testing.T, text string) (sent, error) {
		t.Helper()
		l := newLab(t, "openstack")
		params, err := json.Marshal(map[string]any{"login_user": text, "login_password_hash": text})
		if err != nil {
			t.Fatal(err)
		}
		opID, err := l.Instantiate(t.Context(), l.id, l.request(string(params)))
		if err == nil {
			_, err = l.Wait(t.Context(), opID)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		s := l.stacks[openstack.StackName(l.id)]
		if err != nil || s == nil {
			return sent{}, err
		}
		return sent{s.template, s.files, s.params["login_user"]}, nil
	}
	tame, err := send(t, "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`$(touch /pwned)`, "x\nresources:\n  pwned: {type: OS::Nova::Server}\n", `{ get_file: /etc/passwd }`, `{ get_param: login_password_hash }`, `"}], "template": "x`,
		"!!python/object/apply:os.system ['touch /pwned']", "../../../../pwned", "\u202etouch /pwned", `%s%n`, `'); DROP TABLE stack; --`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := send(t, text)
			if err != nil {
				if !errors.Is(err, vnflcm.ErrInvalidRequest) || len(err.Error()) > 8<<10 {
					t.Errorf("%.300v", err)
				}
				return
			}
			if got.login != text {
				t.Errorf("the parameter is %q", got.login)
			}
			if diff := cmp.Diff([]any{tame.template, tame.files}, []any{got.template, got.files}); diff != "" {
				t.Errorf("the template or its files have changed:\n%s", diff)
			}
		})
	}
}
