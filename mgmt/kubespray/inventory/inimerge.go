package inventory

import (
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Merge puts the nodes of an inventory into an existing one and takes out those of former that are not among them: former are the
// names that were ours when it was written last. The files are as from Generate, the first with the name that Generate gives it.
//
// Of hosts that are ours the variables of fields and of Vars change, and so do the groups of the roles. What others wrote stays
// byte for byte: hosts, groups, variables and comments, also variables of our hosts that the nodes do not have. Where
// it contradicts (a range of hosts names one of ours, a group of groups gives it another role) there is an error and
// nothing is merged.
func (g INI) Merge(existing []byte, inv Inventory, former []string) ([]File, error) {
	inv = complete(inv)
	if err := check(inv, g.Options); err != nil {
		return nil, err
	}
	if isBlank(existing) {
		return g.Generate(inv)
	}
	return mergeFiles(existing, inv, g.Options, iniName, former, g.written, parseINI, mergeINI)
}

func mergeINI(existing []byte, m *merge) ([]byte, error) {
	f := readINIFile(string(existing))
	homes := f.homes()
	for i := range f.lines {
		l := &f.lines[i]
		switch {
		case l.host == "" || !m.gone[l.host] && m.hosts[l.host].Name == "":
			// not ours
		case !m.belongs(l.host, l.section):
			if home, moves := homes[l.host]; moves && home != i {
				f.lines[home].extra += l.foreign(m)
			}
			l.removed = true
		}
	}
	for i := range f.lines {
		if l := &f.lines[i]; !l.removed && m.hosts[l.host].Name != "" {
			l.edit(m, homes[l.host] == i)
		}
	}
	f.addHosts(m, homes)
	for _, want := range m.inv.memberships() {
		f.addLines(want.name, "", m.missing(want, f.listed(want.name, "")), true)
	}
	for _, want := range m.inv.Generation.groupTree() {
		listed := f.listed(want.name, "children")
		f.addLines(want.name, "children", slices.DeleteFunc(want.children, func(name string) bool { return listed[name] }), true)
	}
	return []byte(f.text()), nil
}

// iniFile is an inventory by its lines.
type iniFile struct {
	lines []iniLine
	end   string // of lines
}

type iniLine struct {
	raw           string // with its end
	section, kind string
	header        bool
	entry         string // of a line of :children, or a pattern of hosts
	host          string // of a line that defines one host
	words         []word
	extra         string // what others said of the host on lines that are removed
	removed       bool
	after         []string // lines to come after this one
}

func readINIFile(text string) *iniFile {
	f := &iniFile{end: "\n"}
	if strings.Contains(text, "\r\n") {
		f.end = "\r\n"
	}
	section, kind := "ungrouped", ""
	for _, raw := range splitLines(text) {
		l := iniLine{raw: raw}
		trimmed := strip(raw)
		switch m := sectionPattern.FindStringSubmatch(trimmed); {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case m != nil:
			section, kind = m[1], strings.TrimSuffix(m[2], "hosts")
			l.header = true
		case kind == "children":
			l.entry = groupNamePattern.FindStringSubmatch(trimmed)[1] // the parser has accepted it
		case kind == "":
			l.words, _ = splitWords(trimmed) // as above
			for i, start := 0, strings.Index(raw, trimmed); i < len(l.words); i++ {
				l.words[i].start += start
				l.words[i].end += start
			}
			l.entry = l.words[0].text
			if names, _, err := expandHosts(l.entry, maxHosts); err == nil && len(names) == 1 && !strings.Contains(strings.TrimPrefix(l.entry, "["), "[") {
				l.host = names[0]
			}
		}
		l.section, l.kind = section, kind
		f.lines = append(f.lines, l)
	}
	return f
}

// homes tells on which line the variables of a host are: its first one in [all], otherwise its first one.
func (f *iniFile) homes() map[string]int {
	out := map[string]int{}
	for i, l := range f.lines {
		if l.host == "" {
			continue
		}
		if home, known := out[l.host]; !known || l.section == groupAll && f.lines[home].section != groupAll {
			out[l.host] = i
		}
	}
	return out
}

// foreign are the variables on a line that others gave to one of our hosts.
func (l *iniLine) foreign(m *merge) string {
	var out string
	for _, w := range l.words[1:] {
		if name, _, _ := strings.Cut(w.text, "="); !m.ours(l.host, name) {
			out += " " + l.raw[w.start:w.end]
		}
	}
	return out
}

// edit brings the variables of one of our hosts up to date: at home those that are ours are written, elsewhere they are removed.
func (l *iniLine) edit(m *merge, home bool) {
	var out strings.Builder
	out.WriteString(l.raw[:l.words[0].start])
	if l.words[0].text == l.host {
		out.WriteString(l.raw[l.words[0].start:l.words[0].end])
	} else { // with a port
		out.WriteString(l.host)
	}
	done := map[string]bool{}
	last := l.words[0].end
	for _, w := range l.words[1:] {
		name, text, _ := strings.Cut(w.text, "=")
		blank := l.raw[last:w.start]
		last = w.end
		value, given := m.value(l.host, name)
		switch {
		case !m.ours(l.host, name):
			out.WriteString(blank + l.raw[w.start:w.end])
		case !home || !given || done[name]:
		case reflect.DeepEqual(readLiteral(text), value):
			out.WriteString(blank + l.raw[w.start:w.end])
		default:
			out.WriteString(blank + assignment(variable{name: name, value: value}))
		}
		done[name] = true
	}
	if home {
		for _, v := range m.hosts[l.host].lines {
			if !done[v.name] {
				out.WriteString(" " + assignment(v))
			}
		}
		out.WriteString(l.extra)
	}
	l.raw = out.String() + l.raw[last:]
}

// addHosts writes down those of our hosts that the file has not.
func (f *iniFile) addHosts(m *merge, homes map[string]int) {
	var lines []string
	for _, name := range m.names {
		if home, known := homes[name]; known && !f.lines[home].removed {
			continue
		}
		line := name
		for _, v := range m.hosts[name].lines {
			line += " " + assignment(v)
		}
		if home, known := homes[name]; known { // on a line that is removed
			line += f.lines[home].foreign(m) + f.lines[home].extra
		}
		lines = append(lines, line)
	}
	f.addLines(groupAll, "", lines, false)
}

// listed are the entries of all sections of a name.
func (f *iniFile) listed(section, kind string) map[string]bool {
	out := map[string]bool{}
	for _, l := range f.lines {
		if l.section == section && l.kind == kind && !l.removed {
			out[l.entry] = true
			out[l.host] = true
		}
	}
	return out
}

// addLines adds lines to the end of a section, before the blank lines and comments that follow it. A section that is not there is
// added at the end of the file, an empty one if always.
func (f *iniFile) addLines(section, kind string, lines []string, always bool) {
	at := -1
	for i, l := range f.lines {
		if l.section == section && l.kind == kind && (l.header || l.entry != "") {
			if l.header && at >= 0 {
				break // the first section of the name
			}
			at = i
		}
	}
	if at < 0 {
		if len(lines) == 0 && !always {
			return
		}
		header := "[" + section + "]"
		if kind != "" {
			header = "[" + section + ":" + kind + "]"
		}
		f.lines = append(f.lines, iniLine{raw: f.end, section: "", kind: "vars"}, iniLine{raw: header + f.end, section: section, kind: kind, header: true})
		at = len(f.lines) - 1
	}
	f.lines[at].after = append(f.lines[at].after, lines...)
}

func (f *iniFile) text() string {
	var out strings.Builder
	ended := true
	write := func(raw string) {
		if !ended {
			out.WriteString(f.end)
		}
		out.WriteString(raw)
		last, _ := utf8.DecodeLastRuneInString(raw)
		ended = endsLine(last)
	}
	for _, l := range f.lines {
		if !l.removed {
			write(l.raw)
		}
		for _, line := range l.after {
			write(line + f.end)
		}
	}
	return out.String()
}
