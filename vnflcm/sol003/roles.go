package sol003

import (
	"fmt"
	"slices"
)

// Role says which requests a Principal may send. Each role includes those before it.
type Role string

// The roles.
const (
	RoleReader   Role = "reader"   // GET and HEAD
	RoleOperator Role = "operator" // in addition operations and their previews, instances, subscriptions
	RoleAdmin    Role = "admin"    // in addition VIMs, packages, and with whom they are shared
)

// ranks are the roles in the order in which each includes those before it. Without a role a Principal is not restricted.
var ranks = []Role{RoleReader, RoleOperator, RoleAdmin, ""}

// Allows reports whether a sender with role r may do what needs another role. A role that does not exist allows nothing.
func (r Role) Allows(needed Role) bool {
	has, needs := slices.Index(ranks, r), slices.Index(ranks, needed)
	return needs >= 0 && has >= needs
}

// Valid reports whether r is one of the three roles.
func (r Role) Valid() bool { return r != "" && slices.Contains(ranks, r) }

// FindRole returns the highest role that known has for one of the names, such as values of a token's claim. The error is
// ErrForbidden if known has no role for any of them.
func FindRole(known map[string]Role, names ...string) (found Role, err error) {
	for _, name := range names {
		if role := known[name]; role.Valid() && (found == "" || role.Allows(found)) {
			found = role
		}
	}
	if found == "" {
		return "", fmt.Errorf("%w: the sender has no role of this VNFM", ErrForbidden)
	}
	return found, nil
}
