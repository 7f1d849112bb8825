package sshexec

import "strings"

// EncodeJobName returns the directory of a job.
var EncodeJobName = encodeJobName

// DecodeJobName returns the job of a directory.
var DecodeJobName = decodeJobName

// ParseJobStatus parses the line of a host about a job.
var ParseJobStatus = parseJobStatus

// SplitJobAnswer passes an answer to a jobAnswer in pieces of step bytes.
func SplitJobAnswer(answer string, step int) (line, output string, err error) {
	var out strings.Builder
	a := &jobAnswer{w: &out}
	for len(answer) > 0 && err == nil {
		n := min(step, len(answer))
		_, err = a.Write([]byte(answer[:n]))
		answer = answer[n:]
	}
	return string(a.line), out.String(), err
}
