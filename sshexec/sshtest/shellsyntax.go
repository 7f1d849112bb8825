package sshtest

import (
	"fmt"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// The interpreter has no process ids, signals or traps, so parse changes scripts before they run. Commands whose names begin
// with a colon are implemented by shell.call.
const (
	varPID        = "_sshtest_pid"        // $$
	varParent     = "_sshtest_ppid"       // $PPID
	varBackground = "_sshtest_background" // $!
	varSelf       = "_sshtest_self"       // the process of a background job
	varSubshell   = "_sshtest_subshell"   // set in a subshell, which has no process id
	cmdFork       = ":fork"
	cmdExited     = ":exited"
	cmdWait       = ":wait"
	cmdExec       = ":exec"
)

func newParser() *syntax.Parser { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }

// parsed caches the results of parse, because a caller of many machines runs much the same scripts on each. The interpreter
// does not change a syntax tree.
var parsed = struct {
	sync.Mutex
	files map[[2]string]*syntax.File
}{files: map[[2]string]*syntax.File{}}

// maxParsed limits the cached texts.
const maxParsed = 256

// parse parses shell text and changes it for the interpreter. The caller must not change the result.
func parse(name, text string) (*syntax.File, error) {
	key := [2]string{name, text}
	parsed.Lock()
	file := parsed.files[key]
	parsed.Unlock()
	if file != nil {
		return file, nil
	}
	file, err := parseNew(name, text)
	if err == nil {
		parsed.Lock()
		if len(parsed.files) == maxParsed {
			clear(parsed.files)
		}
		parsed.files[key] = file
		parsed.Unlock()
	}
	return file, err
}

// parseNew is parse without the cache. It refuses process substitutions, because the interpreter would create a named pipe on
// the real machine.
func parseNew(name, text string) (*syntax.File, error) {
	file, err := newParser().Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	var background []*syntax.Stmt
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.ProcSubst:
			if err == nil {
				err = fmt.Errorf("%s:%s: process substitution is not supported (docs/tacker.md#process-substitution-on-the-sandbox)", name, node.Pos())
			}
		case *syntax.ParamExp:
			renameSpecial(node)
		case *syntax.Subshell:
			node.Stmts = append([]*syntax.Stmt{assign(varSubshell, literal("1"))}, node.Stmts...)
		case *syntax.CmdSubst:
			if len(node.Stmts) > 1 || len(node.Stmts) == 1 && node.Stmts[0].Cmd != nil {
				node.Stmts = append([]*syntax.Stmt{assign(varSubshell, literal("1"))}, node.Stmts...)
			}
		case *syntax.Stmt:
			if node.Background || node.Disown {
				background = append(background, node)
			}
		}
		return err == nil
	})
	for _, stmt := range background {
		runAsJob(stmt)
	}
	return file, err
}

// changed returns shell text as parse changes it, for commands that have shell text as an argument. Text with a syntax error
// is returned unchanged, so that the command reports the error.
func changed(text string) string {
	file, err := parse("", text)
	if err != nil {
		return text
	}
	var out strings.Builder
	if syntax.NewPrinter().Print(&out, file) != nil {
		return text
	}
	return out.String()
}

func renameSpecial(node *syntax.ParamExp) {
	if node.Param == nil {
		return
	}
	name, ok := map[string]string{"$": varPID, "PPID": varParent, "!": varBackground}[node.Param.Value]
	switch {
	case ok:
		node.Param = &syntax.Lit{Value: name}
		node.Short = false
	case len(node.Param.Value) > 1 && strings.Trim(node.Param.Value, "0123456789") == "" && node.Exp == nil && node.Slice == nil && node.Repl == nil:
		// ${10}, which the interpreter does not support
		number := literalPart(node.Param.Value)
		node.Param = &syntax.Lit{Value: "*"}
		node.Slice = &syntax.Slice{Offset: number, Length: literalPart("1")}
	}
}

// runAsJob turns "X &" into
//
//	{ :fork; { _sshtest_self=$_sshtest_background; _sshtest_subshell=; ( X ) </dev/null && :exited 0 || :exited $?; } & }
//
// so that the job has a process id and wait can wait for it.
func runAsJob(stmt *syntax.Stmt) {
	job := *stmt
	job.Background, job.Disown, job.Comments = false, false, nil
	fork := call(cmdFork)
	if _, simple := job.Cmd.(*syntax.CallExpr); simple {
		fork = call(cmdFork, "exec")
	}
	self := assign(varSelf, &syntax.Word{Parts: []syntax.WordPart{param(varBackground)}})
	own := assign(varSubshell, literal(""))
	body := &syntax.Stmt{
		Cmd:    &syntax.Subshell{Stmts: []*syntax.Stmt{&job}},
		Redirs: []*syntax.Redirect{{Op: syntax.RdrIn, Word: literal("/dev/null")}},
	}
	failed := call(cmdExited)
	failed.Cmd.(*syntax.CallExpr).Args = append(failed.Cmd.(*syntax.CallExpr).Args, &syntax.Word{Parts: []syntax.WordPart{param("?")}})
	ended := &syntax.Stmt{Cmd: &syntax.BinaryCmd{
		Op: syntax.OrStmt,
		X:  &syntax.Stmt{Cmd: &syntax.BinaryCmd{Op: syntax.AndStmt, X: body, Y: call(cmdExited, "0")}},
		Y:  failed,
	}}
	*stmt = syntax.Stmt{Position: stmt.Position, Cmd: &syntax.Block{Stmts: []*syntax.Stmt{
		fork, {Background: true, Cmd: &syntax.Block{Stmts: []*syntax.Stmt{self, own, ended}}},
	}}}
}

func assign(name string, value *syntax.Word) *syntax.Stmt {
	return &syntax.Stmt{Cmd: &syntax.CallExpr{Assigns: []*syntax.Assign{{Name: &syntax.Lit{Value: name}, Value: value}}}}
}

func call(words ...string) *syntax.Stmt {
	command := &syntax.CallExpr{}
	for _, word := range words {
		command.Args = append(command.Args, literal(word))
	}
	return &syntax.Stmt{Cmd: command}
}

func literal(text string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: text}}}
}

func literalPart(text string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
}

func param(name string) *syntax.ParamExp {
	return &syntax.ParamExp{Param: &syntax.Lit{Value: name}}
}
