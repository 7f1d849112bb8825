// Csar-lint checks VNF packages: their form, digests, signatures and descriptors.
//
//	csar-lint [-format text|json|sarif] [-strict] [-ignore CODE] [-roots PEM] [-require-signature] [-as vnfd|nsd|pnfd] PATH...
//
// PATH is a CSAR or a directory with the layout of one. The exit code is 0 when no package has errors, 1 when one has,
// and 2 when one could not be read or the command line is wrong. Warnings alone leave it at 0, unless -strict is given:
// then all warnings are errors. -ignore, which may be repeated, leaves the problems with a code out, for example those that
// a vendor cannot change in a signed package. The codes are listed in docs/problem-codes.md.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Exit codes.
const (
	exitClean = iota
	exitProblems
	exitUnreadable
)

// result is the result for one package.
type result struct {
	Path     string       `json:"path"`
	Verdict  verdict      `json:"verdict"`
	Problems problem.List `json:"problems"`
	// Ignored is the number of problems that were left out.
	Ignored int `json:"ignored,omitempty"`
	// Reason says why the package could not be read.
	Reason string `json:"reason,omitempty"`
}

type verdict string

const (
	clean      verdict = "clean"
	warned     verdict = "warnings" // and no problems
	faulty     verdict = "problems"
	unreadable verdict = "unreadable"
)

// writers write results in the formats that -format names.
var writers = map[string]func(io.Writer, []result) error{"text": writeText, "json": writeJSON, "sarif": writeSARIF}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "csar-lint:", err)
	}
	os.Exit(code)
}

var errUsage = errors.New("usage: csar-lint [-format text|json|sarif] [-strict] [-ignore CODE] [-roots PEM] [-require-signature] [-as vnfd|nsd|pnfd] PATH [PATH ...]")

// help says how the program is called. The flags follow.
const help = `Csar-lint checks VNF packages: their form, digests, signatures and descriptors.

	csar-lint vnf.csar                             for people
	csar-lint -format sarif vnf.csar               for code scanners
	csar-lint -as nsd ns.csar                      to refuse a package that describes something else
	csar-lint -strict -roots vendor.pem *.csar     as a VNF manager that trusts one vendor
	csar-lint -strict -ignore csar.release-time vnf.csar    for a fault that cannot be mended in a signed package

Exit codes: 0 no package has errors, 1 a package has errors, 2 a package could not be read or the command line is wrong.

`

// run returns the exit code, and why the packages could not be checked or the results not be written.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("csar-lint", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	format := flags.String("format", "text", "text, json (an object per package and line) or sarif")
	strict := flags.Bool("strict", false, "let no deviation from the specifications pass: all warnings are errors")
	roots := flags.String("roots", "", "file with the certificates (PEM) of trusted signers; implies -require-signature")
	signed := flags.Bool("require-signature", false, "refuse a package that no trusted signer has signed as a whole")
	l := linter{ignored: map[problem.Code]bool{}}
	flags.Func("ignore", "leave out the problems with this code (docs/problem-codes.md); may be repeated", l.ignore)
	as := flags.String("as", "", "vnfd, nsd or pnfd: what the package must describe (default: any of them)")
	paths, err := cli.ParseFlags(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitClean, writeHelp(out, flags)
	case err != nil:
		return exitUnreadable, fmt.Errorf("%w\n%w", err, errUsage)
	}
	write, known := writers[*format]
	if !known || len(paths) == 0 {
		return exitUnreadable, errUsage
	}
	described, known := descriptors[*as]
	if !known {
		return exitUnreadable, fmt.Errorf("-as %q: must be vnfd, nsd or pnfd\n%w", *as, errUsage)
	}
	l.strict = *strict
	if l.opts, err = options(*strict, *signed, *roots); err != nil {
		return exitUnreadable, err
	}
	l.opts = append(l.opts, described...)
	var results []result
	code := exitClean
	for _, path := range paths {
		r, c := l.check(ctx, path)
		results, code = append(results, r), max(code, c)
	}
	if err := write(out, results); err != nil {
		return exitUnreadable, err
	}
	return code, nil
}

func writeHelp(out io.Writer, flags *flag.FlagSet) error {
	_, err := fmt.Fprintf(out, "%s\n\n%s", errUsage, help)
	flags.SetOutput(out)
	flags.PrintDefaults()
	return err
}

// descriptors are the options of the parser for the values of -as.
var descriptors = map[string][]tosca.Option{"": {tosca.AnyDescriptor()}, "vnfd": nil, "nsd": {tosca.Describing(tosca.NSD)}, "pnfd": {tosca.Describing(tosca.PNFD)}}

// options are the other options of the parser. Roots imply that a
// signature is required: a person who changes a package could also remove its signature.
func options(strict, signed bool, roots string) ([]tosca.Option, error) {
	var opts []tosca.Option
	if strict {
		opts = append(opts, tosca.Strict())
	}
	var integrity csar.Integrity
	if signed {
		integrity.Policy = csar.Require
	}
	if roots != "" {
		pem, err := os.ReadFile(roots) //nolint:gosec // the file that the user names
		if err != nil {
			return nil, err
		}
		integrity.Roots = x509.NewCertPool()
		if !integrity.Roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", roots)
		}
	}
	return append(opts, tosca.WithIntegrity(integrity)), nil
}

// linter checks packages.
type linter struct {
	opts    []tosca.Option
	strict  bool
	ignored map[problem.Code]bool
}

// ignore adds a code of problems to leave out.
func (l *linter) ignore(text string) error {
	codes := problem.Codes()
	code := problem.Code(text)
	if slices.Contains(codes, code) {
		l.ignored[code] = true
		return nil
	}
	var names []string
	for _, c := range codes {
		names = append(names, string(c))
	}
	return fmt.Errorf("problems have no such code, the nearest is %s", problem.NearestFirst(text, names)[0])
}

// check checks a package, and returns the exit code that it alone would give.
func (l *linter) check(ctx context.Context, path string) (result, int) {
	problems, err := tosca.Check(ctx, path, l.opts...)
	if err != nil {
		return result{Path: path, Verdict: unreadable, Problems: problem.List{}, Reason: err.Error()}, exitUnreadable
	}
	r := result{Path: path, Verdict: clean, Problems: problem.List{}}
	for _, p := range problems {
		if l.ignored[p.Code] {
			r.Ignored++
			continue
		}
		if l.strict || p.Quirk == problem.OtherIdentifiers { // a VNFM lets it pass, but the author of a package should not
			p.Severity = problem.Error
		}
		r.Problems = append(r.Problems, p)
	}
	switch {
	case slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return p.Severity == problem.Error }):
		r.Verdict = faulty
		return r, exitProblems
	case len(r.Problems) > 0:
		r.Verdict = warned
	}
	return r, exitClean
}

// where is a position as editors and CI systems take it to jump there: a path of the file system where the package is a
// directory, else one inside the package.
func where(path string, p problem.Problem) string {
	if p.File == "" {
		return path
	}
	return strings.TrimSuffix(path, "/") + "/" + p.Position.String()
}
