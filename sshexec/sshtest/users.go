package sshtest

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// users assigns numbers to the users of a host. A group has the number of the user of the same name.
type users struct {
	mu    sync.Mutex
	names []string // existing users: first root, then the login user
	other []string // owners of files that are not existing users
}

const (
	firstUser  = 1000
	firstOther = 2000
)

func newUsers(c Config) *users {
	u := &users{names: []string{"root", c.User}}
	for _, name := range append([]string{"daemon", "nobody"}, c.Users...) {
		if !slices.Contains(u.names, name) {
			u.names = append(u.names, name)
		}
	}
	return u
}

func (u *users) exists(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Contains(u.names, name)
}

func (u *users) number(name string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if name == "root" {
		return 0
	}
	if i := slices.Index(u.names, name); i > 0 {
		return firstUser + i - 1
	}
	i := slices.Index(u.other, name)
	if i < 0 {
		i = len(u.other)
		u.other = append(u.other, name)
	}
	return firstOther + i
}

func (u *users) id(name string) string { return strconv.Itoa(u.number(name)) }

// name returns the user with a number, or the number itself if no user has it.
func (u *users) name(number int) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case number == 0:
		return "root"
	case number >= firstUser && number-firstUser+1 < len(u.names):
		return u.names[number-firstUser+1]
	case number >= firstOther && number-firstOther < len(u.other):
		return u.other[number-firstOther]
	}
	return strconv.Itoa(number)
}

// owned adds the owner of a file to its information.
func (h *Host) owned(info fs.FileInfo, name string) fs.FileInfo {
	user, group, _ := strings.Cut(h.files.ownerOf(name), ":")
	return withOwner(info, h.users.number(user), h.users.number(group))
}
