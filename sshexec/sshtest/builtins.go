package sshtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// builtins returns the programs that every host has. They support the options that provisioning scripts use and refuse others.
func builtins() map[string]Command {
	return map[string]Command{
		"sh": sh, "bash": sh, "dash": sh,
		"sudo": sudo, "env": env, "timeout": timeout, "flock": flock, "kill": kill, "sleep": sleep, "setsid": setsid, "nohup": nohup,
		"cat": cat, "tee": tee, "head": head, "tail": tail, "grep": grep, "sort": sorted, "uniq": uniq,
		"wc": wc, "tr": tr, "cut": cut, "sha256sum": sha256sum, "openssl": openssl, "cmp": cmpFiles, "dd": dd,
		"find": find, "xargs": xargs, "ln": ln, "readlink": readlink, "sync": syncDisks,
		"cp": cp, "mv": mv, "rm": rm, "mkdir": mkdir, "rmdir": rmdir, "touch": touch, "ls": ls,
		"chmod": chmod, "chown": chown, "stat": stat, "install": install, "mktemp": mktemp,
		"basename": basename, "dirname": dirname, "which": which, "seq": seq, "date": date,
		"true": ofShell, "false": ofShell, "echo": ofShell, "printf": ofShell, "pwd": ofShell, "test": ofShell, "[": ofShell,
		"id": id, "whoami": whoami, "uname": uname, "hostname": hostname,
	}
}

// ofShell runs a shell builtin, such as test, that a caller starts as a program.
func ofShell(ctx context.Context, p *Process) int {
	return p.script(ctx, nil, "sh", p.Args[1:], path.Base(p.Args[0])+` "$@"`)
}

// options are the options of a program, by letter.
type options map[byte]string

func (o options) has(letter byte) bool {
	_, ok := o[letter]
	return ok
}

// parseOptions splits arguments into options and operands. known lists the letters of the options; a colon follows each letter
// that takes a value. The values of a repeated option are joined by newlines. If strict is set, the first operand ends the
// options; otherwise options and operands may be mixed, as GNU programs allow.
func (p *Process) parseOptions(known string, strict bool) (options, []string, error) {
	found := options{}
	var operands []string
	for args := p.Args[1:]; len(args) > 0; args = args[1:] {
		arg := args[0]
		if arg == "--" {
			return found, append(operands, args[1:]...), nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			if strict {
				return found, args, nil
			}
			operands = append(operands, arg)
			continue
		}
		for i := 1; i < len(arg); i++ {
			at := strings.IndexByte(known, arg[i])
			if at < 0 || arg[i] == ':' {
				return nil, nil, fmt.Errorf("option %s is not supported by this simulated program", arg)
			}
			if at+1 == len(known) || known[at+1] != ':' {
				found[arg[i]] = ""
				continue
			}
			value := arg[i+1:]
			if value == "" {
				if len(args) < 2 {
					return nil, nil, fmt.Errorf("option %s needs a value", arg)
				}
				value, args = args[1], args[1:]
			}
			if before, again := found[arg[i]]; again {
				value = before + "\n" + value
			}
			found[arg[i]] = value
			break
		}
	}
	return found, operands, nil
}

func readFile(p *Process, name string) ([]byte, error) {
	in, err := p.inputFile(name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(in)
	return content, errors.Join(err, in.Close())
}

// inputs calls fn with the content of each operand, or of standard input.
func (p *Process) inputs(operands []string, fn func(name string, content []byte)) int {
	if len(operands) == 0 {
		operands = []string{"-"}
	}
	code := 0
	for _, name := range operands {
		content, err := readFile(p, name)
		if err != nil {
			code = p.fail(err)
			continue
		}
		fn(name, content)
	}
	return code
}

func lines(content []byte) []string {
	if len(content) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

// cat copies while it reads, because the input may be large or arrive slowly.
func cat(_ context.Context, p *Process) int {
	_, names, err := p.parseOptions("u", false)
	if err != nil {
		return p.usage("%v", err)
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	code := 0
	for _, name := range names {
		if err := p.catOne(name); err != nil {
			code = p.fail(err)
		}
	}
	return code
}

func (p *Process) catOne(name string) error {
	in, err := p.inputFile(name)
	if err != nil {
		return err
	}
	return errors.Join(copyInput(writerOnly{p.Stdout}, in), in.Close())
}

// copyInput copies until the end of from. A killed command has its input closed, which also counts as the end.
func copyInput(to io.Writer, from io.Reader) error {
	_, err := copyAll(to, from)
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func tee(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("a", false)
	if err != nil {
		return p.usage("%v", err)
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if found.has('a') {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	outputs := []io.Writer{p.Stdout}
	code := 0
	for _, name := range names {
		f, err := p.FS.OpenFile(p.abs(name), flag, 0o666)
		if err != nil {
			code = p.fail(err)
			continue
		}
		defer func() { _ = f.Close() }()
		if found.has('a') {
			_, _ = f.Seek(0, io.SeekEnd)
		}
		outputs = append(outputs, f)
	}
	if err := copyInput(io.MultiWriter(outputs...), p.Stdin); err != nil {
		return p.fail(err)
	}
	return code
}
