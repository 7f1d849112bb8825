package sshtest_test

// realThing are scripts with the same standard output and exit code on a simulated host and on this machine, which has the
// programs of GNU or busybox. Each script starts in an empty directory and does not print the path of this directory.
var realThing = []string{
	`printf 'a\0b' | wc -c; printf 'one\ntwo\n' >f; wc -c <f; wc -l f`,
	`seq 5 >f; head -c 3 f; tail -c 3 f; tail -c +8 f; tail -n 2 f; head -n -0 f >/dev/null; head -n 1 f; head -c 2 <f`,
	`printf 'abcdefgh' >f; dd if=f bs=2 skip=1 count=2 2>/dev/null; echo; dd bs=3 count=1 <f 2>/dev/null`,
	`printf 'abcdefgh' >f; printf XY | dd of=f bs=2 seek=1 conv=notrunc 2>/dev/null; cat f; echo; printf XY | dd of=f bs=2 seek=1 2>/dev/null; cat f`,
	`printf 'ab' | dd of=g bs=1 seek=3 2>/dev/null; wc -c <g; tr '\0' . <g`,
	`head -c 70000 /dev/zero >f; dd if=f bs=65536 skip=1 2>/dev/null | tail -c +11 | wc -c`,
	`printf x >a; printf y >b; printf x >c; sha256sum a b c; sha256sum <a; cmp a b; echo $?; cmp -s a c; echo $?; cmp -s a none; echo $?`,
	`printf x >'a
b'; printf x >'c\d'; sha256sum a* c*; printf '%s\0' a* c* | xargs -0 sha256sum; sha256sum -z a*`,
	`printf 'x' | openssl dgst -sha256 -r; printf x >f; openssl dgst -sha256 -r f`,
	`mkdir -p d/e; touch d/a d/e/b d/.h; ln -s a d/l; find d | sort; echo; find d -type f | sort; find d -type l; find d -type d | sort; find d -mindepth 1 -maxdepth 1 | sort; find d -name 'b*' -print`,
	`mkdir d; touch d/x d/y 'd/z z'; find d -type f -print0 | sort -z | tr '\0' '\n'; find d -name x -exec rm -rf '{}' ';'; ls d; find d -mtime +1; find d -mtime -1 | wc -l; find none; echo $?`,
	`printf 'a\0b c\0' | xargs -0 printf '<%s>'; printf '' | xargs -0 -r echo no; printf '' | xargs echo none; printf 'a b\nc' | xargs -n 2 echo; printf a | xargs false; echo $?`,
	`ln -s t l; readlink l; [ -L l ] && [ ! -e l ] && echo dangling; echo x >t; cat l; [ -f l ] && echo file; stat -c '%F' l; stat -L -c '%F %s' l; readlink t; echo $?`,
	`ln -s t l; ln -s u l; echo $?; ln -sf u l; readlink l; mkdir d; ln -s d s; ln -s x s; readlink d/x; ln -sfn y s; readlink s`,
	`mkdir d; echo x >d/f; ln -s d s; cat s/f; rm s; cat d/f; ln -s d s; rm -rf s; ls d; mkdir e; ln -s ../d e/up; cat e/up/f; cd e/up; basename "$(pwd -P)"; basename "$(pwd)"`,
	`ln -s a b; ln -s b a; cat a; echo $?; echo x >l2 && ln -s l2 l3 && echo y >l3 && cat l2 && mv l3 l4 && readlink l4 && cp l4 copy && cat copy && [ ! -L copy ]; echo $?`,
	`mkdir a b; touch b/f; mv -T a b; echo $?; mkdir c; mv -T a c; echo $?; ls; echo x >f; mv -T f c; echo $?; mv -T c f; echo $?`,
	`echo x >f; chmod 000 f; chmod 640 f; stat -c '%a %s' f; mkdir d; chmod 1777 d; stat -c %a d; touch new; stat -c %a new; stat -c %F new f`,
	`printf 'a1b\nc2\n' | tr -c 'a-z\n' '[?*]'; printf 'abc' | tr -d b; printf 'aXb' | tr '[:upper:]' '[:lower:]'; printf 'a-b_c' | tr -dc a-z`,
	`printf 'one\ntwo\nthree\n' >f; printf 'two\n' >g; grep -l two f g; grep -c t f; grep -e one -e two f; grep -ls x none f; echo $?; grep -as one f none; echo $?; grep -hs '^t' f g; grep -h t f none 2>/dev/null; echo $?; grep -n two f`,
	`set -- a b c d e f g h i j k l; echo "${10}" "${12}" "[${13}]"; f() { echo "${11}"; }; f $@; shift 10; echo $1`,
	`sleep 30 & kill $!; wait $!; echo $?; trap 'echo T' TERM; kill $$; echo after; (exit 3) & wait $!; echo $?`,
	`set -e; f() { echo f; return 3; }; f & wait $! || echo "code $?"; { echo a; exit 4; } & wait $! || echo $?; true & wait; echo end`,
	`cat </dev/zero | head -c 3 | wc -c; : | cat; cat <<EOF | tr a b
$((1 + 2)) aaa
EOF`,
	`umask; umask 027; touch f; mkdir d; stat -c %a f d; mkdir -m 711 e; stat -c %a e; sh -c 'umask; : >g; stat -c %a g'`,
	`read -r s </proc/$$/stat; s=${s##*) }; set -- $s; [ "$2" = $PPID ] && echo parent; echo $# | grep -q '^[0-9]*$'; [ "${20}" -gt 0 ] && echo time; wc -c </proc/sys/kernel/random/boot_id`,
	`kill -0 $$ && echo here; kill -s TERM 999999; echo $?; sh -c 'kill -9 $$'; echo $?; command -v kill >/dev/null && echo found`,
}
