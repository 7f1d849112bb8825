package sshexec

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
)

// temporaryPrefix is the prefix of temporary files for a path. temporaryName is a full name.
func temporaryPrefix(target string) string {
	dir, name := path.Split(target)
	return dir + "." + name[:min(len(name), 100)] + ".sshexec-"
}

func temporaryName(target string) string { return temporaryPrefix(target) + rand.Text() }

// sweep defines a shell function that removes the temporary files of dead uploads to the same path, or renames one of them to $1 for
// reuse: $1 is the temporary file of this upload, $2 the prefix of temporary files, $3 the directory, $4 whether a partial file can
// be used. It sets me to the current user.
//
// A partial file is reused only if no other user can replace it while it is opened: in a directory of root or of the
// current user that only its owner may write to, or that is sticky. An upload is dead if its file was not touched for
// 15 s, by the clock of the host, and no visible process has it open. It is also dead if its file was not touched for 10 min: a
// process that has the file open then serves a client that no longer exists. If two uploads rename the same file, only one succeeds.
const sweep = `held() { for l in /proc/[0-9]*/fd/*; do if [ "$l" -ef "$1" ]; then return 0; fi; done; return 1; }; ` +
	`sweep() { me=$(id -un); use=$4; ` +
	`o=$(stat -c "%U %a" "$3") || exit 1; case "$o" in "root "*|"$me "*) ;; *) use=;; esac; ` +
	`case "${o#* }" in [1357]???) ;; *[2367]|*[2367]?) use=;; esac; ` +
	`now=$(date +%s); ` +
	`for p in "$2"*; do ` +
	`if [ -L "$p" ] || [ ! -f "$p" ] || [ "$p" = "$1" ]; then continue; fi; ` +
	`s=$(stat -c "%U %Y" "$p" 2>/dev/null) || continue; if [ "${s% *}" != "$me" ]; then continue; fi; ` +
	`age=$((now - ${s#* })); if [ "$age" -lt 15 ]; then continue; fi; if [ "$age" -lt 600 ] && held "$p"; then continue; fi; ` +
	`if [ -n "$use" ] && [ ! -e "$1" ]; then mv -f "$p" "$1"; else rm -f "$p"; fi; done; ` +
	`if [ -z "$use" ]; then rm -f "$1"; fi; }; `

// lookScript prints the state of the target and the number of usable bytes of an earlier attempt: $1 target, then the arguments of
// sweep.
const lookScript = `LC_ALL=C; export LC_ALL; ` + sweep +
	`if [ -d "$1" ]; then echo "$1 is a directory" >&2; exit 1; fi; ` +
	`if [ ! -d "$4" ]; then exit 44; fi; sweep "$2" "$3" "$4" "$5"; ` +
	`if [ -f "$1" ] && [ ! -L "$1" ]; then s=$(stat -c "%s %a %U:%G" "$1") && echo "target $s"; fi; ` +
	`if [ -f "$2" ] && [ ! -L "$2" ]; then s=$(stat -c "%s %U" "$2") && [ "${s#* }" = "$me" ] && echo "partial ${s% *}"; fi; exit 0`

// sight is the output of lookScript.
type sight struct {
	size    int64 // of the target, -1 if it does not exist or is not a regular file
	mode    string
	owner   string // user:group
	partial int64  // bytes of an earlier attempt, which may have holes
}

func (u *upload) look(ctx context.Context) (sight, error) {
	f := u.file
	use := ""
	if u.content.rereadable() {
		use = "use"
	}
	out, err := u.host.Output(ctx, Command{
		Argv: []string{"/bin/sh", "-c", lookScript, "sh", f.Path, u.temporary, temporaryPrefix(f.Path), f.folder(), use},
		Root: f.Root, does: doing("look at", f.Path),
	})
	if err != nil {
		return sight{}, u.host.fileFault("upload", f.Path, err)
	}
	return parseSight(string(out)), nil
}

func parseSight(out string) sight {
	seen := sight{size: -1}
	for line := range strings.Lines(out) {
		var s sight
		if n, _ := fmt.Sscanf(line, "target %d %s %s", &s.size, &s.mode, &s.owner); n == 3 && s.size >= 0 {
			seen.size, seen.mode, seen.owner = s.size, s.mode, s.owner
		}
		if n, _ := fmt.Sscanf(line, "partial %d", &s.partial); n == 1 && s.partial >= 0 {
			seen.partial = s.partial
		}
	}
	return seen
}

// owned reports whether the file has the wanted owner.
func (s sight) owned(want string) bool {
	user, _, _ := strings.Cut(s.owner, ":")
	return want == "" || want == s.owner || want == user
}

// usable returns how many bytes of the partial file are equal to the beginning of the content. Both sides digest it part by part.
func (u *upload) usable(ctx context.Context, have int64) (int64, error) {
	var parts []chunk
	for at, end := int64(0), min(have, u.content.size)/unit*unit; at < end; {
		size := int64(chunkSize)
		if end-at < chunkSize { // the end of an interrupted file may have holes, so compare smaller parts
			size = unit
		}
		parts = append(parts, chunk{offset: at, size: size})
		at += size
	}
	if len(parts) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var there []string
	remote := u.host.startRanges(ctx, u.temporary, u.file.Root, func(digest string) error {
		mu.Lock()
		defer mu.Unlock()
		if len(there) == len(parts) {
			return &LimitError{What: "digests", Limit: int64(len(parts))}
		}
		there = append(there, strings.Clone(digest[:min(len(digest), 64)]))
		return nil
	})
	for _, p := range parts {
		remote.ask(p)
	}
	remote.close()
	here, err := u.digests(ctx, parts)
	if err == nil {
		err = remote.wait(ctx)
	}
	if err != nil {
		return 0, u.host.during("upload", u.file.Path, err)
	}
	mu.Lock()
	defer mu.Unlock()
	same := int64(0)
	for i, p := range parts {
		if i >= len(there) || there[i] != here[i] {
			break
		}
		same += p.size
	}
	return same, nil
}

// digests returns the digests of consecutive parts of the content.
func (u *upload) digests(ctx context.Context, parts []chunk) ([]string, error) {
	from, err := u.content.from(0)
	if err != nil {
		return nil, err
	}
	var digests []string
	for _, p := range parts {
		if ctx.Err() != nil {
			return nil, u.host.fail(context.Cause(ctx))
		}
		digest := sha256.New()
		if _, err := io.CopyN(digest, from, p.size); err != nil {
			return nil, u.unread(err)
		}
		digests = append(digests, sum(digest))
	}
	return digests, nil
}
