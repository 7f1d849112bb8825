package csar

import (
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// members is the list of what a package holds, with the faults of the list.
type members struct {
	limits Limits
	report *report.Report
	files  map[string]int64 // size by name
	dirs   map[string]bool  // folders that are members themselves
	total  int64
	full   bool
}

func newMembers(limits Limits, r *report.Report) *members {
	return &members{limits: limits, report: r, files: map[string]int64{}, dirs: map[string]bool{}}
}

// more reports whether another member may come.
func (m *members) more() bool {
	if !m.full && len(m.files)+len(m.dirs) >= m.limits.Members {
		m.report.Errorf(problem.Position{}, problem.TooLarge, "more than %d members", m.limits.Members)
		m.full = true
	}
	return !m.full
}

// add takes a member into the list after checking its name, kind and size.
func (m *members) add(name string, mode fs.FileMode, size int64) {
	pos := problem.Position{File: printable(name)}
	clean := strings.TrimSuffix(name, "/")
	if code, why := nameFault(clean); code != "" {
		m.report.Errorf(pos, code, "%s", why)
		return
	}
	_, isFile := m.files[clean]
	switch {
	case isFile || m.dirs[clean]:
		m.report.Errorf(pos, problem.DuplicateMember, "the package has this member twice")
	case mode&fs.ModeSymlink != 0:
		m.report.Errorf(pos, problem.Symlink, "symbolic links are not allowed in a package")
	case mode.IsDir():
		m.dirs[clean] = true
	case !mode.IsRegular():
		m.report.Errorf(pos, problem.Irregular, "neither a file nor a folder (%s)", mode)
	case strings.HasSuffix(name, "/"):
		m.report.Errorf(pos, problem.BadName, "a file with the name of a folder")
	default:
		m.files[clean] = size
		m.checkSize(pos, size)
	}
}

func (m *members) checkSize(pos problem.Position, size int64) {
	if size < 0 || size > m.limits.MemberSize {
		m.report.Errorf(pos, problem.TooLarge, "larger than %d bytes", m.limits.MemberSize)
		return
	}
	if m.total <= m.limits.TotalSize && m.total+size > m.limits.TotalSize {
		m.report.Errorf(pos, problem.TooLarge, "the members up to here have more than %d bytes together", m.limits.TotalSize)
	}
	m.total += size
}

// checkFolders finds files that other members use as a folder.
func (m *members) checkFolders() {
	checked := map[string]bool{}
	check := func(name string) {
		for dir := path.Dir(name); dir != "." && !checked[dir]; dir = path.Dir(dir) {
			checked[dir] = true
			if _, isFile := m.files[dir]; isFile {
				m.report.Errorf(problem.Position{File: dir}, problem.DuplicateMember, "both a file and the folder of %s", name)
			}
		}
	}
	for name := range m.files {
		check(name)
	}
	for name := range m.dirs {
		check(name)
	}
}

// nameFault tells what is wrong with the name of a member; "" for nothing.
func nameFault(name string) (code problem.Code, why string) {
	switch {
	case name == "":
		return problem.BadName, "a member without a name"
	case strings.HasPrefix(name, "/"):
		return problem.ZipSlip, "an absolute path"
	case len(name) >= 2 && name[1] == ':':
		return problem.ZipSlip, "a path with a drive letter"
	case strings.Contains(name, `\`):
		return problem.ZipSlip, `a path with a backslash, which some systems take for a separator`
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return problem.BadName, "a name with control characters or bytes that are no UTF-8"
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == ".." {
			return problem.ZipSlip, "a path that leads out of the package"
		}
	}
	if !fs.ValidPath(name) || name == "." {
		return problem.BadName, "not in the plain form dir/file"
	}
	return "", ""
}

// printable makes the name of a hostile member safe to show.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
}
