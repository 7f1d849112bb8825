package sshtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

func (p *Process) print(lines []string) {
	for _, line := range lines {
		_, _ = fmt.Fprintln(p.Stdout, line)
	}
}

// count parses the number of lines or bytes in the arguments of head and tail: -n N, -N or -c N.
func (p *Process) count() (n string, names []string, isBytes bool, err error) {
	args := slices.Clone(p.Args)
	for i, arg := range args[1:] {
		if _, err := strconv.Atoi(strings.TrimPrefix(arg, "-")); err == nil && strings.HasPrefix(arg, "-") && args[i] != "-n" && args[i] != "-c" {
			args[i+1] = "-n" + arg[1:]
		}
	}
	q := *p
	q.Args = args
	found, names, err := q.parseOptions("n:c:", false)
	switch {
	case err != nil:
		return "", nil, false, err
	case found.has('c'):
		return found['c'], names, true, nil
	case !found.has('n'):
		return "10", names, false, nil
	}
	return found['n'], names, false, nil
}

func head(_ context.Context, p *Process) int {
	text, names, isBytes, err := p.count()
	if err != nil {
		return p.usage("%v", err)
	}
	if isBytes {
		return p.headBytes(text, names)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return p.usage("invalid number of lines %q", text)
	}
	return p.inputs(names, func(_ string, content []byte) {
		all := lines(content)
		p.print(all[:min(n, len(all))])
	})
}

func tail(_ context.Context, p *Process) int {
	text, names, isBytes, err := p.count()
	if err != nil {
		return p.usage("%v", err)
	}
	if isBytes {
		return p.tailBytes(text, names)
	}
	from, isFrom := strings.CutPrefix(text, "+")
	n, err := strconv.Atoi(from)
	if err != nil || n < 0 {
		return p.usage("invalid number of lines %q", text)
	}
	return p.inputs(names, func(_ string, content []byte) {
		all := lines(content)
		if isFrom {
			p.print(all[min(max(n-1, 0), len(all)):])
			return
		}
		p.print(all[max(len(all)-n, 0):])
	})
}

func sorted(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("rnuz", false)
	if err != nil {
		return p.usage("%v", err)
	}
	var all []string
	end := "\n"
	if found.has('z') {
		end = "\x00"
	}
	code := p.inputs(names, func(_ string, content []byte) {
		if len(content) > 0 {
			all = append(all, strings.Split(strings.TrimSuffix(string(content), end), end)...)
		}
	})
	slices.SortStableFunc(all, func(a, b string) int {
		if found.has('n') {
			x, _ := strconv.ParseFloat(strings.TrimSpace(a), 64)
			y, _ := strconv.ParseFloat(strings.TrimSpace(b), 64)
			if x != y {
				if x < y {
					return -1
				}
				return 1
			}
		}
		return strings.Compare(a, b)
	})
	if found.has('r') {
		slices.Reverse(all)
	}
	if found.has('u') {
		all = slices.Compact(all)
	}
	for _, line := range all {
		_, _ = io.WriteString(p.Stdout, line+end)
	}
	return code
}

func uniq(_ context.Context, p *Process) int {
	_, names, err := p.parseOptions("", false)
	if err != nil {
		return p.usage("%v", err)
	}
	return p.inputs(names, func(_ string, content []byte) { p.print(slices.Compact(lines(content))) })
}

func wc(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("lwc", false)
	if err != nil {
		return p.usage("%v", err)
	}
	return p.inputs(names, func(name string, content []byte) {
		var columns []string
		for _, column := range []struct {
			letter byte
			count  func() int
		}{
			{'l', func() int { return bytes.Count(content, []byte("\n")) }},
			{'w', func() int { return len(bytes.Fields(content)) }},
			{'c', func() int { return len(content) }},
		} {
			if len(found) == 0 || found.has(column.letter) {
				columns = append(columns, strconv.Itoa(column.count()))
			}
		}
		if name != "-" {
			columns = append(columns, name)
		}
		p.print([]string{strings.Join(columns, " ")})
	})
}

func tr(_ context.Context, p *Process) int {
	found, sets, err := p.parseOptions("dc", false)
	if err != nil || len(sets) == 0 || len(sets) == 1 && !found.has('d') {
		return p.usage("only 'tr [-c] SET SET' and 'tr [-c] -d SET' are supported by this simulated program")
	}
	from := expandSet(sets[0])
	if found.has('c') {
		from = complement(from)
	}
	to := ""
	if !found.has('d') {
		to = expandSet(sets[1])
	}
	return p.inputs(nil, func(_ string, content []byte) {
		var out []byte
		for _, c := range content {
			i := strings.IndexByte(from, c)
			switch {
			case i < 0:
				out = append(out, c)
			case to != "":
				out = append(out, to[min(i, len(to)-1)])
			}
		}
		_, _ = p.Stdout.Write(out)
	})
}

func complement(set string) string {
	var out []byte
	for c := range 256 {
		if strings.IndexByte(set, byte(c)) < 0 {
			out = append(out, byte(c))
		}
	}
	return string(out)
}

// expandSet replaces the classes and ranges in a set of tr by their characters. The set [c*] becomes c; tr repeats the last
// character of a set.
func expandSet(set string) string {
	if len(set) == 4 && set[0] == '[' && set[2:] == "*]" {
		return set[1:2]
	}
	set = strings.NewReplacer(`\0`, "\x00", `\n`, "\n", `\t`, "\t", `\r`, "\r", "[:upper:]", "A-Z", "[:lower:]", "a-z", "[:space:]", " \t\n\r").Replace(set)
	var out []byte
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' && set[i] <= set[i+2] {
			for c := int(set[i]); c <= int(set[i+2]); c++ {
				out = append(out, byte(c)) //nolint:gosec // between two bytes
			}
			i += 2
			continue
		}
		out = append(out, set[i])
	}
	return string(out)
}

func cut(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("d:f:", false)
	if err != nil {
		return p.usage("%v", err)
	}
	delimiter := "\t"
	if found.has('d') {
		delimiter = found['d']
	}
	from, to, isRange := strings.Cut(found['f'], "-")
	first, err := strconv.Atoi(from)
	if err != nil || first < 1 {
		return p.usage("only -f N, -f N- and -f N-M are supported by this simulated program")
	}
	last := first
	if isRange {
		last = int(^uint(0) >> 1)
		if to != "" {
			if last, err = strconv.Atoi(to); err != nil {
				return p.usage("%v", err)
			}
		}
	}
	return p.inputs(names, func(_ string, content []byte) {
		for _, line := range lines(content) {
			if fields := strings.Split(line, delimiter); len(fields) > 1 {
				line = strings.Join(fields[min(first-1, len(fields)):min(last, len(fields))], delimiter)
			}
			p.print([]string{line})
		}
	})
}
