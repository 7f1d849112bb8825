package sshexec

import (
	"context"
	"errors"
	"fmt"
)

// dirScript creates the directory $1 with mode $2 and owner $3, unless it exists.
const dirScript = `LC_ALL=C; export LC_ALL; if [ -L "$1" ] || [ ! -d "$1" ]; then mkdir "$1" && { [ -z "$3" ] || chown "$3" "$1"; } && chmod "$2" "$1"; fi`

// sessionWorkers limits the files of a tree that are transferred at the same time if each file needs a session: half of the sessions
// of a connection.
const sessionWorkers = 4

// oneByOne sends the files of a tree as single uploads, to hosts without SFTP.
func (u *treeUpload) oneByOne(ctx context.Context) error {
	for _, d := range u.dirs {
		if d.there || d.made {
			continue
		}
		argv := []string{"/bin/sh", "-c", dirScript, "sh", u.target(d.name), fmt.Sprintf("%o", d.perm), u.tree.Owner}
		if err := u.host.Exec(ctx, Command{Argv: argv, Root: u.tree.Root, does: doing("make", u.target(d.name))}); err != nil {
			return u.host.fileFault("upload", u.target(d.name), err)
		}
		d.made = true
	}
	var wrong faults
	err := each(ctx, len(u.send), sessionWorkers, func(i int) error {
		f := u.send[i]
		if f.placed {
			return nil
		}
		err := u.sendOne(ctx, f)
		if err != nil && !cut(err) && ctx.Err() == nil {
			wrong.add(err)
			return nil
		}
		f.placed = err == nil
		return err
	})
	return errors.Join(err, wrong.join())
}

func (u *treeUpload) sendOne(ctx context.Context, f *treeFile) error {
	content, err := u.from.Open(f.name)
	if err != nil {
		return u.host.fail(err)
	}
	defer content.Close()
	err = u.host.upload(ctx, content, File{Path: u.target(f.name), Mode: f.perm, Owner: u.tree.Owner, Root: u.tree.Root})
	if err == nil {
		u.meter.add(f.size)
	}
	return err
}
