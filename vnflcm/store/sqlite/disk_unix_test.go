//go:build unix

package sqlite_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// TestFillDisk is the child of TestFullDisk: it writes until the system takes no more.
func TestFillDisk(t *testing.T) {
	path := os.Getenv("VNFKIT_FILL")
	if path == "" {
		return // only the child process has something to do
	}
	limit := syscall.Rlimit{Cur: 300 << 10, Max: 300 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	for n := 0; ; n++ {
		if err := s.Apply(t.Context(), put(fmt.Sprintf("%05d", n))); err != nil {
			fmt.Printf("acknowledged %d\n%v\n", n, err)
			return
		}
		if n > 10_000 {
			t.Fatal("the limit has no effect")
		}
	}
}
