# The first process of a machine, in namespaces of its own: like init.sh, but the file system is a Debian tree
# and systemd-nspawn boots it with all that a virtual machine may do, so that container runtimes run on it.
#   $1 directory to build in, $2 files to lay over those of the tree ("" for none), $3 host name,
#   $4 address with prefix length, $5 gateway, $6 login user, $7 rule for sudo, $8 the tree,
#   $9 its control groups, one per hierarchy, by colon, ${10} devices of the machine that it gets (FROM:TO, by
#   blank), ${11} the files of a saved machine ("" for a new one); further arguments: directories that are copied to
#   where they are in the tree (FROM:TO), on a real disk: an overlay cannot lie on another one
set -eu
dir=$1 layer=$2 name=$3 address=$4 gateway=$5 user=$6 sudo=$7 tree=$8 groups=$9 devices=${10} saved=${11}
shift 11
read -r password # on standard input, so that no list of processes shows it; the network device is there now

mount --make-rprivate /
mount -t proc proc /proc
cd "$dir"
mkdir work root etcd
# Several etcds on one disk wait for each other's fsync until their leaders are voted out.
mount -t tmpfs -o mode=700 tmpfs etcd
if [ -n "$saved" ]; then
  cp -a "$saved/upper" .
  cp -a "$saved/etcd/." etcd/
else
  mkdir upper
fi
if [ -n "$layer" ]; then
  cp -a "$layer/." upper/
  chmod 755 upper
fi
mount -t overlay overlay -o "lowerdir=$tree,upperdir=upper,workdir=work" root

binds=()
for pair in "$@" /var/lib/containerd /var/lib/kubelet /var/lib/docker; do
  to=${pair#*:}
  mkdir -p "root$to"
  case $pair in
    *:*) # images never change: linked, not copied; but databases are, and what a saved machine has not linked itself
      mkdir -p "data${to%/*}"
      cp -alH "${pair%%:*}" "data$to"
      find "data$to" -type f \( -name '*.db' ${saved:+-o -links 2} \) -exec cp -a {} {}.copy \; -exec mv {}.copy {} \; ;;
    *)
      if [ ! -e "data$to" ]; then
        mkdir -p "data$to"
        [ -z "$saved" ] || cp -a "$saved/data$to/." "data$to/"
      fi ;;
  esac
done
for to in /var/lib/containerd /var/lib/kubelet /var/lib/docker; do
  binds+=("--bind=$PWD/data$to:$to")
done
for pair in $devices; do
  binds+=("--bind=$pair")
done
binds+=("--bind=$PWD/etcd:/var/lib/etcd")

ip link set lo up
ip link set eth0 up
ip addr add "$address" dev eth0
ip route add default via "$gateway"

# furnish makes the tree that of a new machine.
furnish() {
  echo "$name" >root/etc/hostname
  printf '127.0.0.1 localhost\n%s %s\n' "${address%/*}" "$name" >root/etc/hosts
  rm -f root/etc/resolv.conf root/etc/nologin root/etc/ssh/ssh_host_*
  echo "nameserver $gateway" >root/etc/resolv.conf # nobody answers there, but CoreDNS does not start without one
  chroot root /usr/sbin/useradd --create-home --shell /bin/bash "$user"
  printf '%s:%s\n' "$user" "$password" | chroot root /usr/sbin/chpasswd # its PAM loads modules of the tree
  mkdir -p root/etc/sudoers.d
  printf '%s %s\n' "$user" "$sudo" >root/etc/sudoers.d/login
  ssh-keygen -q -t ed25519 -N '' -f root/etc/ssh/ssh_host_ed25519_key
  mkdir -p root/etc/systemd/system/ssh.service.d root/etc/systemd/system/user@.service.d root/etc/systemd/system.conf.d root/etc/systemd/system/sysinit.target.wants
  printf '[Service]\nExecStart=\nExecStart=/usr/sbin/sshd -D -e -f /etc/ssh/sshd_host_config\nStandardError=append:/var/log/sshd.log\n' \
    >root/etc/systemd/system/ssh.service.d/host.conf
  # Where cgroups are of version 1, systemd does not see that a unit has become empty, and waits this long.
  printf '[Manager]\nDefaultTimeoutStopSec=2s\n' >root/etc/systemd/system.conf.d/host.conf
  # The units of cloud-init have no limit (TimeoutSec=0). A unit whose cloud-init has failed while its tee still ran would stop for
  # ever, and the units of the next stages would wait for it.
  for unit in cloud-init-local cloud-init cloud-config cloud-final; do
    mkdir -p "root/etc/systemd/system/$unit.service.d"
    printf '[Service]\nTimeoutStopSec=2s\n' >"root/etc/systemd/system/$unit.service.d/host.conf"
  done
  # Debian's limit for the manager of a user is two minutes. It stops ten seconds after the last session, and who logs in then waits.
  printf '[Service]\nTimeoutStopSec=2s\n' >root/etc/systemd/system/user@.service.d/host.conf
  # systemd-nspawn binds the controllers read-only; kubelet and runc write to them.
  cat >root/etc/systemd/system/host-cgroups.service <<'UNIT'
[Unit]
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'for c in /sys/fs/cgroup /sys/fs/cgroup/*; do mountpoint -q $c && mount -o remount,bind,rw $c; done; mount --make-rshared /; true'
UNIT
  ln -sf ../host-cgroups.service root/etc/systemd/system/sysinit.target.wants/
}
if [ -z "$saved" ]; then furnish; fi

boot() (
  IFS=:
  for group in $groups; do
    echo 0 >"$group/cgroup.procs" # this process
  done
  # Without udev systemd would wait in vain for the units of devices. It does not where /sys is read-only.
  writable=1
  [ -z "$devices" ] || writable=network
  unified=0
  [ -e /sys/fs/cgroup/cgroup.controllers ] && unified=1
  exec env SYSTEMD_NSPAWN_API_VFS_WRITABLE=$writable SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=$unified systemd-nspawn -q -D "$PWD/root" --boot -M "$name" \
    --register=no --keep-unit --network-namespace-path=/proc/self/ns/net --capability=all --system-call-filter="@keyring bpf open_by_handle_at" \
    --bind=/dev/kmsg --bind=/dev/fuse --resolv-conf=off --timezone=off "${binds[@]}" </dev/null >"$dir/console.log" 2>&1
)

# down ends all processes of the machine but this one, as a power cut. It returns when the kernel has done away with the last process:
# until then systemd-nspawn can find the tree locked, and the old system has the machine's disks mounted.
down() {
  kill -9 -1
  while set -- /proc/[0-9]*; [ $# -gt 1 ]; do wait -n; done
}

set +e
echo ready
while read -r order; do # bash reaps the orphans of the machine while it reads
  case $order in
    boot) boot & ;;
    reboot)
      down
      boot & ;;
  esac
done
