package sshtest

import (
	"slices"
	"sync"
	"time"
)

// Record describes one program that ran.
type Record struct {
	Argv     []string // Argv[0] is the name by which the program was called
	User     string   // "root" under sudo
	PID      int      // process id; with exec, env, nohup and setsid the id of the replaced process
	Dir      string   // working directory
	Env      []string // exported variables as NAME=value, sorted
	BuiltIn  bool     // a program of the host itself, not one of Config.Commands
	Start    time.Time
	End      time.Time // zero while the program runs
	Code     int       // exit code if Finished is set
	Finished bool      // false while the program runs, and if it was killed or its connection was cut

	streams *streams
}

// Stdin returns the first 64 KiB that the program has read so far, without a password for sudo and without the input that a
// shell reads itself. Printing a Record does not print its streams, because they may contain secrets.
func (r Record) Stdin() string { return r.streams.text(0) }

// Stdout returns the first 64 KiB that the program and its children have written so far.
func (r Record) Stdout() string { return r.streams.text(1) }

// Stderr returns the first 64 KiB of standard error, as Stdout does for standard output.
func (r Record) Stderr() string { return r.streams.text(2) }

// streams are samples of a program's input and output.
type streams [3]sample

// text returns the sample of a stream, "" for a record without streams.
func (s *streams) text(number int) string {
	if s == nil {
		return ""
	}
	return s[number].String()
}

// Transfer describes one SFTP request.
type Transfer struct {
	// Op is get (a file was opened for reading), put (for writing), list, mkdir, remove, rename, posix-rename, rmdir, setstat or
	// symlink.
	Op     string
	Path   string
	Target string // the new name of a rename, the target of a symlink
	User   string
	Time   time.Time
	Err    error // nil if the request succeeded
}

type recorder struct {
	mu        sync.Mutex
	records   []*Record
	transfers []Transfer
	hook      func(Record)
}

func (r *recorder) setHook(fn func(Record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = fn
}

// announce calls the hook. It does not hold the lock meanwhile, because the hook may read the records.
func (r *recorder) announce(record Record) {
	r.mu.Lock()
	hook := r.hook
	r.mu.Unlock()
	if hook != nil {
		hook(record)
	}
}

// begin adds a record. The returned function completes it.
func (r *recorder) begin(record Record) func(code int, finished bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := &record
	r.records = append(r.records, kept)
	return func(code int, finished bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		kept.End, kept.Code, kept.Finished = time.Now(), code, finished
	}
}

func (r *recorder) all() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Record, len(r.records))
	for i, record := range r.records {
		all[i] = *record
		all[i].Argv, all[i].Env = slices.Clone(record.Argv), slices.Clone(record.Env)
	}
	return all
}

func (r *recorder) transfer(t Transfer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.transfers = append(r.transfers, t)
}

func (r *recorder) allTransfers() []Transfer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.transfers)
}
