package inventory

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitLines divides a text as Python's str.splitlines does, and leaves the ends on the lines.
func splitLines(text string) []string {
	var out []string
	start := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if !endsLine(r) {
			continue
		}
		if r == '\r' && i < len(text) && text[i] == '\n' {
			i++
		}
		out = append(out, text[start:i])
		start = i
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

func endsLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// strip removes what Python takes for white space from both ends of a line.
func strip(line string) string {
	return strings.TrimFunc(line, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}

// word of a line: its text without quotes, and where it is.
type word struct {
	text       string
	start, end int
}

// splitWords divides the definition of a host as Python's shlex does in its POSIX mode, with comments: a # also ends a word.
func splitWords(line string) ([]word, error) {
	var out []word
	var token strings.Builder
	start := -1 // of the word, -1 between words
	finish := func(end int) {
		if start >= 0 {
			out = append(out, word{token.String(), start, end})
		}
		token.Reset()
		start = -1
	}
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			finish(i)
			continue
		case quote == 0 && c == '#':
			finish(i)
			return out, nil
		}
		if start < 0 {
			start = i
		}
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '\\' && quote != '\'':
			if i++; i == len(line) {
				return nil, errors.New("ends in a backslash")
			}
			if quote == '"' && line[i] != '\\' && line[i] != '"' {
				token.WriteByte('\\')
			}
			token.WriteByte(line[i])
		default:
			token.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, errors.New("has a quotation that does not end")
	}
	finish(len(line))
	return out, nil
}

var (
	sectionPattern   = regexp.MustCompile(`^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$`)
	groupNamePattern = regexp.MustCompile(`^([^:\]\s]+)\s*(?:#.*)?$`)
	bracketedPattern = regexp.MustCompile(`^\[(.+)\]:([0-9]{1,5})$`)
	hostPortPattern  = regexp.MustCompile(`^((?:[^:\[\]]|\[[^\]]*\])+):([0-9]{1,5})$`)
	rangePattern     = regexp.MustCompile(`^([^\[\]]*)\[([0-9a-zA-Z]*):([0-9a-zA-Z]+)(?::([0-9]+))?\](.*)$`)
)

// expandHosts returns the hosts that a pattern stands for (node[01:03], a:2222), at most limit, and their port, 0 if it has none.
func expandHosts(pattern string, limit int) (names []string, port int64, err error) {
	for _, each := range []*regexp.Regexp{bracketedPattern, hostPortPattern} {
		if m := each.FindStringSubmatch(pattern); m != nil {
			pattern = m[1]
			port, _ = strconv.ParseInt(m[2], 10, 64) // digits
			break
		}
	}
	names, err = expandRange(pattern, limit)
	return names, port, err
}

func expandRange(pattern string, limit int) ([]string, error) {
	if !strings.Contains(pattern, "[") {
		return []string{pattern}, nil
	}
	m := rangePattern.FindStringSubmatch(pattern)
	if m == nil {
		return nil, fmt.Errorf("%q is no range of hosts: it must be like node[1:3], node[01:10:3] or node[a:f]", pattern)
	}
	values, err := rangeValues(m[2], m[3], m[4], limit)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", pattern, err)
	}
	var out []string
	tails, err := expandRange(m[5], limit) // the same for each
	if err != nil {
		return nil, err
	}
	if len(values)*len(tails) > limit {
		return nil, fmt.Errorf("%q stands for more than %d hosts", pattern, limit)
	}
	for _, value := range values {
		for _, tail := range tails {
			out = append(out, m[1]+value+tail)
		}
	}
	return out, nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func rangeValues(first, last, by string, limit int) ([]string, error) {
	step, width := 1, 0
	if by != "" {
		step, _ = strconv.Atoi(by)
	}
	if first == "" {
		first = "0"
	}
	var from, to int
	show := strconv.Itoa
	if len(first) == 1 && len(last) == 1 && strings.Contains(letters, first) && strings.Contains(letters, last) {
		from, to = strings.Index(letters, first), strings.Index(letters, last)
		show = func(i int) string { return letters[i : i+1] }
	} else {
		var errs [2]error
		from, errs[0] = strconv.Atoi(first)
		to, errs[1] = strconv.Atoi(last)
		if errors.Join(errs[:]...) != nil {
			return nil, errors.New("the range must be of numbers or of single letters")
		}
		if first[0] == '0' && len(first) > 1 {
			if width = len(first); width != len(last) {
				return nil, errors.New("both ends of a range that begins with 0 must be of one length")
			}
			show = func(i int) string { return fmt.Sprintf("%0*d", width, i) }
		}
	}
	switch {
	case step < 1:
		return nil, errors.New("the step of a range must be at least 1")
	case from > to:
		return nil, errors.New("the range ends before it begins")
	case (to-from)/step >= limit:
		return nil, fmt.Errorf("the range stands for more than %d hosts", limit)
	}
	var out []string
	for i := from; i <= to; i += step {
		out = append(out, show(i))
	}
	return out, nil
}
