package main

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// secret is a setting that is a secret: the text itself, {file: NAME} or {env: NAME}. The zero value is a setting that is not given.
type secret struct {
	text  vnflcm.Secret
	File  string `yaml:"file,omitempty"`
	Env   string `yaml:"env,omitempty"`
	fault error  // the setting has no such form; check reports it with the name of the setting
}

var errSecretForm = errors.New("must be a text, {file: NAME} or {env: NAME}")

// UnmarshalYAML implements yaml.Unmarshaler. It returns no error, because errors of package yaml quote values.
func (s *secret) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		s.text = vnflcm.NewSecret(node.Value)
		return nil
	}
	var references map[string]any
	if node.Decode(&references) != nil {
		s.fault = errSecretForm
		return nil
	}
	*s = secretAt(references)
	return nil
}

// secretAt returns the secret that a map names.
func secretAt(references map[string]any) (s secret) {
	for key, value := range references {
		name, _ := value.(string)
		switch {
		case name == "" || len(references) > 1:
			return secret{fault: errSecretForm}
		case key == "file":
			s.File = name
		case key == "env":
			s.Env = name
		default:
			return secret{fault: errSecretForm}
		}
	}
	return s
}

// isFile makes the text of a setting, which is a file name for settings that also may be {file: NAME}, the name of the file.
func (s *secret) isFile() { s.File, s.text = cmp.Or(s.File, s.text.Reveal()), vnflcm.Secret{} }

// given reports whether the configuration has the setting.
func (s secret) given() bool {
	return s.File != "" || s.Env != "" || !s.text.IsZero() || s.fault != nil
}

// read returns the secret as it is now, without newlines at the end of a file. Errors have no part of the secret.
func (s secret) read() (vnflcm.Secret, error) {
	switch {
	case s.fault != nil:
		return vnflcm.Secret{}, s.fault
	case s.File != "":
		content, err := os.ReadFile(s.File)
		text := strings.TrimRight(string(content), "\r\n")
		if err == nil && text == "" {
			err = fmt.Errorf("the file %s is empty", s.File)
		}
		return vnflcm.NewSecret(text), err
	case s.Env != "":
		text := os.Getenv(s.Env)
		if text == "" {
			return vnflcm.Secret{}, fmt.Errorf("the environment variable %s is not set, or empty", s.Env)
		}
		return vnflcm.NewSecret(text), nil
	}
	return s.text, nil
}

// keySize is the size in bytes of the key that seals the database.
const keySize = 32

// sealingKey returns the key that an environment variable has in base64.
func (s secret) sealingKey() ([]byte, error) {
	text, err := s.read()
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(text.Reveal())
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("the environment variable %s must have %d bytes in base64", s.Env, keySize)
	}
	return key, nil
}

// readOldKeys returns the keys that records may still be sealed under.
func (c *config) readOldKeys() (keys [][]byte, err error) {
	var errs []error
	for i, old := range c.OldKeys {
		key, err := old.sealingKey()
		if old.File != "" {
			key, err = os.ReadFile(old.File)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("old_keys[%d]: %w", i, err))
		}
		keys = append(keys, key)
	}
	return keys, errors.Join(errs...)
}

// checkSecrets reports every secret that cannot be read, and puts those of VIMs in their places. The files of the key and of TLS are
// opened later: the program makes a missing key.
func (c *config) checkSecrets(wrong func(is bool, setting, reason string)) {
	read := func(setting string, s secret) vnflcm.Secret {
		text, err := s.read()
		if err != nil {
			wrong(true, setting, err.Error())
		}
		if s.File != "" {
			c.secretFiles = append(c.secretFiles, s.File)
		}
		return text
	}
	read("postgres", c.Postgres)
	read("keystone.password", c.Keystone.Password)
	read("nfvo.client_secret", c.NFVO.ClientSecret)
	if c.NFVO.Key.given() {
		read("nfvo.key", c.NFVO.Key)
	}
	if c.TLS.Key.File == "" {
		read("tls.key", c.TLS.Key)
	}
	if c.Key.given() && c.Key.File == "" {
		_, err := c.Key.sealingKey()
		wrong(err != nil, "key", fmt.Sprint(err))
	}
	for _, old := range c.OldKeys {
		if old.File != "" {
			c.secretFiles = append(c.secretFiles, old.File)
		}
	}
	for i := range c.VIMs {
		at, vim := fmt.Sprintf("vims[%d]", i), &c.VIMs[i]
		vim.InterfaceInfo.readSecrets(at+".interface_info", read)
		vim.AccessInfo.readSecrets(at+".access_info", read)
	}
}

// vimInfo is the interface_info or the access_info of a VIM. Any of its values may be {file: NAME} or {env: NAME}.
type vimInfo map[string]any

// UnmarshalYAML implements yaml.Unmarshaler. Its error quotes no value, other than that of package yaml.
func (v *vimInfo) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: interface_info and access_info must be maps", node.Line)}}
	}
	return node.Decode((*map[string]any)(v))
}

// readSecrets puts secrets in the places of {file: NAME} and {env: NAME}.
func (v vimInfo) readSecrets(setting string, read func(setting string, s secret) vnflcm.Secret) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		v[key] = withSecrets(setting+"."+key, v[key], read)
	}
}

// withSecrets returns value with secrets in the places of {file: NAME} and {env: NAME}.
func withSecrets(setting string, value any, read func(setting string, s secret) vnflcm.Secret) any {
	switch inner := value.(type) {
	case map[string]any:
		_, hasFile := inner["file"]
		if _, hasEnv := inner["env"]; hasFile || hasEnv {
			return read(setting, secretAt(inner)).Reveal()
		}
		vimInfo(inner).readSecrets(setting, read)
	case []any:
		for i, each := range inner {
			inner[i] = withSecrets(fmt.Sprintf("%s[%d]", setting, i), each, read)
		}
	}
	return value
}
