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
	"strconv"
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
	return f, nil
}

// digests calls fn with the SHA-256 of each operand, or of standard input. They
// may be large: nothing is kept.
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
		} else if strings.ContainsAny(name, "\\\n\r") { // as GNU's marks it
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

// openssl digests. A host without it has Config.Commands["openssl"] = nil.
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

// copying is what dd was asked. Blocks are always full, as with iflag=fullblock.
type copying struct {
	in, out           string
	block             int64
	skip, seek, count int64 // bytes; count -1: all
	keep              bool  // what the output file has beyond
	quiet             bool
}

func dd(_ context.Context, p *Process) int {
	c, err := parseDD(p.Args[1:])
	if err != nil {
		return p.usage("%v", err)
	}
	n, err := p.copyBlocks(c)
	if !c.quiet {
		_, _ = fmt.Fprintf(p.Stderr, "%d+%d records out\n%d bytes copied\n", n/c.block, min(n%c.block, 1), n)
	}
	if err != nil {
		return p.fail(err)
	}
	return 0
}

func parseDD(args []string) (copying, error) {
	values := map[string]string{"bs": "512", "skip": "0", "seek": "0", "count": "-1"}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !slices.Contains([]string{"if", "of", "bs", "skip", "seek", "count", "iflag", "oflag", "conv", "status"}, name) {
			return copying{}, fmt.Errorf("%q is not supported by this simulated program", arg)
		}
		values[name] = value
	}
	c := copying{in: values["if"], out: values["of"], quiet: values["status"] == "none"}
	flags := strings.Split(values["iflag"]+","+values["oflag"]+","+values["conv"], ",")
	for _, flag := range flags {
		if !slices.Contains([]string{"", "fullblock", "skip_bytes", "count_bytes", "seek_bytes", "notrunc", "fsync"}, flag) {
			return copying{}, fmt.Errorf("flag %q is not supported by this simulated program", flag)
		}
	}
	c.keep = slices.Contains(flags, "notrunc")
	var err error
	if c.block, err = blockSize(values["bs"]); err != nil || c.block < 1 {
		return copying{}, fmt.Errorf("bs=%s is not supported by this simulated program", values["bs"])
	}
	for name, to := range map[string]*int64{"skip": &c.skip, "seek": &c.seek, "count": &c.count} {
		n, err := strconv.ParseInt(values[name], 10, 64)
		if err != nil {
			return copying{}, fmt.Errorf("%s=%s is not supported by this simulated program", name, values[name])
		}
		if n > 0 && !slices.Contains(flags, name+"_bytes") {
			n *= c.block
		}
		*to = n
	}
	return c, nil
}

func blockSize(text string) (int64, error) {
	unit := int64(1)
	for suffix, n := range map[string]int64{"k": 1 << 10, "K": 1 << 10, "M": 1 << 20} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = rest, n
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n * unit, err
}

func (p *Process) copyBlocks(c copying) (int64, error) {
	if c.in == "" {
		c.in = "-"
	}
	in, err := p.inputFile(c.in)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	if err := skipInput(in, c.skip); err != nil {
		return 0, err
	}
	var from io.Reader = in
	if c.count >= 0 {
		from = io.LimitReader(in, c.count)
	}
	if c.out == "" {
		return io.CopyBuffer(writerOnly{p.Stdout}, from, make([]byte, min(c.block, 1<<20)))
	}
	out, err := p.FS.OpenFile(p.abs(c.out), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return 0, err
	}
	n, err := writeFrom(out, from, c)
	return n, errors.Join(err, out.Close())
}

func writeFrom(out afero.File, from io.Reader, c copying) (int64, error) {
	if !c.keep {
		if err := out.Truncate(c.seek); err != nil {
			return 0, err
		}
	}
	if _, err := out.Seek(c.seek, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(writerOnly{out}, from)
}

// writerOnly hides that a writer could read from a reader itself.
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

// headBytes and tailBytes are head -c N, tail -c N and tail -c +N.
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
