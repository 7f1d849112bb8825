package grammar_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// files are documents by name. files implements documents.Source.
type files map[string]string

func (f files) Locate(dir, file string) (string, bool) {
	name := path.Join(dir, file)
	if _, ok := f[name]; ok {
		return name, true
	}
	return "", true
}

func (f files) Document(name string) ([]byte, error) { return []byte(f[name]), nil }

// validate returns the problems of v.yaml and the documents that it imports.
func validate(t *testing.T, f files, allowed ...problem.Quirk) problem.List {
	t.Helper()
	r := &report.Report{}
	set, err := documents.Load(context.Background(), f, "v.yaml", nil, r)
	if err != nil && r.Err() == nil {
		t.Fatal(err)
	}
	if set != nil {
		grammar.Validate(set, grammar.NewTypes(set, r), allowed, r)
	}
	list := r.Warnings()
	if err := r.Err(); err != nil {
		list = slices.Concat(list, err.(problem.List)) //nolint:errorlint // Err documents this type
	}
	return list.Sorted()
}

// types is the beginning of a document with type definitions that the tests use. The tests do not depend on types of SOL001.
const types = `tosca_definitions_version: tosca_simple_yaml_1_3
node_types:
  Base:
    derived_from: tosca.nodes.Root
    properties:
      name: {type: string}
      count: {type: integer, default: 1, constraints: [in_range: [1, 9]]}
    attributes: {state_of_it: {type: string}}
  Server:
    derived_from: Base
    properties: {size: {type: Size, required: false}, tags: {type: list, entry_schema: {type: string}, required: false}}
    capabilities:
      serving: {type: Serving, properties: {extra: {type: integer, required: false}}}
    interfaces:
      Life: {type: Life}
  Client:
    derived_from: Base
    requirements:
      - server: {capability: Serving, node: Server, relationship: tosca.relationships.DependsOn}
      - any: {capability: tosca.capabilities.Node, occurrences: [0, UNBOUNDED]}
  Refined: {derived_from: Base, properties: {count: {default: 2}}}
data_types:
  Size: {derived_from: tosca.datatypes.Root, properties: {memory: {type: scalar-unit.size}, cpus: {type: Count, required: false}}}
  Count: {derived_from: integer, constraints: [greater_than: 0]}
capability_types:
  Serving: {derived_from: tosca.capabilities.Root, properties: {port: {type: integer, required: false}}}
interface_types:
  Life: {derived_from: tosca.interfaces.Root, operations: {born: {}, dead: {}}}
artifact_types:
  Program: {derived_from: tosca.artifacts.Root, properties: {language: {type: string, required: false}}}
group_types: {Servers: {derived_from: tosca.groups.Root, members: [Server]}}
policy_types: {Rule: {derived_from: tosca.policies.Root, targets: [Server, Servers], properties: {strict: {type: boolean}}}}
topology_template:
  inputs: {maker: {type: string}}
`

// testCase is a document that consists of types and lines. want are its problems in the form "word code", with the word at the
// position of the problem.
type testCase struct {
	name, lines string
	want        []string
}

func run(t *testing.T, tests []testCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			document := types + tt.lines
			for _, p := range validate(t, files{"v.yaml": document}) {
				got = append(got, wordAt(document, p.Position)+" "+string(p.Code))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// wordAt returns the word at a position.
func wordAt(document string, pos problem.Position) string {
	line := strings.Split(document, "\n")[pos.Line-1][pos.Column-1:]
	if end := strings.IndexAny(line[1:], " ,:{}[]"); end >= 0 {
		return line[:end+1]
	}
	return line
}

// in returns a topology of one server. The text in server is added to its properties.
func in(server string) string {
	return "  node_templates:\n    s: {type: Server, properties: {name: it" + server + "}\n"
}

// without removes the first line that contains a text, from the text to the end of the line.
func without(document, line string) string {
	before, rest, _ := strings.Cut(document, line)
	_, after, _ := strings.Cut(rest, "\n")
	return before + after
}
