// Command stub stands in for the programs of a host (kubeadm, systemctl, ...) in end-to-end tests. It is installed under the
// name of each program, and sends its arguments to the test process at the gateway, which does the work of the program.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/internal/e2e/stub/wire"
)

func main() {
	code, err := run()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: stand-in program: %v\n", os.Args[0], err)
		os.Exit(121)
	}
	os.Exit(code)
}

func run() (int, error) {
	gateway, err := defaultGateway()
	if err != nil {
		return 0, err
	}
	conn, err := net.Dial("tcp", net.JoinHostPort(gateway, strconv.Itoa(wire.Port))) //nolint:noctx // ends with the program
	if err != nil {
		return 0, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	to := json.NewEncoder(conn)
	args := append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)
	if err := to.Encode(wire.Call{Args: args, Environ: os.Environ(), Dir: dir, UID: os.Getuid()}); err != nil {
		return 0, err
	}
	for from := json.NewDecoder(conn); ; {
		var r wire.Reply
		if err := from.Decode(&r); err != nil {
			return 0, err
		}
		_, _ = os.Stdout.Write(r.Stdout)
		_, _ = os.Stderr.Write(r.Stderr)
		if r.Stdin {
			go feed(to)
		}
		if r.Exit != nil {
			return *r.Exit, nil
		}
	}
}

// feed sends standard input. If /dev/stdin is an argument of the program, feed opens this file. As in a real program, that
// fails if standard input is a socket, as in sessions of sshd.
func feed(to *json.Encoder) {
	input := os.Stdin
	if slices.Contains(os.Args, "/dev/stdin") {
		var err error
		if input, err = os.Open("/dev/stdin"); err != nil {
			_ = to.Encode(wire.Input{End: true, Err: err.Error()})
			return
		}
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := input.Read(buffer)
		in := wire.Input{Data: buffer[:n], End: err != nil}
		if err != nil && err != io.EOF {
			in.Err = err.Error()
		}
		if to.Encode(in) != nil || in.End {
			return
		}
	}
}

// defaultGateway reads the routing table of the kernel: hexadecimal, in the byte order of the machine.
func defaultGateway() (string, error) {
	table, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 2 && f[1] == "00000000" {
			n, err := strconv.ParseUint(f[2], 16, 32)
			return net.IPv4(byte(n), byte(n>>8), byte(n>>16), byte(n>>24)).String(), err
		}
	}
	return "", fmt.Errorf("no default route")
}
