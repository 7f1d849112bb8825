package sshtest_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestLogin(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{User: "admin", Password: "p"})
	for _, tt := range []struct {
		user, password string
		ok             bool
	}{{"admin", "p", true}, {"admin", "q", false}, {"root", "p", false}, {"ubuntu", "ubuntu", false}} {
		if _, err := login(t, h, tt.user, tt.password); (err == nil) != tt.ok {
			t.Errorf("%s/%s: %v", tt.user, tt.password, err)
		}
	}
}
