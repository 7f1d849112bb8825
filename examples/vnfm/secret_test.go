package main

import (
	"bytes"
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// configFile writes a configuration file.
func configFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "vnfm.yaml")
	must(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// TestSecrets gives every secret of the configuration as a file and as an environment variable. Kubernetes mounts secrets with the newline
// that their authors left at the end.
func TestSecrets(t *testing.T) {
	key := strings.Repeat("k", 31) + "\n"
	t.Setenv("VNFM_TEST_KEY", base64.StdEncoding.EncodeToString([]byte(key)))
	t.Setenv("VNFM_TEST_SECRET", "canary\n")
	file := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(file, []byte("canary\r\n"), 0o600))
	for form, want := range map[string]string{"{file: " + file + "}": "canary", "{env: VNFM_TEST_SECRET}": "canary\n", "canary": "canary"} {
		c, err := readConfig([]string{"-config", configFile(t, `
packages: p
data: d
key: {env: VNFM_TEST_KEY}
postgres: `+form+`
tls: {certificate: c, key: {env: VNFM_TEST_SECRET}}
keystone: {auth_url: 'https://k/v3', user: u, project: service, password: `+form+`, roles: {member: operator}}
vims:
- id: cloud
  type: openstack
  interface_info: {endpoint: 'https://cloud.example/v3', keys: [plain, `+form+`]}
  access_info: {username: u, password: `+form+`, nested: {inner: {deep: `+form+`, number: 7}}}
`)})
		must(t, err)
		if got, err := c.Key.sealingKey(); string(got) != key || err != nil {
			t.Errorf("the key is %q, %v", got, err)
		}
		postgres, err1 := c.Postgres.read()
		account, err2 := c.Keystone.account()
		if err1 != nil || err2 != nil {
			t.Errorf("%v, %v", err1, err2)
		}
		at, access := c.VIMs[0].InterfaceInfo, c.VIMs[0].AccessInfo
		if diff := cmp.Diff([]any{want, want, []any{"plain", want}, want, map[string]any{"inner": map[string]any{"deep": want, "number": 7}}},
			[]any{postgres.Reveal(), account.Password.Reveal(), at["keys"], access["password"], access["nested"]}); diff != "" {
			t.Errorf("%s:\n%s", form, diff)
		}
	}
}

// TestChangedPassword checks that the password of Keystone is read at each login.
func TestChangedPassword(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	k := keystoneConfig{User: "vnfm", Project: "service", Password: secret{File: file}}
	for _, password := range []string{"first", "second"} {
		must(t, os.WriteFile(file, []byte(password+"\n"), 0o600))
		if account, err := k.account(); err != nil || account.Password.Reveal() != password {
			t.Errorf("%s: %q, %v", password, account.Password.Reveal(), err)
		}
	}
	must(t, os.Remove(file))
	if _, err := k.account(); err == nil || !strings.Contains(err.Error(), "keystone.password: open "+file) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestSecretFaults checks that all faulty secrets are reported together, by the names of their settings, and that no fault has a secret.
func TestSecretFaults(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	must(t, os.WriteFile(empty, []byte("\n"), 0o600))
	_, err := readConfig([]string{"-config", configFile(t, `
packages: p
data: d
key: {env: PATH}
postgres: {env: VNFM_TEST_MISSING}
tls: {certificate: c, key: {value: canary}}
keystone: {auth_url: 'https://k/v3', user: u, project: service, password: [canary], roles: {member: operator}}
vims:
- {id: a, type: openstack, access_info: {password: {file: `+empty+`}, token: {file: canary, env: canary}}}
- {id: b, type: openstack, access_info: {hosts: [x, {password: {file: /nonexistent/password}}]}}
- {id: c, type: openstack, access_info: {password: {env: 7}}}
`)})
	if err == nil {
		t.Fatal("the configuration was accepted")
	}
	for _, want := range []string{
		"key: the environment variable PATH must have 32 bytes in base64",
		"postgres: the environment variable VNFM_TEST_MISSING is not set, or empty",
		"tls.key: must be a text, {file: NAME} or {env: NAME}",
		"keystone.password: must be a text, {file: NAME} or {env: NAME}",
		"vims[0].access_info.password: the file " + empty + " is empty",
		"vims[0].access_info.token: must be a text, {file: NAME} or {env: NAME}",
		"vims[1].access_info.hosts[1].password: open /nonexistent/password: ",
		"vims[2].access_info.password: must be a text, {file: NAME} or {env: NAME}",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	_, notMap := readConfig([]string{"-config", configFile(t, "vims: [{id: a, access_info: canary}, {id: b, interface_info: [canary]}]")})
	if notMap == nil || strings.Count(notMap.Error(), "must be maps") != 2 {
		t.Errorf("not maps: %v", notMap)
	}
	if text := err.Error() + notMap.Error(); strings.Contains(text, "canary") || strings.Contains(text, os.Getenv("PATH")) {
		t.Errorf("a secret is in the faults:\n%s", text)
	}
}

// TestReadableSecret checks that the program warns of a file with a secret that every user can read.
func TestReadableSecret(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte("canary"), 0o600))
	must(t, os.Chmod(file, 0o644)) //nolint:gosec // the mode that is warned of
	c, err := readConfig([]string{"-sandbox", "-config", configFile(t, "vims: [{id: a, type: openstack, access_info: {password: {file: "+file+"}}}]")})
	must(t, err)
	c.Data = t.TempDir()
	var log bytes.Buffer
	v := &vnfm{config: c, log: slog.New(slog.NewTextHandler(&log, nil))}
	if _, err := v.key(t.Context()); err != nil || !strings.Contains(log.String(), "chmod o-rwx "+file) || strings.Contains(log.String(), "canary") {
		t.Errorf("%v\n%s", err, log.String())
	}
}
