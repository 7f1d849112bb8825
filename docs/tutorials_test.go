package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/fulltest"
)

var (
	// block is a fenced block with the line before it.
	block = regexp.MustCompile("(?m)(?:^(.*)\n\n)?^```(\\w+)\n((?s:.*?))```$")
	// fileOf and below are lines that say what a reader does with the block.
	fileOf   = regexp.MustCompile("`([\\w./]+)`:$")
	below    = regexp.MustCompile("^Below `([^`]+)` in `([^`]+)`:$")
	duration = regexp.MustCompile(`\b\d+\.\d+s`)
)

// tutorial is a reader who does what a page says, in a directory.
type tutorial struct {
	t      *testing.T
	dir    string
	output string // of the commands of the last block
}

// TestTutorials does what the pages say, one after the other in one empty directory: writes the files, runs the commands and
// compares what they print.
func TestTutorials(t *testing.T) { readPages(t, "first-package.md", "first-driver.md") }

// TestFirstInfra does what that page says.
func TestFirstInfra(t *testing.T) { readPages(t, "first-infra.md") }

// TestReadme does what README.md says about its program.
func TestReadme(t *testing.T) { readPages(t, "../README.md") }

func readPages(t *testing.T, pages ...string) {
	t.Helper()
	t.Parallel()
	fulltest.Only(t, "compiles and links programs")
	reader := &tutorial{t: t, dir: filepath.Join(t.TempDir(), "empty")}
	check(t, os.Mkdir(reader.dir, 0o700))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		check(t, err)
		for _, b := range block.FindAllStringSubmatch(string(text), -1) {
			reader.follow(b[1], b[2], b[3])
		}
	}
}

// follow does what a block is for.
func (r *tutorial) follow(before, language, content string) {
	r.t.Helper()
	switch into, file := below.FindStringSubmatch(before), fileOf.FindStringSubmatch(before); {
	case language == "sh":
		r.run(content)
	case language == "text":
		r.compare(content)
	case into != nil:
		r.write(into[2], strings.Replace(r.read(into[2]), into[1]+"\n", into[1]+"\n"+content, 1))
	case file != nil:
		r.write(file[1], content)
	default:
		r.t.Errorf("nothing says what to do with the block after %q", before)
	}
}

// run runs commands in the reader's directory, which is afterwards the directory in which they end. The program git in their PATH makes
// a link to this checkout instead of cloning it. No module is downloaded.
func (r *tutorial) run(commands string) {
	r.t.Helper()
	checkout, err := filepath.Abs("..")
	check(r.t, err)
	programs := r.t.TempDir()
	git := "#!/bin/sh\n[ \"$1 $2\" = 'clone https://github.com/vnfkit/vnfkit' ] && exec ln -s '" + checkout + "' \"${3:-vnfkit}\"\n"
	check(r.t, os.WriteFile(filepath.Join(programs, "git"), []byte(git), 0o700)) //nolint:gosec // a program
	command := exec.CommandContext(r.t.Context(), "sh", "-e")
	command.Dir, command.Env = r.dir, append(os.Environ(), "GOPROXY=off", "GOWORK=", "GOFLAGS=", "PATH="+programs+":"+os.Getenv("PATH"))
	command.Stdin = strings.NewReader(commands + "pwd\n")
	out, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := len(lines) - 1
	r.output, r.dir = strings.Join(lines[:last], "\n")+"\n", lines[last]
}

// compare wants that the commands have printed these lines one after the other, with any durations.
func (r *tutorial) compare(lines string) {
	r.t.Helper()
	if got := duration.ReplaceAllString(r.output, "1.0s"); !strings.Contains(got, duration.ReplaceAllString(lines, "1.0s")) {
		r.t.Errorf("the commands have printed\n%s\nThe page says\n%s", r.output, lines)
	}
}

func (r *tutorial) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	check(r.t, err)
	return string(text)
}

func (r *tutorial) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	check(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(r.t, os.WriteFile(path, []byte(content), 0o600))
}
