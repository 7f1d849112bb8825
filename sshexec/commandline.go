package sshexec

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// frame is a script that replaces itself by the command. First it writes a line with its process id and, from /proc, its process
// group to standard output and standard error. On each stream, output of the login shell comes before this line, and sudo does not
// ask for a password after it. Then frame reads the environment from standard input and changes the directory. The command gets the
// rest of standard input, because read takes a pipe byte by byte. frame is one line, because csh as a login shell does not accept
// several. It unsets its variables before the command starts.
//
//	$1 marker, $2 number of variables, $3 directory, then the command
const frame = `_sshexec=; { read -r _sshexec <"/proc/$$/stat"; } 2>/dev/null; ` +
	`_sshexec="${_sshexec##*) }"; _sshexec="${_sshexec#* * }"; _sshexec="$1 $$ ${_sshexec%% *}"; echo "$_sshexec"; echo "$_sshexec" >&2; ` +
	`if [ "$2" -gt 0 ]; then _sshexec_n=$2; _sshexec_nl="$(printf "\n_")"; _sshexec_nl="${_sshexec_nl%_}"; ` +
	`while [ "$_sshexec_n" -gt 0 ]; do IFS= read -r _sshexec || exit 125; eval "$_sshexec"; _sshexec_n=$((_sshexec_n - 1)); done; ` +
	`unset _sshexec_n _sshexec_nl; fi; unset _sshexec; ` +
	`if [ -n "$3" ]; then cd "$3" || exit 125; fi; ` +
	`shift 3; exec "$@"`

// invocation is a command in the form in which it is sent.
type invocation struct {
	line   string // text for the login shell, which replaces itself by the command and so prints nothing after it
	env    string // sent before standard input
	sudo   bool
	listed bool   // sudo runs the command directly, without frame
	prompt string // prompt of sudo; "" if sudo must not ask
	marker string // first word of the line that frame writes
	shown  string // the command for display, masked
	masker *mask.Masker
}

func (h *Host) invocation(c Command) (invocation, error) {
	inv := invocation{masker: mask.New(h.secrets(c)...), marker: "sshexec-" + rand.Text()}
	inv.shown = c.shown(inv.masker)
	if err := c.validate(); err != nil {
		return inv, err
	}
	var err error
	if inv.env, err = exports(c.Env); err != nil {
		return inv, err
	}
	user := c.User
	if c.Root {
		user = "root"
	}
	inv.sudo = user != "" && user != h.target.User
	inv.listed = inv.sudo && h.target.Sudo.listed && c.Shell == "" && len(c.Env) == 0 && c.Dir == ""
	if inv.sudo && h.target.Sudo.secret != nil {
		inv.prompt = "sshexec-" + rand.Text() + ":"
	}
	inv.line = inv.framed(c, user)
	return inv, nil
}

// replaceShell makes the login shell replace itself by the command, so that it prints nothing after the command. Restricted shells
// refuse exec; for them the command is sent again without it.
const replaceShell = "exec "

func (inv invocation) framed(c Command, user string) string {
	framing := []string{"/bin/sh", "-c", frame, "sh", inv.marker, strconv.Itoa(len(c.Env)), c.Dir}
	command := c.Argv
	if c.Shell != "" {
		command = []string{"/bin/sh", "-c", string(c.Shell)}
	}
	if inv.listed {
		return replaceShell + shellescape.QuoteCommand(slices.Concat(framing, inv.asUser(c, user), command))
	}
	return replaceShell + shellescape.QuoteCommand(slices.Concat(inv.asUser(c, user), framing, command))
}

// asUser returns the words before a command that sudo runs, none without sudo.
func (inv invocation) asUser(c Command, user string) []string {
	if !inv.sudo {
		return nil
	}
	words := []string{"sudo", "-H", "-n"} // -H: some distributions do not change HOME
	if inv.prompt != "" {
		words = []string{"sudo", "-H", "-S", "-p", inv.prompt}
	}
	if !c.Root {
		words = append(words, "-u", user)
	}
	return append(words, "--")
}

func (c Command) validate() error {
	switch {
	case len(c.Argv) > 0 && c.Shell != "":
		return errors.New("a command has either Argv or Shell, not both")
	case len(c.Argv) == 0 && c.Shell == "":
		return errors.New("a command needs Argv or Shell")
	case len(c.Argv) > 0 && c.Argv[0] == "":
		return errors.New("the program in Argv[0] is empty")
	case strings.ContainsRune(string(c.Shell), 0):
		return errors.New("shell text contains a NUL byte")
	case c.Dir != "" && !path.IsAbs(c.Dir):
		return fmt.Errorf("directory %q is not absolute", c.Dir)
	case strings.ContainsRune(c.Dir, 0):
		return errors.New("directory contains a NUL byte")
	case c.Root && c.User != "":
		return errors.New("a command has either Root or User, not both")
	case c.User != "" && !userName.MatchString(c.User):
		return fmt.Errorf("user name %q is not allowed", c.User)
	}
	for i, arg := range c.Argv {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("argument %d contains a NUL byte", i)
		}
	}
	return nil
}

// userName matches the names that useradd of Debian and Red Hat allows. sudo -u accepts them only as names.
var userName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*\$?$`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// exports returns one line of shell text per variable, sorted by name. A newline in a value is written as the variable _sshexec_nl,
// which frame sets.
func exports(env map[string]string) (string, error) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !variableName.MatchString(name) || strings.HasPrefix(name, "_sshexec") {
			return "", fmt.Errorf("environment variable name %q is not allowed", name)
		}
		value := env[name]
		if strings.ContainsRune(value, 0) {
			return "", fmt.Errorf("environment variable %s contains a NUL byte", name)
		}
		fmt.Fprintf(&text, "export %s=%s\n", name, oneLine(value))
	}
	return text.String(), nil
}

// oneLine quotes a value in one line of shell text.
func oneLine(value string) string {
	lines := strings.Split(value, "\n")
	for i, line := range lines {
		lines[i] = shellescape.Quote(line)
	}
	return strings.Join(lines, `"$_sshexec_nl"`)
}

// doing returns the description of an action on a file of the host.
func doing(what, path string) string { return what + " " + shellescape.Quote(path) }

// shown returns the command for display. It masks words before it quotes them, because quoting changes the text of a secret.
func (c Command) shown(m *mask.Masker) string {
	if c.does != "" {
		return m.Mask(c.does)
	}
	if c.Shell != "" {
		return m.Mask(string(c.Shell))
	}
	words := make([]string, len(c.Argv))
	for i, arg := range c.Argv {
		words[i] = m.Mask(arg)
		if words[i] != mask.Text {
			words[i] = shellescape.Quote(words[i])
		}
	}
	return m.Mask(strings.Join(words, " "))
}

// secrets returns the texts to mask: Command.Secrets and the passwords of the target. A password that equals the user's name is
// not masked, because this would mask a part of each path below the home directory.
func (h *Host) secrets(c Command) []string {
	secrets := slices.Clone(c.Secrets)
	add := func(password string) {
		if password != "" && password != h.target.User {
			secrets = append(secrets, password)
		}
	}
	if h.target.Sudo.secret != nil {
		add(*h.target.Sudo.secret)
	}
	for _, a := range h.target.Auth {
		if a.method != nil {
			if password := a.method().password; password != nil {
				add(*password)
			}
		}
	}
	return secrets
}
