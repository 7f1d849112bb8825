package sshexec

// Files of a job on the host. Its directory, 0700 and named by encodeJobName, is in /var/lib/sshexec/jobs for root and
// in ~/.local/state/sshexec/jobs for other users:
//
//	spec              a symbolic link to "digest token": identifies the command
//	command, stdin    the command and its input; removed once the command has begun
//	output            standard output and standard error
//	pid               a symbolic link to "pid starttime boot_id seconds"
//	pending           becomes ended.CODE.SECONDS
//
// Small facts are stored as links and names. One system call creates them, and only one of several callers succeeds.
// They need no space on a full disk, and are never incomplete after a power failure. The start time (field 22 of the
// stat of a process) and the boot id distinguish the supervisor from a later process with the same number.
//
// The directory is prepared under another name, .new-TOKEN, and then renamed. Leftovers of interrupted starts are removed after a
// day. Every caller that finds a pending job may start a supervisor: the first supervisor that creates the link pid runs the
// command, further supervisors exit. So a start can be interrupted at any point and repeated, and the command never runs twice.

// jobsDir sets b to the directory with the jobs of the user.
const jobsDir = `if [ "$(id -u)" = 0 ]; then b=/var/lib/sshexec/jobs; else b=${HOME:?}/.local/state/sshexec/jobs; fi; `

// procFields inspects the process $1 and sets h to its state, o to its parent, j to its session and q to its start time. All are
// empty if the process does not exist. The name of the process, the second field, may contain any characters, even a newline, so
// the script counts the fields after the name.
const procFields = `proc() { x=; { while IFS= read -r y; do x="$x $y"; done <"/proc/$1/stat"; } 2>/dev/null; x=${x##*) }; ` +
	`set -- $x; h=$1 o=$2 j=$4 q=${20}; }; `

// jobState inspects the job in $d. It sets s to the state (absent, foreign, or a [JobState]), c to the exit code, z to the bytes of
// output, t and e to the times of the beginning and the end, p to the supervisor and k to the spec. It checks first whether the
// supervisor lives, then whether the job has ended, and reads the size of the output last. So a job that ends meanwhile does not
// seem lost, and the output of an ended job is complete.
const jobState = procFields +
	`state() { s=pending c=0 z=0 t=0 e=0 p= k=; ` +
	`if [ ! -e "$d" ] && [ ! -L "$d" ]; then s=absent; return; fi; ` +
	`if [ -L "$d" ] || [ ! -d "$d" ] || ! k=$(readlink "$d/spec"); then s=foreign; return; fi; ` +
	`if l=$(readlink "$d/pid"); then s=lost; case "$l" in *[!0-9a-z" "-]*) s=foreign; return;; esac; p=${l%% *}; l=${l#* }; a=${l%% *}; l=${l#* }; t=${l##* }; ` +
	`proc "$p"; case "$h" in ""|Z|X) ;; *) if [ "$q" = "$a" ] && [ "${l%% *}" = "$(cat /proc/sys/kernel/random/boot_id)" ]; then s=running; fi;; esac; ` +
	`elif [ -e "$d/pid" ]; then s=foreign; return; fi; ` +
	`for f in "$d"/ended.*; do if [ -e "$f" ]; then f=${f##*/ended.}; c=${f%%.*}; e=${f#*.}; s=ended; fi; done; ` +
	`case "$c$e$t" in *[!0-9]*) s=foreign; return;; esac; if [ "${#c}" -gt 3 ] || [ "${#e}" -gt 11 ] || [ "${#t}" -gt 11 ]; then s=foreign; return; fi; ` +
	`z=$(stat -c %s "$d/output" 2>/dev/null) || z=0; }; ` +
	`say() { printf "%s %s %s %s %s\n" "$s" "$c" "$z" "$t" "$e"; }; `

// nap waits a tenth of a second, or a second if sleep does not support fractions.
const nap = `nap() { sleep 0.1 2>/dev/null || sleep 1; }; `

// supervisorScript runs the command and stores its exit code. It catches signals instead of ignoring them, because the command
// would inherit ignored signals. The command runs in a process group of its session as in any script. It does not run in the
// background, because there it would ignore interrupts. The command text unsets the variables of the supervisor before the command
// begins.
//
//	$1 directory, $2 token, $3 umask of the login
const supervisorScript = `read -r _sshexec_x <"/proc/$$/stat"; _sshexec_x=${_sshexec_x##*) }; _sshexec_f() { printf "%s" "${20}"; }; ` +
	`trap : HUP INT QUIT TERM USR1 USR2; ` +
	`ln -s "$$ $(_sshexec_f $_sshexec_x) $(cat /proc/sys/kernel/random/boot_id) $(date +%s)" "$1/pid" 2>/dev/null || exit 0; ` +
	`(_sshexec_c=$(cat "$1/command") || exit 126; if [ -e "$1/stdin" ]; then exec <"$1/stdin" || exit 126; fi; ` +
	`rm -f "$1/command" "$1/stdin"; umask "$3"; SSHEXEC_JOB=$2; export SSHEXEC_JOB; eval "$_sshexec_c") >>"$1/output" 2>&1; ` +
	`_sshexec_x=$?; mv "$1/pending" "$1/ended.$_sshexec_x.$(date +%s)"`

// spoolScript stores standard input for the command: $1 token.
const spoolScript = jobsDir + `umask 077; mkdir -p "$b/.new-$1" && cat >"$b/.new-$1/stdin"`

// unspoolScript removes the files of an interrupted start: $1 token, $2 "cut" if the connection broke. In this case spoolScript may
// start only later on the host. A link with the name of its directory makes mkdir fail, so that no input is stored. If mkdir was
// faster, ln creates the link inside the directory, and the next iteration removes both.
const unspoolScript = jobsDir + `n=$b/.new-$1; rm -rf "$n"; if [ "$2" = cut ]; then for i in 1 2 3; do ` +
	`if [ ! -L "$n" ]; then rm -rf "$n"; ln -s cut "$n"; fi; done; fi`

// startScript starts a job: $1 name, $2 token, $3 digest, $4 lines of the command on standard input, $5 supervisor. It checks the
// result of mv, which moves a directory into an existing directory.
//
// A supervisor becomes the leader of a new session. setsid -f does not make it a background command of the shell, in which the
// command would ignore INT and QUIT; busybox has no -f. With systemd and as root, the supervisor is also in a separate scope, so
// that it ends neither with the login session (KillUserProcesses=) nor with the ssh service. If a supervisor has not started within
// 3 s (1 s without systemd), startScript starts another supervisor without a scope.
const startScript = `m=$(umask); umask 077; ` + jobsDir + jobState + nap +
	`d=$b/$1 n=$b/.new-$2 u=$5; mkdir -p "$n" || exit 1; ` +
	`find "$b" -maxdepth 1 -name ".new-*" -mtime +1 -exec rm -rf "{}" ";" 2>/dev/null; rm -rf "$b"/.old-*; ` +
	`i=$4; while [ "$i" -gt 0 ]; do IFS= read -r y || exit 1; printf "%s\n" "$y" || exit 1; i=$((i - 1)); done >"$n/command"; ` +
	`: >"$n/output"; : >"$n/pending"; ln -s "$3 $2" "$n/spec" || exit 1; ` +
	`if [ ! -e "$d" ] && [ ! -L "$d" ]; then mv "$n" "$d" || exit 1; fi; rm -rf "$n" "$d/.new-$2"; ` +
	`state; if [ "$s" != foreign ] && [ "$s" != absent ] && [ "${k%% *}" != "$3" ]; then s=other; say; exit 0; fi; ` +
	`w=${k#* }; run() { exec "$@" /bin/sh -c "$u" sshexec-job "$d" "$w" "$m" </dev/null >/dev/null 2>&1; }; ` +
	`detach() { if setsid -f true 2>/dev/null; then (run setsid -f "$@"); else (run setsid "$@") </dev/null >/dev/null 2>&1 & fi; }; ` +
	`i=0; while [ "$s" = pending ] || { [ "$s" = running ] && [ -e "$d/command" ]; }; do ` +
	`if [ "$s$i" = pending0 ]; then command -v setsid >/dev/null || { echo "the host has no setsid" >&2; exit 1; }; ` +
	`if [ -d /run/systemd/system ] && [ "$(id -u)" = 0 ] && command -v systemd-run >/dev/null; then ` +
	`detach systemd-run --scope --quiet --collect --unit "sshexec-job-$w"; r=30; else detach; r=10; fi; fi; ` +
	`if [ "$s$i" = "pending$r" ]; then detach; fi; if [ "$i" = 100 ]; then break; fi; i=$((i + 1)); nap; state; done; say`

// followScript waits for output and sends it: $1 name, $2 offset, $3 maximum number of checks for output after the offset or for the
// end, $4 and $5 blocks and bytes to skip, $6 blocks of 64 KiB to send. It uses dd, which seeks; tail of busybox reads the file.
const followScript = jobsDir + jobState + nap +
	`d=$b/$1 i=0; state; while [ "$s" = running ] && [ "$z" -le "$2" ] && [ "$i" -lt "$3" ]; do ` +
	`i=$((i + 1)); if [ "$i" -gt 10 ]; then sleep 1; else nap; fi; state; done; say; ` +
	`case "$s" in absent|foreign|pending) ;; *) if [ "$z" -gt "$2" ]; then ` +
	`dd if="$d/output" bs=65536 skip="$4" count="$6" 2>/dev/null | tail -c "+$5"; fi;; esac`

// jobsScript prints a line for every job. A name that is not a valid job name is made printable.
const jobsScript = jobsDir + jobState +
	`for d in "$b"/*; do n=$(printf "%s" "${d##*/}" | tr -c "A-Za-z0-9._%-" "[?*]"); state; printf "%s " "$n"; say; done`

// marked prints files in /proc of the processes that inherited the token $1 or are in its scope. Some builds of busybox grep read a
// line only up to a NUL; for them the script splits the environment of each process into lines.
const marked = `marked() { if printf "a\000b" | grep -q b; then grep -las "SSHEXEC_JOB=$1" /proc/[0-9]*/environ; else ` +
	`for f in /proc/[0-9]*/environ; do if { tr "\000" "\n" <"$f" | grep -qx "SSHEXEC_JOB=$1"; } 2>/dev/null; then echo "$f"; fi; done; fi; ` +
	`grep -ls "sshexec-job-$1[.]scope" /proc/[0-9]*/cgroup; }; `

// seek sets u to the processes of the job without its supervisor: the processes in the supervisor's session, if the supervisor
// lives; the processes in any session that inherited the token in their environment; the processes in the scope; and the living
// children of all these processes.
const seek = marked + `add() { case "$u" in *" $1 "*) ;; *) u="$u$1 ";; esac; }; ` +
	`seek() { u=" " v= r=; if [ "$s" = running ]; then proc "$p"; v=$j u=" $p "; fi; ` +
	`for f in /proc/[0-9]*; do f=${f#/proc/}; proc "$f"; case "$h" in ""|Z|X) ;; *) r="$r $f:$o"; if [ "$j" = "$v" ]; then add "$f"; fi;; esac; done; ` +
	`for f in $(marked "$1"); do f=${f#/proc/}; f=${f%%/*}; ` +
	`case "$r " in *" $f:"*) add "$f";; esac; done; ` +
	`f=; while [ "$f" != "$u" ]; do f=$u; for y in $r; do case "$u" in *" ${y#*:} "*) add "${y%:*}";; esac; done; done; ` +
	`if [ "$s" = running ]; then u="${u%% $p *} ${u#* $p }"; fi; }; `

// cancelScript ends a job: $1 name, $2 signal, $3 tenths of a second to wait for the end. It sends TERM once, and KILL until no
// process remains; with the signal 0 it only waits. It prevents a pending job from starting. It prints the remaining processes
// before the state.
const cancelScript = jobsDir + jobState + nap + seek +
	`d=$b/$1 g=$2 i=0 u=" "; state; ` +
	`if [ "$s" = pending ] && ln -s "0 0 cancelled 0" "$d/pid" 2>/dev/null; then rm -f "$d/command" "$d/stdin"; mv "$d/pending" "$d/ended.143.$(date +%s)"; fi; ` +
	`while state; do case "$s" in absent|foreign) break;; esac; seek "${k#* }"; ` +
	`if [ "$g" != 0 ]; then for f in $u; do kill -s "$g" "$f" 2>/dev/null; done; fi; if [ "$g" = TERM ]; then g=0; fi; ` +
	`if [ "$u" = " " ] && [ "$s" != running ] || [ "$i" -ge "$3" ]; then break; fi; ` +
	`if [ "$i" -lt 10 ]; then i=$((i + 1)); nap; else i=$((i + 10)); sleep 1; fi; done; echo "$u"; say`

// removeScript removes a job: $1 name, $2 a new token. It first prevents a pending job from starting. For a lost job it prints the
// remaining processes before the last state.
const removeScript = jobsDir + jobState + seek +
	`d=$b/$1 u=" "; state; if [ "$s" = pending ]; then ln -s "0 0 removed 0" "$d/pid" 2>/dev/null; state; fi; ` +
	`if [ "$s" = lost ]; then seek "${k#* }"; fi; echo "$u"; ` +
	`case "$s" in ended|lost) if [ "$u" = " " ]; then mv "$d" "$b/.old-$2" || exit 1; fi;; esac; rm -rf "$b"/.old-* && say`
