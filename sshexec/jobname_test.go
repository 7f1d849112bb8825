package sshexec_test

import (
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec"
)

func TestJobNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"kubespray":             "kubespray",
		"vnf-1/scale_out/step2": "vnf-1%2Fscale_out%2Fstep2",
		"a.b":                   "a.b",
		".":                     "%2E",
		"..":                    "%2E.",
		".new-X":                "%2Enew-X",
		"100%":                  "100%25",
		"%2E":                   "%252E",
		"é \n":                  "%C3%A9%20%0A",
	} {
		if got, err := sshexec.EncodeJobName(name); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, foreign := range []string{"", "a/b", ".new-X", "%2e", "%61", "%", "%zz", "a b", "é", strings.Repeat("x", 201)} {
		if name, ok := sshexec.DecodeJobName(foreign); ok {
			t.Errorf("%q was taken for %q", foreign, name)
		}
	}
}

func FuzzJobName(f *testing.F) {
	for _, seed := range awkward {
		f.Add(seed)
	}
	f.Add("..")
	f.Add(".new-X/%2E")
	f.Fuzz(func(t *testing.T, name string) {
		encoded, err := sshexec.EncodeJobName(name)
		if err != nil {
			if name != "" && len(name)*3 <= 200 {
				t.Fatal(err)
			}
			return
		}
		if strings.HasPrefix(encoded, ".") || len(encoded) > 200 || strings.Trim(encoded, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.%") != "" {
			t.Fatalf("%q is no name for a directory", encoded)
		}
		if back, ok := sshexec.DecodeJobName(encoded); !ok || back != name {
			t.Errorf("%q became %q, %t", name, back, ok)
		}
		// A name is decoded only if encodeJobName returns it.
		if back, ok := sshexec.DecodeJobName(name); ok {
			if again, err := sshexec.EncodeJobName(back); again != name || err != nil {
				t.Errorf("%q is decoded as %q, which is encoded as %q", name, back, again)
			}
		}
	})
}

func FuzzJobStatus(f *testing.F) {
	for _, seed := range []string{
		"running 0 12 1700000000 0", "ended 143 0 1700000000 1700000001", "lost 0 0 1 0", "pending 0 0 0 0", "absent 0 0 0 0", "foreign 0 0 0 0", "",
		"ended 1000 0 0 0", "ended -1 0 0 0", "ended 0 99999999999999999999 0 0", "ended 0 0 0 0\nended 0 0 0 0", "ended 0 0 0 0 ", "ended 0x1 0 0 0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, err := sshexec.ParseJobStatus("j", line)
		if err != nil {
			return
		}
		known := s.State == sshexec.JobPending || s.State == sshexec.JobRunning || s.State == sshexec.JobEnded || s.State == sshexec.JobLost
		if !known || !strings.HasPrefix(line, string(s.State)+" ") || s.Code < 0 || s.Code > 999 || s.Size < 0 || strings.Contains(line, "\n") {
			t.Errorf("%q became %+v", line, s)
		}
	})
}

// FuzzJobAnswer checks that the first line of an answer is separated from the output, whatever the pieces of the answer are.
func FuzzJobAnswer(f *testing.F) {
	f.Add("ended 0 3 1 2\nab\n", 1)
	f.Add("\n\n\n", 2)
	f.Add("no line", 3)
	f.Add(strings.Repeat("x", 2000)+"\n", 700)
	f.Fuzz(func(t *testing.T, answer string, step int) {
		line, output, err := sshexec.SplitJobAnswer(answer, max(1, step))
		end := strings.IndexByte(answer, '\n') + 1
		if end == 0 {
			end = len(answer)
		}
		if end > 1024 {
			if err == nil {
				t.Error("a line without end was accepted")
			}
			return
		}
		if line != answer[:end] || output != answer[end:] || err != nil {
			t.Errorf("%q in pieces of %d: %q, %q, %v", answer, step, line, output, err)
		}
	})
}
