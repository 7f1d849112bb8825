package vnflcm

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/internal/mask"
)

// masker replaces known secrets in texts that may quote them: errors of commands, events. It is the second defence; the
// first is that secrets are not put into texts. How much of a text it replaces depends on how distinctive a secret is:
// a password "ansible" must not make every message about Ansible unreadable, and the gaps must not reveal the password.
type masker struct{ known *mask.Masker }

// distinctness says where in a text a secret is replaced.
type distinctness int

const (
	// A common value, such as an ordinary word or a small number, is replaced only after a label that announces a
	// secret: "password: ansible", "-p ansible".
	common distinctness = iota
	// A short value is replaced where it is a whole word.
	short
	// A distinctive value is replaced everywhere, also within longer words.
	distinctive
)

// ordinaryWords are words of eight letters and more that texts about VNFs are full of, and that serve as passwords in
// laboratories. Shorter words need no list.
var ordinaryWords = []string{"administrator", "certificate", "container", "database", "instance", "kubernetes", "kubespray",
	"loadbalancer", "localhost", "openstack", "operation", "passphrase", "password", "registry", "username"}

// distinctnessOf classifies a secret by its length and by how many kinds of characters it has. Words in capitals, and
// with a capital letter at the beginning, have one kind.
func distinctnessOf(secret string) distinctness {
	length, kinds := utf8.RuneCountInString(secret), map[string]bool{}
	inCapitals := secret == strings.ToUpper(secret)
	for i, r := range secret {
		switch {
		case unicode.IsDigit(r):
			kinds["digit"] = true
		case unicode.IsUpper(r) && i > 0 && !inCapitals:
			kinds["upper"] = true
		case unicode.IsLetter(r):
			kinds["lower"] = true
		default:
			kinds["other"] = true
		}
	}
	isNumber := kinds["digit"] && len(kinds) == 1
	switch {
	case length < 4, isNumber && length < 6, slices.Contains(ordinaryWords, strings.ToLower(secret)):
		return common
	case isNumber && length < 16:
		return short
	case length >= 8, length >= 6 && len(kinds) > 1:
		return distinctive
	case len(kinds) > 1:
		return short
	default:
		return common
	}
}

func newMasker(secrets []string) *masker {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool {
		return utf8.RuneCountInString(s) < 2 // no text that has the letter shows anything
	})
	return &masker{mask.New(secrets...)}
}

func (m *masker) apply(text string) string { return m.applyExcept(text, nil) }

// labelled masks a text that stands under a name, which may call it a secret.
func (m *masker) labelled(name, text string) string {
	if secretName(name) {
		if masked, ok := strings.CutPrefix(m.apply(name+"="+text), name+"="); ok {
			return masked
		}
	}
	return m.apply(text)
}

// applyTo masks the text of an error, and bounds it. The paths of its *ParamError are names of attributes and stay
// readable.
func (m *masker) applyTo(err error) string {
	return bounded.Text(m.applyExcept(err.Error(), paramPaths(err)), maxText)
}

// applyExcept masks a text, except for the names in it that a colon follows, as in the text of a *ParamError.
func (m *masker) applyExcept(text string, names []string) string {
	return maskURLs(m.cover(text, names))
}

// paramPaths returns the paths of all *ParamError in an error.
func paramPaths(err error) (paths []string) {
	if fault, ok := err.(*ParamError); ok { //nolint:errorlint // walks the tree itself
		return []string{fault.Path}
	}
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return paramPaths(inner)
		}
	case interface{ Unwrap() []error }:
		for _, each := range e.Unwrap() {
			paths = append(paths, paramPaths(each)...)
		}
	}
	return paths
}

// occurrences returns the ranges of a text where part stands.
func occurrences(text, part string) (found []mask.Span) {
	for at := 0; part != ""; {
		i := strings.Index(text[at:], part)
		if i < 0 {
			break
		}
		found = append(found, mask.Span{Start: at + i, End: at + i + len(part)})
		at += i + len(part)
	}
	return found
}

// cover replaces every stretch of text that is covered by secrets and not by names.
func (m *masker) cover(text string, names []string) string {
	var readable []mask.Span
	for _, name := range names {
		if name != "" {
			readable = append(readable, occurrences(text, name+": ")...)
		}
	}
	return m.known.MaskIf(text, func(secret string, at mask.Span) bool {
		inName := slices.ContainsFunc(readable, func(r mask.Span) bool { return r.Start <= at.Start && at.End <= r.End })
		return !inName && distinctnessOf(secret).shows(text, at)
	})
}

// label matches the text before a value that announces a secret: password: x, "token": "x", secret=x, -p x.
var label = regexp.MustCompile(`(?i)(?:pass|pwd|secret|token|credential|(?:private|client|certificate|ssh|api|access)[_-]?key|kubeconfig|\s-p|^-p|["']-p)` +
	`[\pL\pN_.\[\]-]*[\\"')]*\s*(?:[:=]|=>|["'],|is|was)?\s*[\\"'(]*$`)

// attached is a label without anything between it and the secret: -px.
var attached = regexp.MustCompile(`(?:^|[\s"'])-p$`)

// longestLabel bounds what is searched before a secret for its label.
const longestLabel = 80

// shows reports whether a secret is disclosed where its letters are found in a text.
func (d distinctness) shows(text string, at mask.Span) bool {
	before, after := text[:at.Start], text[at.End:]
	first, _ := utf8.DecodeRuneInString(text[at.Start:])
	last, _ := utf8.DecodeLastRuneInString(text[:at.End])
	previous, _ := utf8.DecodeLastRuneInString(before)
	next, size := utf8.DecodeRuneInString(after)
	joinedBefore := wordRune(first) && wordRune(previous) && !attached.MatchString(before[max(0, len(before)-3):])
	joinedAfter := wordRune(last) && wordRune(next)
	alone := !joinedBefore && !joinedAfter
	switch d {
	case distinctive:
		return true
	case short:
		return alone
	}
	if strings.ContainsRune("-./", next) { // ansible-playbook, ansible.cfg
		following, _ := utf8.DecodeRuneInString(after[size:])
		alone = alone && !wordRune(following)
	}
	return alone && label.MatchString(before[max(0, len(before)-longestLabel):])
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

// urlCredentials is the user info of a URL, as lenient as the values found in requests: ports that are no
// numbers, passwords with an @.
var urlCredentials = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^/\s"'<>]+)@`)

func maskURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text // the usual case, and texts can be long
	}
	return urlCredentials.ReplaceAllString(text, "${1}"+Mask+"@")
}

// urlPasswords are the passwords of the URLs in a value, as written and decoded.
func urlPasswords(value string) (found []string) {
	if !strings.Contains(value, "://") {
		return nil
	}
	for _, match := range urlCredentials.FindAllStringSubmatch(value, -1) {
		if _, password, ok := strings.Cut(match[2], ":"); ok {
			found = append(found, password)
			if decoded, err := url.PathUnescape(password); err == nil {
				found = append(found, decoded)
			}
		}
	}
	return found
}

// masked keeps the types of err, masks its text and bounds it.
func (s *session) masked(err error) error {
	if err == nil {
		return nil
	}
	return &maskedError{text: s.op.mask.applyTo(err), err: err}
}

// maskedError shows a masked text; errors.Is and errors.As find the wrapped error.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }
