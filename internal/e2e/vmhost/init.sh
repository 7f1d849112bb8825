# The first process of a host, in namespaces of its own: makes the file system, then does what it is told on
# standard input. When that ends, so does the host.
#   $1 directory to build in, $2 files to lay over those of the machine ("" for none), $3 host name,
#   $4 address with prefix length, $5 gateway, $6 login user, $7 rule for sudo
set -eu
layer=$2 name=$3 address=$4 gateway=$5 user=$6 sudo=$7
read -r password # on standard input, so that no list of processes shows it; the network device is there now

mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$1"
cd "$1"
mkdir upper work root
if [ -n "$layer" ]; then
  cp -a "$layer/." upper/
  chmod 755 upper
fi
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
cd root

hostname "$name"
ip link set lo up
ip link set eth0 up
ip addr add "$address" dev eth0
ip route add default via "$gateway"

mount -t proc proc proc
for setting in sys sysrq-trigger irq bus fs; do # of the machine, most of them
  [ -e "proc/$setting" ] || continue
  mount --bind "proc/$setting" "proc/$setting"
  mount -o remount,bind,ro "proc/$setting"
done
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  : >"dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mkdir -p run/sshd run/lock .old
pivot_root . .old
cd /
umount -l .old
rmdir .old

echo "$name" >/etc/hostname
printf '127.0.0.1 localhost\n%s %s\n' "${address%/*}" "$name" >/etc/hosts
printf '/dev/vda1 / ext4 defaults 0 1\n/dev/vda2 none swap sw 0 0\n' >/etc/fstab
id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$user"
printf '%s:%s\n' "$user" "$password" | chpasswd
rm -rf /etc/sudoers.d
mkdir -m 750 /etc/sudoers.d
printf '%s %s\n' "$user" "$sudo" >/etc/sudoers.d/login
rm -f /etc/nologin /etc/ssh/ssh_host_*
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
cat >/etc/ssh/sshd_host_config <<'END'
HostKey /etc/ssh/ssh_host_ed25519_key
UsePAM yes
PasswordAuthentication yes
KbdInteractiveAuthentication no
UseDNS no
MaxStartups 100
Subsystem sftp /usr/lib/openssh/sftp-server
END
echo ready

# bash reaps the orphans of the host while it reads.
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
  setpriv --bounding-set -sys_module,-sys_rawio,-sys_boot,-sys_time,-mknod,-sys_admin bash -c '
  while read -r order; do
    case $order in sshd) /usr/sbin/sshd -D -e -f /etc/ssh/sshd_host_config 2>>/var/log/sshd.log & ;; esac
  done'
