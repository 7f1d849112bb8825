package csar

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// members is the list of the members of a package.
type members struct {
	limits  Limits
	report  *report.Report
	most    int64            // maximum total size of all files in bytes
	files   map[string]int64 // size by name
	dirs    map[string]bool  // folders that are members themselves
	folders map[string]bool  // all folders; set by checkNames
	order   []string         // files and folders in the order of the list
	total   int64
	full    bool
	dotted  bool // a name begins with "./"
}

// newMembers returns an empty list for a package with at most most bytes.
func newMembers(limits Limits, most int64, r *report.Report) *members {
	return &members{limits: limits, most: most, report: r, files: map[string]int64{}, dirs: map[string]bool{}, folders: map[string]bool{}}
}

// more returns true if the list may have another member. Otherwise it reports a problem.
func (m *members) more() bool {
	if !m.full && len(m.files)+len(m.dirs) >= m.limits.Members {
		m.report.Errorf(problem.Position{}, problem.TooLarge, "more than %d members", m.limits.Members)
		m.full = true
	}
	return !m.full
}

// plain returns a name without "./" at its beginning, "" for the root of the package. It warns of the first of these names.
func (m *members) plain(name string) string {
	rest, found := strings.CutPrefix(name, "./")
	if !found || rest != "" && !fs.ValidPath(strings.TrimSuffix(rest, "/")) {
		return name
	}
	if !m.dotted {
		m.report.Warnf(problem.Position{File: printable(rest)}, problem.BadName,
			`the name begins with "./": pack the package without it, for example with zip -r vnf.csar *`)
	}
	m.dotted = true
	return rest
}

// add checks the name, kind and size of a member, and adds the member to the list.
func (m *members) add(name string, mode fs.FileMode, size int64) {
	if name = m.plain(name); name == "" && mode.IsDir() {
		return
	}
	pos := problem.Position{File: printable(name)}
	clean := strings.TrimSuffix(name, "/")
	if code, why := nameFault(clean); code != "" {
		m.report.Errorf(pos, code, "%s", why)
		return
	}
	if why := reservedName(clean); why != "" {
		m.report.Warnf(pos, problem.ReservedName, "%s", why)
	}
	_, isFile := m.files[clean]
	switch {
	case isFile || m.dirs[clean]:
		m.report.Errorf(pos, problem.DuplicateMember, "the package has this member twice")
	case mode&fs.ModeSymlink != 0:
		m.report.Errorf(pos, problem.Symlink, "symbolic links are not allowed in a package")
	case mode.IsDir():
		m.dirs[clean] = true
		m.order = append(m.order, clean)
	case !mode.IsRegular():
		m.report.Errorf(pos, problem.Irregular, "neither a file nor a folder (%s)", mode)
	case strings.HasSuffix(name, "/"):
		m.report.Errorf(pos, problem.BadName, "a file with the name of a folder")
	default:
		m.files[clean] = size
		m.order = append(m.order, clean)
		m.checkSize(pos, size)
	}
}

func (m *members) checkSize(pos problem.Position, size int64) {
	if size < 0 || size > m.limits.MemberSize {
		m.report.Errorf(pos, problem.TooLarge, "larger than %d bytes", m.limits.MemberSize)
		return
	}
	if m.total <= m.most && m.total+size > m.most {
		m.report.Errorf(pos, problem.TooLarge, "the members up to here have more than %d bytes together, which is too much for the package or its size", m.most)
	}
	m.total += size
}

// checkNames finds files that other members use as a folder, and names that differ only in case: on a file system that
// ignores case, one file would replace the other.
func (m *members) checkNames() {
	spelled := map[string]string{} // the first spelling of each name, by the name with folded case
	for _, member := range m.order {
		for name := member; name != "."; name = path.Dir(name) {
			if m.folders[name] {
				break // the folders above it are known too
			}
			folded := strings.ToLower(name)
			if first, seen := spelled[folded]; seen && first != name {
				m.report.Errorf(problem.Position{File: name}, problem.CaseCollision, "differs only in case from %s", first)
				break
			}
			spelled[folded] = name
			if name == member && !m.dirs[name] {
				continue // the member is a file
			}
			m.folders[name] = true
			if _, isFile := m.files[name]; isFile {
				m.report.Errorf(problem.Position{File: name}, problem.DuplicateMember, "both a file and the folder of %s", member)
			}
		}
	}
}

// Limits for names, because checkNames handles every folder in a name.
const (
	maxName  = 1024
	maxDepth = 64
)

// nameFault returns the fault of a member's name; "" if the name is valid.
func nameFault(name string) (code problem.Code, why string) {
	switch {
	case name == "":
		return problem.BadName, "a member without a name"
	case len(name) > maxName || strings.Count(name, "/") >= maxDepth:
		return problem.BadName, fmt.Sprintf("longer than %d bytes or nested deeper than %d folders", maxName, maxDepth)
	case strings.HasPrefix(name, "/"):
		return problem.ZipSlip, "an absolute path"
	case len(name) >= 2 && name[1] == ':':
		return problem.ZipSlip, "a path with a drive letter"
	case strings.Contains(name, `\`):
		return problem.ZipSlip, `a path with a backslash, which some systems take for a separator`
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return problem.BadName, "a name with control characters or bytes that are no UTF-8"
	case strings.ContainsFunc(name, reorders):
		return problem.BadName, "a name with characters that change how it is displayed (bidirectional controls or line separators)"
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

// reorders reports whether a character changes the display of the text around it, so that a name could look like another name.
func reorders(r rune) bool { return unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) }

// devices matches the names that mean devices on Windows, in every folder and with any suffix ("Naming Files, Paths, and Namespaces").
var devices = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])[ ]*(\.|:|$)`)

// reservedName returns the device that a name means on Windows; "" if it means none.
func reservedName(name string) string {
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case devices.MatchString(element):
			return fmt.Sprintf("%q is the name of a device on Windows", element)
		case strings.HasSuffix(element, ".") || strings.HasSuffix(element, " "):
			return fmt.Sprintf("%q loses its last character on Windows", element)
		}
	}
	return ""
}

// printable returns the name of a hostile member in a form that is safe to display.
func printable(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
}
