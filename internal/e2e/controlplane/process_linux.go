package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a program that runs until it is stopped or this process ends.
type process struct {
	name  string
	log   string // file
	cmd   *exec.Cmd
	ended chan struct{}
	stop  sync.Once
}

// begin starts a program. It appends the output of the program to NAME.log in dir.
func begin(ctx context.Context, dir, program string, args ...string) (*process, error) {
	p := &process{name: filepath.Base(program), ended: make(chan struct{})}
	p.log = filepath.Join(dir, p.name+".log")
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread ends that has started the program. This thread ends after the program.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the log shows how the program has ended
			close(p.ended)
		}
	}()
	return p, <-started
}

// end sends a signal and waits until the process has ended.
func (p *process) end(s syscall.Signal) {
	p.stop.Do(func() {
		select {
		case <-p.ended:
			return
		default:
		}
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
		select {
		case <-p.ended:
		case <-time.After(time.Minute):
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			<-p.ended
		}
	})
}

// logged returns the end of the log of a process.
func (p *process) logged() string {
	const most = 4000
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[bytes.IndexByte(text[len(text)-most:], '\n')+1+len(text)-most:]
	}
	return fmt.Sprintf("== %s\n%s", p.name, text)
}
