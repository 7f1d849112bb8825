package sshtest_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// transfers opens an SFTP client. With a command, the client uses the standard input and output of this command instead of the
// subsystem.
func transfers(t *testing.T, h *sshtest.Host, command string) *sftp.Client {
	t.Helper()
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	transfer, err := openSFTP(client, command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = transfer.Close() })
	return transfer
}

func openSFTP(client *ssh.Client, command string) (*sftp.Client, error) {
	if command == "" {
		return sftp.NewClient(client, sftp.UseConcurrentWrites(true))
	}
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	in, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := session.Start(command); err != nil {
		return nil, err
	}
	return sftp.NewClientPipe(out, in, sftp.UseConcurrentWrites(true))
}

// TestTransfers writes and reads a file with many concurrent requests.
func TestTransfers(t *testing.T) {
	content := make([]byte, 3_000_001)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(content)
	for name, dir := range map[string]string{"memory": "", "directory": t.TempDir()} {
		h := sshtest.Start(t, sshtest.Config{Dir: dir})
		for _, tt := range []struct{ command, path, owner string }{
			{"", "/tmp/f", "ubuntu ubuntu 1000"},
			{"exec /usr/lib/openssh/sftp-server", "/tmp/g", "ubuntu ubuntu 1000"},
			{"sudo -n /usr/lib/openssh/sftp-server", "/etc/f", "root root 0"},
		} {
			client := transfers(t, h, tt.command)
			f, err := client.Create(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.ReadFrom(bytes.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if f, err = client.Open(tt.path); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if _, err := f.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), content) {
				t.Errorf("%s %s: read %d bytes, %v", name, tt.command, got.Len(), err)
			}
			_ = f.Close()
			if out, _ := run(t, h, "stat -c '%U %G %u' "+tt.path, ""); out != tt.owner+"\n" {
				t.Errorf("%s: %q", tt.command, out)
			}
		}
	}
}

func TestSFTPRequests(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{Users: []string{"helper"}})
	user, root := transfers(t, h, ""), transfers(t, h, "sudo -n /usr/lib/openssh/sftp-server")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(user.Mkdir("/tmp/d"))
	must(user.Symlink("d", "/tmp/l"))
	f, err := user.OpenFile("/tmp/l/f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
	must(err)
	_, err = f.Write([]byte("abc"))
	must(err)
	_, err = f.Seek(1, io.SeekStart)
	must(err)
	got, err := io.ReadAll(f)
	must(errors.Join(err, f.Close()))
	if string(got) != "bc" {
		t.Errorf("got %q", got)
	}
	f, err = user.OpenFile("/tmp/d/f", os.O_WRONLY|os.O_APPEND)
	must(err)
	_, err = f.Write([]byte("d"))
	must(errors.Join(err, f.Close()))
	must(user.Truncate("/tmp/d/f", 3))
	must(user.Chmod("/tmp/d/f", 0o640))
	then := time.Unix(1_000_000_000, 0)
	must(user.Chtimes("/tmp/d/f", then, then))
	must(root.Chown("/tmp/d/f", 0, 1003))
	must(user.PosixRename("/tmp/d/f", "/tmp/d/g"))

	info, err := user.Stat("/tmp/l/g")
	must(err)
	stat, _ := info.Sys().(*sftp.FileStat)
	if info.Size() != 3 || info.Mode() != 0o640 || !info.ModTime().Equal(then) || stat.UID != 0 || stat.GID != 1003 {
		t.Errorf("got %v %v %v %+v", info.Size(), info.Mode(), info.ModTime(), stat)
	}
	if out, _ := run(t, h, "stat -c %U:%G /tmp/d/g", ""); out != "root:helper\n" {
		t.Errorf("owner %q", out)
	}
	if info, err = user.Lstat("/tmp/l"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("got %v, %v", info, err)
	}
	if target, err := user.ReadLink("/tmp/l"); target != "d" || err != nil {
		t.Errorf("got %q, %v", target, err)
	}
	if at, err := user.RealPath("/tmp/l/g"); at != "/tmp/d/g" || err != nil {
		t.Errorf("got %q, %v", at, err)
	}
	if at, err := user.Getwd(); at != "/home/ubuntu" || err != nil {
		t.Errorf("got %q, %v", at, err)
	}
	entries, err := user.ReadDir("/tmp/l")
	if err != nil || len(entries) != 1 || entries[0].Name() != "g" {
		t.Errorf("got %v, %v", entries, err)
	}
	for name, err := range map[string]error{
		"exclusive": second(user.OpenFile("/tmp/l", os.O_WRONLY|os.O_CREATE|os.O_EXCL)),
		"rename":    user.Rename("/tmp/d", "/tmp/l"),
		"rmdir":     user.RemoveDirectory("/tmp/d"),
		"full":      user.RemoveDirectory("/tmp/l"),
	} {
		if err == nil {
			t.Errorf("%s was allowed", name)
		}
	}
	for _, err := range []error{second(user.Create("/etc/x")), user.Chown("/tmp/d", 0, 0), second(user.Open("/root/x"))} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
	}
	if err := second(user.Open("/tmp/none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	must(root.Remove("/tmp/d/g"))
	must(user.RemoveDirectory("/tmp/d"))
	must(user.Remove("/tmp/l"))

	var ops []string
	for _, transfer := range h.Transfers()[:10] {
		ops = append(ops, transfer.User+" "+transfer.Op+" "+transfer.Path+" "+transfer.Target)
	}
	want := []string{
		"ubuntu mkdir /tmp/d ", "ubuntu symlink /tmp/l d", "ubuntu put /tmp/l/f ", "ubuntu put /tmp/d/f ", "ubuntu setstat /tmp/d/f ",
		"ubuntu setstat /tmp/d/f ", "ubuntu setstat /tmp/d/f ", "root setstat /tmp/d/f ", "ubuntu posix-rename /tmp/d/f /tmp/d/g", "ubuntu list /tmp/l ",
	}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Error(diff)
	}
}

func second(_ *sftp.File, err error) error { return err }

// TestSFTPServerIsKilled checks that a killed sftp-server ends although its input is still open.
func TestSFTPServerIsKilled(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	client := transfers(t, h, "sudo -n /usr/lib/openssh/sftp-server")
	run(t, h, `for f in /proc/[0-9]*/stat; do read -r a b c <$f; if [ "$b" = "(sftp-server)" ]; then sudo kill $a; fi; done`, "")
	if err := client.Wait(); err == nil {
		t.Error("no error")
	}
}
