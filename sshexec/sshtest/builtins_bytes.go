package sshtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/afero"
)

// inputFile opens a file, or standard input.
func (p *Process) inputFile(name string) (io.ReadCloser, error) {
	if name == "-" || name == "/dev/stdin" {
		return io.NopCloser(p.Stdin), nil
	}
	f, err := p.FS.Open(p.abs(name))
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s: Is a directory", name), f.Close())
	}
	return &stoppable{f, p.ctx}, nil
}

// stoppable is a file whose reads fail once the program is killed. Without this, a program that reads the endless /dev/zero
// would never return.
type stoppable struct {
	afero.File
	ctx context.Context
}

func (s *stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, os.ErrClosed
	}
	return s.File.Read(p)
}

// digests calls fn with the SHA-256 of each operand, or of standard input. It does not hold large files in memory.
func (p *Process) digests(names []string, fn func(name, digest string)) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	code := 0
	for _, name := range names {
		f, err := p.inputFile(name)
		if err != nil {
			code = p.fail(err)
			continue
		}
		digest := sha256.New()
		err = copyInput(digest, f)
		if err = errors.Join(err, f.Close()); err != nil {
			code = p.fail(err)
			continue
		}
		fn(name, fmt.Sprintf("%x", digest.Sum(nil)))
	}
	return code
}

func sha256sum(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("bz", false)
	if err != nil {
		return p.usage("%v", err)
	}
	return p.digests(names, func(name, digest string) {
		end := "\n"
		if found.has('z') {
			end = "\x00"
		} else if strings.ContainsAny(name, "\\\n\r") { // GNU sha256sum marks an escaped name with a backslash
			digest = `\` + digest
			name = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
		}
		kind := "  "
		if found.has('b') {
			kind = " *"
		}
		_, _ = io.WriteString(p.Stdout, digest+kind+name+end)
	})
}

// openssl supports only "dgst -sha256 -r". Config.Commands["openssl"] = nil simulates a host without openssl.
func openssl(_ context.Context, p *Process) int {
	args := p.Args[1:]
	if len(args) < 3 || !slices.Equal(args[:3], []string{"dgst", "-sha256", "-r"}) {
		return p.usage("only openssl dgst -sha256 -r is supported by this simulated program")
	}
	return p.digests(args[3:], func(name, digest string) {
		if name == "-" {
			name = "stdin"
		}
		_, _ = io.WriteString(p.Stdout, digest+" *"+name+"\n")
	})
}

func cmpFiles(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("s", false)
	if err != nil || len(names) != 2 {
		return p.usage("only cmp [-s] A B is supported by this simulated program: %v", err)
	}
	var contents [2][]byte
	for i, name := range names {
		if contents[i], err = readFile(p, name); err != nil {
			_ = p.fail(err)
			return 2
		}
	}
	if bytes.Equal(contents[0], contents[1]) {
		return 0
	}
	if !found.has('s') {
		at := 0
		for at < min(len(contents[0]), len(contents[1])) && contents[0][at] == contents[1][at] {
			at++
		}
		p.print([]string{fmt.Sprintf("%s %s differ: byte %d, line %d", names[0], names[1], at+1, bytes.Count(contents[0][:at], []byte("\n"))+1)})
	}
	return 1
}

// writerOnly hides the ReadFrom method of a writer, so that io.CopyBuffer uses the given buffer.
type writerOnly struct{ io.Writer }

func skipInput(in io.Reader, n int64) error {
	if f, ok := in.(io.Seeker); ok && n > 0 {
		_, err := f.Seek(n, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, in, n)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// headBytes implements head -c N. tailBytes implements tail -c N and tail -c +N.
func (p *Process) headBytes(text string, names []string) int {
	n, err := blockSize(text)
	if err != nil || n < 0 {
		return p.usage("invalid number of bytes %q", text)
	}
	return p.streams(names, func(in io.Reader) error { return copyInput(p.Stdout, io.LimitReader(in, n)) })
}

func (p *Process) tailBytes(text string, names []string) int {
	from, isFrom := strings.CutPrefix(text, "+")
	n, err := blockSize(from)
	if err != nil || n < 0 {
		return p.usage("invalid number of bytes %q", text)
	}
	return p.streams(names, func(in io.Reader) error {
		if isFrom {
			if err := skipInput(in, max(n-1, 0)); err != nil {
				return err
			}
			return copyInput(p.Stdout, in)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		_, err = p.Stdout.Write(content[max(0, int64(len(content))-n):])
		return err
	})
}

// streams calls fn with each operand, or standard input.
func (p *Process) streams(names []string, fn func(io.Reader) error) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	code := 0
	for _, name := range names {
		in, err := p.inputFile(name)
		if err == nil {
			err = errors.Join(fn(in), in.Close())
		}
		if err != nil {
			code = p.fail(err)
		}
	}
	return code
}
