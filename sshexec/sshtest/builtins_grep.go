package sshtest

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
)

func grep(_ context.Context, p *Process) int {
	found, operands, err := p.parseOptions("qvEFixcwlashne:", false)
	if err != nil {
		return p.usage("%v", err)
	}
	pattern := found['e']
	if !found.has('e') {
		if len(operands) == 0 {
			return p.usage("a pattern is required")
		}
		pattern, operands = operands[0], operands[1:]
	}
	re, err := grepPattern(pattern, found)
	if err != nil {
		return p.usage("%v", err)
	}
	hits := 0
	if found.has('s') {
		p.Stderr = io.Discard
	}
	code := p.inputs(operands, func(name string, content []byte) {
		before := hits
		defer func() {
			if found.has('l') && hits > before {
				p.print([]string{name})
			}
		}()
		for i, line := range lines(content) {
			if re.MatchString(line) == found.has('v') {
				continue
			}
			hits++
			if !found.has('q') && !found.has('c') && !found.has('l') {
				if found.has('n') {
					line = strconv.Itoa(i+1) + ":" + line
				}
				if len(operands) > 1 && !found.has('h') {
					line = name + ":" + line
				}
				p.print([]string{line})
			}
		}
	})
	if found.has('c') {
		p.print([]string{strconv.Itoa(hits)})
	}
	switch {
	case hits > 0 && (code == 0 || found.has('q')):
		return 0
	case code != 0:
		return 2
	}
	return 1
}

// grepPattern converts a pattern to Go's syntax. In a basic pattern, a character that is an operator in Go stands for itself,
// and is an operator only after a backslash. Each line of the text is a pattern.
func grepPattern(pattern string, found options) (*regexp.Regexp, error) {
	patterns := strings.Split(pattern, "\n")
	for i, one := range patterns {
		switch {
		case found.has('F'):
			patterns[i] = regexp.QuoteMeta(one)
		case !found.has('E'):
			patterns[i] = basicPattern(one)
		}
	}
	if pattern = strings.Join(patterns, "|"); len(patterns) > 1 {
		pattern = "(?:" + pattern + ")"
	}
	if found.has('w') {
		pattern = `\b(?:` + pattern + `)\b`
	}
	if found.has('x') {
		pattern = `^(?:` + pattern + `)$`
	}
	if found.has('i') {
		pattern = `(?i)` + pattern
	}
	return regexp.Compile(pattern)
}

func basicPattern(pattern string) string {
	const swapped = `+?{}()|`
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern):
			i++
			if !strings.ContainsRune(swapped, rune(pattern[i])) {
				out.WriteByte('\\')
			}
			out.WriteByte(pattern[i])
		case strings.IndexByte(swapped, c) >= 0:
			out.WriteByte('\\')
			out.WriteByte(c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
