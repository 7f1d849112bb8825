#!/usr/bin/env bash
# Adds what NFS takes to what build.sh has built, from a Debian mirror (10 seconds): a script, and so a name of its own, because
# a change of build.sh builds Kubernetes anew. It says on standard output where: DIR/nfs.
#
#   DIR/nfs/debian   a repository with the packages that the driver installs: nfs-kernel-server, nfs-common
#   DIR/nfs/layer    what is laid over the trees: a server that needs nothing of the kernel (nfs-ganesha), and a client
#                    (libnfs-utils). dpkg does not know of them
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
DIR=$(bash "$HERE/build.sh")
cd "$DIR"
exec 3>&1 >&2 9>.lock
flock 9
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
STAMP=$(sha256sum "$HERE/nfs.sh" | cut -c1-12)

build() {
  rm -rf nfs overlay
  mkdir -p nfs/{debian,layer} overlay/{lists,work,root}
  mount -t overlay overlay -o lowerdir=tree,upperdir=overlay/lists,workdir=overlay/work overlay/root
  trap 'umount "$DIR/overlay/root"' EXIT
  cp /etc/resolv.conf overlay/root/etc/resolv.conf
  chroot overlay/root apt-get update -q
  chroot overlay/root apt-get install -q -y --download-only --no-install-recommends nfs-kernel-server nfs-common
  cp overlay/root/var/cache/apt/archives/*.deb nfs/debian/
  mkdir overlay/root/mnt/layer
  chroot overlay/root sh -c 'cd /mnt/layer && apt-get download -q nfs-ganesha nfs-ganesha-vfs libntirpc4.3 liburcu8 libwbclient0 libnfsidmap1 libnfs13 libnfs-utils'
  mv overlay/root/mnt/layer nfs/packages
  umount overlay/root

  mount -t overlay overlay -o lowerdir=tree,upperdir=nfs/layer,workdir=overlay/work overlay/root
  for package in nfs/packages/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C overlay/root --keep-directory-symlink
  done
  chroot overlay/root ldconfig
  if chroot overlay/root sh -c 'ldd /usr/bin/ganesha.nfsd /usr/lib/*/ganesha/libfsalvfs.so /usr/bin/nfs-ls' | grep 'not found'; then return 1; fi
  umount overlay/root
  trap - EXIT
  rm -rf overlay nfs/packages
}

# sign makes a repository of the packages, with the key of those that build.sh makes.
sign() (
  cd nfs/debian
  dpkg-scanpackages --multiversion . /dev/null >Packages 2>/dev/null
  printf 'Suite: stable\nCodename: stable\nDate: %s\nSHA256:\n %s %s Packages\n' \
    "$(date -u +'%a, %d %b %Y %T UTC')" "$(sha256sum Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" >Release
  GNUPGHOME=$DIR/gnupg gpg --batch --yes --clearsign -o InRelease Release
  GNUPGHOME=$DIR/gnupg gpgconf --kill all
)

if [ "$(cat nfs/stamp 2>/dev/null)" != "$STAMP" ]; then
  build
  sign
  echo "$STAMP" >nfs/stamp
fi
echo "$DIR/nfs" >&3
