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
	PID      int      // process id; exec, env, nohup and setsid keep that of the process they replace
	Dir      string   // working directory
	Env      []string // exported variables as NAME=value, sorted
	BuiltIn  bool     // a program of the host itself, not one of Config.Commands
	Start    time.Time
	End      time.Time // zero while it runs
	Code     int       // exit code, when Finished
	Finished bool      // false while it runs, and when it was killed or cut off

	streams *streams
}

// Stdin returns the first 64 KiB that the program has read so far. Unread input, a password for sudo and the input of a
// shell itself are not part of it. Streams are not printed with the record: they may contain secrets.
func (r Record) Stdin() string { return r.streams.text(0) }

// Stdout returns the first 64 KiB that the program and its children have written so far.
func (r Record) Stdout() string { return r.streams.text(1) }

// Stderr is like Stdout.
func (r Record) Stderr() string { return r.streams.text(2) }

// streams are samples of a program's input and output.
type streams [3]sample

// text returns the sample of a stream; "" if the stream never existed.
func (s *streams) text(number int) string {
	if s == nil {
		return ""
	}
	return s[number].String()
}

// Transfer describes one SFTP request.
type Transfer struct {
	// Op is get or put when a file was opened, or list, mkdir, remove, rename,
	// posix-rename, rmdir, setstat or symlink.
	Op     string
	Path   string
	Target string // of a rename or symlink
	User   string
	Time   time.Time
	Err    error // nil when it was granted
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

// announce calls the hook, without the lock: it may look at the records.
func (r *recorder) announce(record Record) {
	r.mu.Lock()
	hook := r.hook
	r.mu.Unlock()
	if hook != nil {
		hook(record)
	}
}

// begin keeps a record; the function returned completes it.
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
