package registry

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/crypto/bcrypt"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// userParam may pull from the registry, and push to it.
type userParam struct {
	Username string        `json:"username"`
	Password vnflcm.Secret `json:"password"`
}

// longestPassword is the limit of bcrypt, the only hash that the registry supports (distribution, "htpasswd").
const longestPassword = 72

// users leaves out what lines of "name:hash", and the header of a login, cannot hold.
func (c *checker) users(list []userParam) {
	seen := map[string]int{}
	for i, u := range list {
		at := fmt.Sprintf("users[%d].", i)
		first, taken := seen[u.Username]
		switch {
		case u.Username == "":
			c.fault(at+"username", "", "is required")
		case strings.ContainsFunc(u.Username, unicode.IsControl), strings.ContainsAny(u.Username, ":"), len(u.Username) > 255, strings.TrimSpace(u.Username) != u.Username, strings.HasPrefix(u.Username, "#"):
			c.fault(at+"username", "", "may hold neither a colon nor control characters, begin neither with # nor with a blank, and be no longer than 255 bytes")
		case taken:
			c.fault(at+"username", u.Username, fmt.Sprintf("is the one of users[%d] too", first))
		}
		seen[u.Username] = i
		switch password := u.Password.Reveal(); {
		case password == "":
			c.fault(at+"password", "", "is required")
		case len(password) > longestPassword, strings.ContainsFunc(password, unicode.IsControl):
			c.fault(at+"password", "", fmt.Sprintf("may hold no control characters, and no more than %d bytes", longestPassword))
		}
	}
}

// writeUsers writes the file of the users. One that says the same stays: hashes have salt, no two are alike.
func (s *site) writeUsers(ctx context.Context) error {
	old, _, err := s.machine.Read(ctx, usersFile)
	if err != nil || matches(old, s.p.Users) {
		return err
	}
	content, err := htpasswd(s.p.Users)
	if err != nil {
		return err
	}
	return s.machine.Write(ctx, usersFile, content, 0o600)
}

func htpasswd(users []userParam) ([]byte, error) {
	var out bytes.Buffer
	for _, u := range users {
		hash, err := bcrypt.GenerateFromPassword([]byte(u.Password.Reveal()), bcrypt.DefaultCost)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s:%s\n", u.Username, hash)
	}
	return out.Bytes(), nil
}

// hashForm is the prefix of hashes of this driver (bcrypt.DefaultCost). Other hashes are not verified: they would let
// the machine choose the cost of the computation.
const hashForm = "$2a$10$"

// hashSize is the length of a hash. Package bcrypt ignores what follows it, and other programs may not.
const hashSize = len(hashForm) + 53

// matches reports whether a file has exactly these users.
func matches(file []byte, users []userParam) bool {
	lines := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
	if len(lines) != len(users) {
		return false
	}
	for i, u := range users {
		name, hash, _ := strings.Cut(lines[i], ":")
		if name != u.Username || len(hash) != hashSize || !strings.HasPrefix(hash, hashForm) ||
			bcrypt.CompareHashAndPassword([]byte(hash), []byte(u.Password.Reveal())) != nil {
			return false
		}
	}
	return true
}
