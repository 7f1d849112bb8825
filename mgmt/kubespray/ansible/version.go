package ansible

import (
	"regexp"
	"strconv"
	"strings"
)

// versionOf finds the version in the output of ansible-playbook --version: "ansible-playbook [core 2.14.18]", or before
// 2.11 "ansible-playbook 2.9.27".
var versionOf = regexp.MustCompile(`(?m)^ansible-playbook (?:\[core )?(\d[0-9A-Za-z.]*)\]?`)

// compareVersions compares the parts of versions as numbers: 2.9 is older than 2.14.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if x, y := number(as, i), number(bs, i); x != y {
			return x - y
		}
	}
	return 0
}

// number returns the number at the beginning of a part of a version: 0 for "0b1".
func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	digits := len(parts[i]) - len(strings.TrimLeft(parts[i], "0123456789"))
	n, _ := strconv.Atoi(parts[i][:min(digits, 6)]) // without digits the number is 0
	return n
}

// limits are the versions of ansible-core with which a release of kubespray runs.
type limits struct{ from, below string }

func (l limits) allow(version string) bool {
	return (l.from == "" || compareVersions(version, l.from) >= 0) && (l.below == "" || compareVersions(version, l.below) < 0)
}

func (l limits) String() string {
	switch {
	case l.below == "":
		return "at least " + l.from
	case l.from == "":
		return "below " + l.below
	default:
		return "at least " + l.from + " and below " + l.below
	}
}

// released are the limits for releases that do not state them, newest first. kubespray is the version in galaxy.yml from
// which on the limits hold. The limits are those of playbooks/ansible_version.yml in the release. Releases 2.23.0 and
// 2.23.1 call themselves 2.22.1.
var released = []struct {
	kubespray string
	limits
}{
	{"2.31.0", limits{"2.18.0", "2.19.0"}},
	{"2.29.0", limits{"2.17.3", "2.18.0"}},
	{"2.25.0", limits{"2.16.4", "2.17.0"}},
	{"2.24.0", limits{"2.15.5", "2.17.0"}},
	{"2.23.0", limits{"2.14.0", "2.15.0"}},
	{"2.22.2", limits{"2.11.0", "2.13.0"}},
	{"2.22.1", limits{"2.14.0", "2.15.0"}},
	{"2.21.0", limits{"2.11.0", "2.13.0"}},
}

// limitsOf returns the limits of a release. A release older than all known ones has no limits.
func limitsOf(kubespray string) limits {
	for _, r := range released {
		if kubespray != "" && compareVersions(kubespray, r.kubespray) >= 0 {
			return r.limits
		}
	}
	return limits{}
}
