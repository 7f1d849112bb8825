# The first process of a host, in namespaces of its own: makes the file system, then does what it is told on
# standard input. When that ends, so does the host.
#   $1 directory to build in, $2 files to lay over those of the machine ("" for none), $3 host name,
#   $4 address with prefix length, $5 gateway, $6 login user, $7 rule for sudo, $8 control group for
#   systemd ("" when the host has none)
set -eu
layer=$2 name=$3 address=$4 gateway=$5 user=$6 sudo=$7 group=$8
read -r password # on standard input, so that no list of processes shows it; the network device is there now

[ -z "$group" ] || exec 9>"$group/cgroup.procs"
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

# Root of a host may do what it likes, but for what would reach the machine: settings, modules, clock, disks.
bounds=-sys_module,-sys_rawio,-sys_boot,-sys_time,-mknod,-sys_admin
mount_proc() { # $1 root of the host; each start of it has an id
  mount -t proc proc "$1/proc"
  for setting in sys sysrq-trigger irq bus fs; do # of the machine, most of them
    [ -e "$1/proc/$setting" ] || continue
    mount --bind "$1/proc/$setting" "$1/proc/$setting"
    mount -o remount,bind,ro "$1/proc/$setting"
  done
  mount --bind "$1/var/lib/boot_id" "$1/proc/sys/kernel/random/boot_id"
}

cat /proc/sys/kernel/random/uuid >var/lib/boot_id
mount_proc "$PWD"
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
mount -t tmpfs -o mode=1777 tmpfs run/lock
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
[ -z "$group" ] || {
  # Nothing of the machine's: the service of sshd and what systemd itself brings along.
  rm -rf /etc/systemd/system /usr/lib/systemd/system/*.wants /lib/systemd/system/*.wants
  mkdir /etc/systemd/system
  printf '%s\n' '[Unit]' DefaultDependencies=no Requires=ssh.service >/etc/systemd/system/host.target
  printf '%s\n' '[Unit]' DefaultDependencies=no StartLimitIntervalSec=0 '[Service]' Type=notify KillMode=process RuntimeDirectory=sshd RuntimeDirectoryPreserve=yes \
    'ExecStart=/usr/sbin/sshd -D -e -f /etc/ssh/sshd_host_config' StandardError=append:/var/log/sshd.log \
    >/etc/systemd/system/ssh.service
}

# boot starts what a host runs; under systemd in namespaces below these.
boot() {
  set -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root container=vmhost /usr/bin/setpriv --bounding-set "$bounds"
  if [ -z "$group" ]; then
    "$@" /usr/sbin/sshd -D -e -f /etc/ssh/sshd_host_config 2>>/var/log/sshd.log </dev/null >/dev/null &
    return
  fi
  (
    echo 0 >&9 # this process
    exec unshare --cgroup --mount --pid --fork bash -euc 'mount_proc ""; mount -t cgroup2 cgroup2 /sys/fs/cgroup; exec "$@"' machine \
      "$@" /lib/systemd/systemd --unit=host.target --log-target=console --show-status=0 </dev/null >/dev/null 9>&-
  ) &
}
export -f mount_proc

# down ends all processes of the host but this one, as a power cut, and forgets what is in memory only.
down() {
  kill -9 -1
  while set -- /proc/[0-9]*; [ $# -gt 1 ]; do wait -n; done
  find /run /tmp /dev/shm -xdev -mindepth 1 -not -path /run/sshd -not -path /run/lock -delete
  cat /proc/sys/kernel/random/uuid >/var/lib/boot_id
}

set +e
echo ready
while read -r order; do # bash reaps the orphans of the host while it reads
  case $order in
    boot) boot ;;
    reboot) down; boot ;;
  esac
done
