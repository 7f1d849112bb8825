package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// auditTo returns what writes audit records to the place that the settings name, nil for none. A file that cannot be written is an
// error at once.
func (c *config) auditTo(log *slog.Logger) (func(context.Context, sol003.AuditRecord) error, error) {
	switch c.Audit {
	case "":
		return nil, nil
	case "log":
		return sol003.AuditLog(log), nil
	}
	file := &auditFile{name: c.Audit}
	if err := file.append(nil); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return file.write, nil
}

// auditFile is a file with one JSON document on each line. It is opened for each record: after the file was moved or cut, records
// are written to a new one. Several processes may write to it.
type auditFile struct {
	name string
	mu   sync.Mutex
	cut  bool // the latest line may have no end
}

func (f *auditFile) write(_ context.Context, record sol003.AuditRecord) error {
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return f.append(append(line, '\n'))
}

func (f *auditFile) append(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.OpenFile(f.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if f.cut {
		line = append([]byte{'\n'}, line...)
	}
	n, err := io.Writer(file).Write(line)
	f.cut = f.cut && n == 0 || err != nil && n > 0
	return errors.Join(err, file.Close())
}

// audited runs a command of an administrator, and writes its record. It does not run the command if records cannot be written.
func (c *config) audited(ctx context.Context, log *slog.Logger, command string, run func() error) error {
	audit, err := c.auditTo(log)
	if err != nil {
		return err
	}
	record := sol003.AuditRecord{Time: time.Now().UTC(), Principal: operator(), Role: sol003.RoleAdmin, Command: command, Outcome: sol003.OutcomeAccepted}
	if err = run(); err != nil {
		record.Outcome, record.Codes = sol003.OutcomeFailed, vnflcm.Problem(err).Codes
	}
	if audit == nil {
		return err
	}
	return errors.Join(err, audit(context.WithoutCancel(ctx), record))
}

// operator is the user of the machine who runs the program.
func operator() string {
	who, err := user.Current()
	if err != nil {
		return fmt.Sprint("user ", os.Getuid())
	}
	return cmp.Or(who.Username, who.Uid)
}
