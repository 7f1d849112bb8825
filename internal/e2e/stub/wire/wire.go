// Package wire defines the protocol between a stand-in program and the test process: a stream of JSON values in each
// direction, over TCP.
package wire

// Port is the port of the test process on the gateway of the hosts.
const Port = 7213

// Call is the first message of a program: how it was called.
type Call struct {
	Args    []string // Args[0] is the program
	Environ []string // NAME=value
	Dir     string
	UID     int
}

// Input is a part of standard input. The program sends it after the test process has asked for it.
type Input struct {
	Data []byte
	End  bool
	Err  string // error of reading standard input
}

// Reply tells the program what to do. Exactly one field is set.
type Reply struct {
	Stdout, Stderr []byte
	Stdin          bool // send standard input
	Exit           *int
}
