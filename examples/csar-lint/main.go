// Csar-lint checks VNF packages: their form, digests, signatures and descriptors.
//
//	csar-lint [-format text|json|sarif] [-strict] [-roots PEM] [-require-signature] [-as vnfd|nsd|pnfd] PATH...
//
// PATH is a CSAR or a directory with the layout of one. The exit code is 0 when no package has errors, 1 when one has,
// and 2 when one could not be read or the command line is wrong. Warnings alone leave it at 0, unless -strict is given:
// then the deviations that are otherwise let pass are errors, and whatever else is a warning counts as one.
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

var errUsage = errors.New("usage: csar-lint [-format text|json|sarif] [-strict] [-roots PEM] [-require-signature] [-as vnfd|nsd|pnfd] PATH [PATH ...]")

// help says how the program is called. The flags follow.
const help = `Csar-lint checks VNF packages: their form, digests, signatures and descriptors.

	csar-lint vnf.csar                             for people
	csar-lint -format sarif vnf.csar               for code scanners
	csar-lint -as nsd ns.csar                      to refuse a package that describes something else
	csar-lint -strict -roots vendor.pem *.csar     as a VNF manager that trusts one vendor

Exit codes: 0 no package has errors, 1 a package has errors, 2 a package could not be read or the command line is wrong.

`

// run returns the exit code, and why the packages could not be checked or the results not be written.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("csar-lint", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	format := flags.String("format", "text", "text, json (an object per package and line) or sarif")
	strict := flags.Bool("strict", false, "let no deviation from the specifications pass")
	roots := flags.String("roots", "", "file with the certificates (PEM) of trusted signers; implies -require-signature")
	signed := flags.Bool("require-signature", false, "refuse a package that no trusted signer has signed as a whole")
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
	opts, err := options(*strict, *signed, *roots)
	if err != nil {
		return exitUnreadable, err
	}
	opts = append(opts, described...)
	tolerated := problem.Warning
	if *strict {
		tolerated = ""
	}
	var results []result
	code := exitClean
	for _, path := range paths {
		r, c := check(ctx, path, tolerated, opts)
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

// check checks a package, and returns the exit code that it alone would give. Problems of the tolerated severity do not change
// that.
func check(ctx context.Context, path string, tolerated problem.Severity, opts []tosca.Option) (result, int) {
	problems, err := tosca.Check(ctx, path, opts...)
	for i, p := range problems {
		if p.Quirk == problem.OtherIdentifiers { // a VNFM lets it pass, but the author of a package should not
			problems[i].Severity = problem.Error
		}
	}
	switch {
	case err != nil:
		return result{Path: path, Verdict: unreadable, Problems: problem.List{}, Reason: err.Error()}, exitUnreadable
	case slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Severity != tolerated }):
		return result{Path: path, Verdict: faulty, Problems: problems}, exitProblems
	}
	r := result{Path: path, Verdict: clean, Problems: append(problem.List{}, problems...)}
	if len(problems) > 0 {
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
