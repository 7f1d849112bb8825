// Package wire is what a stand-in program and the test process say to each other, over TCP: a stream of JSON
// values each way.
package wire

// Port is where the test process listens, on the gateway of the hosts.
const Port = 7213

// Call is the first thing a program says: what it was called as.
type Call struct {
	Args    []string // Args[0] is the program
	Environ []string // NAME=value
	Dir     string
	UID     int
}

// Input is standard input, sent once it has been asked for.
type Input struct {
	Data []byte
	End  bool
	Err  string // why it could not be read
}

// Reply is what the program does: one of the fields.
type Reply struct {
	Stdout, Stderr []byte
	Stdin          bool // it wants standard input
	Exit           *int
}
