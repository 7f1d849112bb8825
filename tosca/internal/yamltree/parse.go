package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

const (
	// maxDepth limits the nesting of a document. SOL001 needs about 15 levels.
	maxDepth = 100
	// maxNodes limits the nodes of all documents of a VNFD together. An aliased node counts for each use. The type files of
	// ETSI have 4000.
	maxNodes = 100_000
	// maxIndicators limits the characters that can begin a node, in all documents of a VNFD together. They are counted before
	// a document is parsed, because parsing takes 200 to 700 bytes of memory per node. The largest known package has 13,000.
	maxIndicators = 150_000
	// maxBytes limits the size of all documents of a VNFD together. The largest known package has 210 KiB, with the type files
	// of ETSI.
	maxBytes = 8 << 20
	// maxDirectives limits the directives (%TAG) of a file, because parsing takes time in the square of their number. Files of
	// SOL001 have no directives.
	maxDirectives = 10
)

// Parser reads the YAML files of one descriptor, which share a budget of nodes.
type Parser struct {
	// Misfits receives the nodes whose fields or items are read (Map, List, Named) although they are of another kind, each once.
	// The nodes are then not safe for concurrent use. nil does not report them.
	Misfits *report.Report
	// Cache has trees of documents that were parsed earlier. nil for none.
	Cache *Cache

	report     *report.Report
	budget     int // nodes
	indicators int
	bytes      int
	exhausted  bool
}

// NewParser returns a parser that reports faults to r.
func NewParser(r *report.Report) *Parser {
	return &Parser{report: r, budget: maxNodes, indicators: maxIndicators, bytes: maxBytes}
}

// Exhausted reports whether the documents have exceeded a limit for a VNFD. The parser then reads no further documents.
func (p *Parser) Exhausted() bool { return p.exhausted }

// indicators has 1 for the characters that can begin a node.
var indicators = func() (table [256]int) {
	for _, c := range []byte("\n\r,:-?[{*&#") {
		table[c] = 1
	}
	return table
}()

// affordable subtracts the cost of a document from the budgets, and reports whether the document may be parsed.
func (p *Parser) affordable(file string, content []byte) bool {
	if p.bytes -= len(content); p.bytes < 0 {
		return p.exhaust(file, "the documents of the VNFD have more than %d bytes together", maxBytes)
	}
	if bytes.Count(content, []byte("\n%")) > maxDirectives {
		p.report.Errorf(problem.Position{File: file}, problem.TooLarge, "more than %d directives", maxDirectives)
		return false
	}
	for _, c := range content {
		p.indicators -= indicators[c]
	}
	if p.indicators < 0 {
		return p.exhaust(file, "the documents of the VNFD have more than %d lines, keys and values together", maxIndicators)
	}
	return true
}

func (p *Parser) exhaust(file, format string, limit int) bool {
	p.report.Errorf(problem.Position{File: file}, problem.TooLarge, format, limit)
	p.exhausted = true
	return false
}

// Parse reads the only document of a YAML file. It returns nil if it cannot read the document.
func (p *Parser) Parse(file string, content []byte) *Node {
	r := p.report
	if !p.affordable(file, content) {
		return nil
	}
	if root := p.Cache.take(file, content, &p.budget); root != nil {
		return root
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	y, err := decodeYAML(decoder)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			r.Errorf(yamlPosition(file, err), problem.YAML, "%v", err)
		}
		return nil
	}
	p.checkEnd(file, decoder)
	c := converter{file: file, report: r, misfits: p.Misfits, budget: &p.budget, anchors: map[*yaml.Node]*Node{}}
	root := c.convert(y, 0)
	if c.stopped || root == nil {
		return nil
	}
	if root.height > maxDepth {
		c.stop(y, problem.TooDeep, "nested more than %d levels deep", maxDepth)
		return nil
	}
	return root.Present()
}

// checkEnd reports a second document of a file. Other parsers refuse such files, or read the last document.
func (p *Parser) checkEnd(file string, decoder *yaml.Decoder) {
	y, err := decodeYAML(decoder)
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.report.Errorf(yamlPosition(file, err), problem.YAML, "%v", err)
	case len(y.Content) == 1 && y.Content[0].Kind == yaml.ScalarNode && y.Content[0].Value == "":
		p.report.Warnf(problem.Position{File: file, Line: y.Line, Column: y.Column}, problem.SecondDocument, "a second, empty YAML document begins here")
	default:
		p.report.Errorf(problem.Position{File: file, Line: y.Line, Column: y.Column}, problem.SecondDocument, "a second YAML document begins here, and would not be read")
	}
}

// decodeYAML reads the next document. It turns a panic of the YAML library, which is no longer maintained, into an
// error: packages are untrusted input.
func decodeYAML(decoder *yaml.Decoder) (y *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	y = &yaml.Node{}
	return y, decoder.Decode(y)
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

func yamlPosition(file string, err error) problem.Position {
	pos := problem.Position{File: file}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		pos.Line, _ = strconv.Atoi(m[1]) // only digits; 0 if the number is too large
		pos.Column = 1
	}
	return pos
}

// converter converts yaml.Nodes. It converts each anchored node once and shares it among its aliases. Sizes and heights count an
// anchored node for each alias.
type converter struct {
	file    string
	report  *report.Report
	misfits *report.Report
	budget  *int
	anchors map[*yaml.Node]*Node // nil while the node is being converted
	stopped bool
}

// stop reports a problem and ends the conversion of the document.
func (c *converter) stop(y *yaml.Node, code problem.Code, format string, args ...any) {
	if !c.stopped {
		c.report.Errorf(c.pos(y), code, format, args...)
	}
	c.stopped = true
}

func (c *converter) pos(y *yaml.Node) problem.Position {
	return problem.Position{File: c.file, Line: y.Line, Column: y.Column}
}

// spend takes n nodes from the budget.
func (c *converter) spend(y *yaml.Node, n int) bool {
	if *c.budget < n {
		c.stop(y, problem.TooLarge, "the VNFD has more than %d YAML nodes with its aliases followed", maxNodes)
	}
	*c.budget -= min(n, *c.budget)
	return !c.stopped
}

func (c *converter) convert(y *yaml.Node, depth int) *Node {
	if depth > maxDepth {
		c.stop(y, problem.TooDeep, "nested more than %d levels deep", maxDepth)
	}
	if c.stopped {
		return nil
	}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			return nil
		}
		return c.convert(y.Content[0], depth)
	case yaml.AliasNode:
		return c.alias(y)
	}
	if !c.spend(y, 1) {
		return nil
	}
	if y.Anchor != "" {
		c.anchors[y] = nil
	}
	c.checkText(y)
	n := &Node{Pos: c.pos(y), Text: y.Value, Tag: y.ShortTag(), size: 1, height: 1, misfit: c.misfits}
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Mapping
		c.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.Kind = Sequence
		for _, item := range y.Content {
			n.Items = append(n.Items, n.adopt(c.convert(item, depth+1)))
		}
	default:
		if y.ShortTag() == "!!null" {
			n.Kind = Null
		}
	}
	if y.Anchor != "" {
		c.anchors[y] = n
	}
	return n
}

// adopt adds a child to the size and height of n.
func (n *Node) adopt(child *Node) *Node {
	if child == nil { // the converter has stopped
		child = &Node{Kind: Null}
	}
	n.size += child.size
	n.height = max(n.height, child.height+1)
	return child
}

// alias returns the node of an alias. It takes the size of the node from the budget, so that documents whose aliases multiply
// are refused before anything walks through them.
func (c *converter) alias(y *yaml.Node) *Node {
	n, known := c.anchors[y.Alias]
	switch {
	case n == nil && known:
		c.stop(y, problem.YAML, "the alias *%s stands inside the node it names", y.Value)
		return nil
	case n == nil:
		c.stop(y, problem.YAML, "the alias *%s names no node above it", y.Value)
		return nil
	case !c.spend(y, n.size):
		return nil
	}
	return n
}

// checkText warns of a scalar that could be displayed as another text.
func (c *converter) checkText(y *yaml.Node) {
	for _, r := range y.Value {
		if r >= utf8.RuneSelf && unicode.Is(unicode.Bidi_Control, r) {
			c.report.Warnf(c.pos(y), problem.BidiText, "a text with a character that changes the direction in which it is displayed (%U)", r)
			return
		}
	}
}

func (c *converter) mapping(n *Node, y *yaml.Node, depth int) {
	seen := make(map[string]int, len(y.Content)/2)
	var merged []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			c.report.Errorf(c.pos(key), problem.YAML, "a key must be a plain text")
			continue
		}
		child := n.adopt(c.convert(value, depth+1))
		c.checkText(key)
		if key.ShortTag() == "!!merge" {
			merged = append(merged, child)
			continue
		}
		if line, twice := seen[key.Value]; twice {
			c.report.Errorf(c.pos(key), problem.DuplicateKey, "key %q stands already in line %d", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		n.Fields = append(n.Fields, Field{Key: key.Value, Pos: c.pos(key), Value: child})
	}
	for _, m := range merged {
		sources := []*Node{m}
		if m.Is(Sequence) {
			sources = m.Items
		}
		for _, from := range sources {
			c.merge(n, y, from, seen)
		}
	}
	n.buildIndex()
}

// merge adds the fields of a merged mapping to n, except those that n has.
func (c *converter) merge(n *Node, y *yaml.Node, from *Node, seen map[string]int) {
	for _, f := range from.Map() {
		if _, own := seen[f.Key]; own {
			continue
		}
		if !c.spend(y, 1) {
			return
		}
		seen[f.Key] = f.Pos.Line
		n.Fields = append(n.Fields, f)
	}
}
