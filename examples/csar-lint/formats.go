package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

func writeText(out io.Writer, results []result) error {
	var b strings.Builder
	for _, r := range results {
		for _, p := range r.Problems {
			fmt.Fprintf(&b, "%s: %s: %s [%s]\n", where(r.Path, p), p.Severity, p.Text(), p.Code)
		}
		fmt.Fprintf(&b, "%s: %s", r.Path, r.Verdict)
		if r.Reason != "" {
			fmt.Fprintf(&b, ": %s", r.Reason)
		}
		if r.Ignored > 0 {
			fmt.Fprintf(&b, " (%d ignored)", r.Ignored)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func writeJSON(out io.Writer, results []result) error {
	to := json.NewEncoder(out)
	for _, r := range results {
		if err := to.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// The part of SARIF 2.1.0 (OASIS) that describes results and their positions.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver struct {
				Name           string      `json:"name"`
				InformationURI string      `json:"informationUri"`
				Rules          []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results     []sarifResult     `json:"results"`
		Invocations []sarifInvocation `json:"invocations"`
	}
	sarifRule struct {
		ID          problem.Code `json:"id"`
		Description sarifText    `json:"shortDescription"`
		HelpURI     string       `json:"helpUri"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    problem.Code     `json:"ruleId"`
		Level     problem.Severity `json:"level"`
		Message   sarifText        `json:"message"`
		Locations []sarifLocation  `json:"locations"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   problem.Severity `json:"level"`
		Message sarifText        `json:"message"`
	}
)

// codesURI is the documentation of the codes.
const codesURI = "https://pkg.go.dev/github.com/vnfkit/vnfkit/tosca/problem#pkg-constants"

func writeSARIF(out io.Writer, results []result) error {
	var run sarifRun
	run.Tool.Driver.Name = "csar-lint"
	run.Tool.Driver.InformationURI = "https://github.com/vnfkit/vnfkit"
	run.Results = []sarifResult{}
	invocation := sarifInvocation{Successful: true}
	codes := map[problem.Code]bool{}
	for _, r := range results {
		if r.Verdict == unreadable {
			invocation.Successful = false
			invocation.Notifications = append(invocation.Notifications,
				sarifNotification{Level: problem.Error, Message: sarifText{r.Path + ": " + r.Reason}})
		}
		for _, p := range r.Problems {
			codes[p.Code] = true
			run.Results = append(run.Results, sarifOf(r.Path, p))
		}
	}
	run.Tool.Driver.Rules = []sarifRule{}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{code, sarifText{code.Description()}, codesURI})
	}
	run.Invocations = []sarifInvocation{invocation}
	to := json.NewEncoder(out)
	to.SetIndent("", "  ")
	return to.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifOf(path string, p problem.Problem) sarifResult {
	var l sarifLocation
	l.Physical.Artifact.URI = (&url.URL{Path: filepath.ToSlash(where(path, problem.Problem{Position: problem.Position{File: p.File}}))}).String()
	if p.Line > 0 {
		l.Physical.Region = &sarifRegion{p.Line, p.Column}
	}
	return sarifResult{RuleID: p.Code, Level: p.Severity, Message: sarifText{p.Text()}, Locations: []sarifLocation{l}}
}
