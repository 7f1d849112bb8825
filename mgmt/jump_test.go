package mgmt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// behind is an operation on a VIM with this jump host.
func behind(t *testing.T, jump any, vnfcs ...vnflcm.VNFC) (*vnflcm.Operation, *bytes.Buffer) {
	t.Helper()
	extra, err := vnflcm.NewParams(map[string]any{"jump_host": jump})
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	return &vnflcm.Operation{OperationData: vnflcm.OperationData{VIM: vnflcm.VimConnectionInfo{Extra: extra}, Resources: vnflcm.Resources{VNFCs: vnfcs}},
		Log: slog.New(slog.NewTextHandler(log, nil))}, log
}

func TestCheckJumpHost(t *testing.T) {
	t.Parallel()
	key := sshtest.NewKey(t, "ssh-ed25519")
	for name, c := range map[string]struct {
		jump any
		want []string // attributes with a fault
		log  string
	}{
		"none":        {jump: nil},
		"password":    {jump: map[string]any{"address": "203.0.113.5", "username": "u", "password": "hunter2"}},
		"IPv6":        {jump: map[string]any{"address": "2001:db8::5", "username": "u", "password": "hunter2"}},
		"IPv6, port":  {jump: map[string]any{"address": "[2001:db8::5]:2222", "username": "u", "password": "hunter2"}},
		"key, pinned": {jump: map[string]any{"address": "jump.example:2222", "username": "u", "private_key": string(key.PEM), "host_key": key.Public}},
		"all missing": {jump: map[string]any{}, want: []string{"address", "password", "username"}},
		"no object":   {jump: "hunter2", want: []string{""}},
		"all wrong": {jump: map[string]any{"address": "jump:0", "username": "u", "private_key": "hunter2", "host_key": "hunter2"},
			want: []string{"address", "host_key", "private_key"}},
		"a URL":      {jump: map[string]any{"address": "ssh://jump", "username": "u", "password": "hunter2"}, want: []string{"address"}},
		"passphrase": {jump: map[string]any{"address": "jump", "username": "u", "password": "hunter2", "passphrase": "hunter2"}, want: []string{"passphrase"}},
		"unknown": {jump: map[string]any{"address": "jump", "username": "u", "password": "hunter2", "colour": "hunter2"},
			log: "vimConnectionInfo.extra.jump_host.colour"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, log := behind(t, c.jump)
			err := mgmt.CheckJumpHost(t.Context(), op)
			var got []string
			if err != nil {
				for line := range strings.Lines(err.Error()) {
					path, _, _ := strings.Cut(line, ": ")
					got = append(got, strings.TrimPrefix(strings.TrimPrefix(path, "vimConnectionInfo.extra.jump_host"), "."))
				}
				if !errors.Is(err, vnflcm.ErrInvalidRequest) {
					t.Error("is no fault of the request")
				}
			}
			if diff := cmp.Diff(c.want, got, cmp.Transformer("set", set)); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if !strings.Contains(log.String(), c.log) || (c.log == "") != (log.Len() == 0) {
				t.Errorf("the log is %q", log)
			}
			if strings.Contains(fmt.Sprint(err, log), "hunter2") {
				t.Errorf("a secret is shown: %v %s", err, log)
			}
		})
	}
}

func set(list []string) map[string]bool {
	out := map[string]bool{}
	for _, each := range list {
		out[each] = true
	}
	return out
}

// Nodes are asked for at the jump host, once that has proved who it is.
func TestNodesBehindJumpHost(t *testing.T) {
	t.Parallel()
	var asked []string
	jump := sshtest.Start(t, sshtest.Config{Name: "jump", User: "jumper", Password: "over",
		Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
			asked = append(asked, addr)
			return nil, errors.New("no such node")
		}})
	entry := map[string]any{"address": jump.Addr(), "username": "jumper", "password": "over", "host_key": jump.PublicKey()}
	other := sshtest.NewKey(t, "ssh-ed25519")

	reach := func(hostKey string) error {
		entry["host_key"] = hostKey
		pool := sshexec.NewPool(sshexec.Options{})
		defer func() { _ = pool.Close() }()
		op, _ := behind(t, entry, vnfc("a", cp("ssh", "10.0.0.1", "")))
		nodes, err := mgmt.Access{CP: "ssh", Login: mgmt.Login{Username: "ubuntu", Password: vnflcm.NewSecret("ubuntu")}}.Nodes(op, pool, "worker")
		if err != nil {
			return err
		}
		return nodes[0].SSH.Exec(t.Context(), sshexec.Command{Argv: []string{"true"}})
	}
	if err := reach(other.Public); !errors.Is(err, sshexec.ErrHostKey) || len(asked) != 0 {
		t.Errorf("another jump host than pinned: %v, asked for %q", err, asked)
	}
	if err := reach(jump.PublicKey()); err == nil || len(asked) != 1 || asked[0] != "10.0.0.1:22" {
		t.Errorf("asked for %q: %v", asked, err)
	}
}
