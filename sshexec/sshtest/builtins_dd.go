package sshtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/afero"
)

// copying holds the operands of dd. Blocks are always full, as with iflag=fullblock.
type copying struct {
	in, out           string
	block             int64
	skip, seek, count int64 // bytes; count -1: all
	keep              bool  // keep the rest of the output file
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
	out, err := p.FS.OpenFile(p.abs(c.out), os.O_WRONLY|os.O_CREATE, 0o666)
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
