#!/usr/bin/env bash
# Adds Debian 13 to what build.sh has built with Debian 12, from a Debian mirror (4 minutes, 0.4 GB for all versions of Kubernetes). It
# is a script beside build.sh because a change of build.sh builds Kubernetes again. It says on standard output where: DIR is laid out as
# the directory of build.sh, and its name ends with the version, too.
#
#   DIR/tree     Debian 13 with systemd and sshd, without anything of Kubernetes
#   DIR/cloud    what an image for clouds holds beyond the tree: cloud-init
#   DIR/debian   a repository with the Debian packages that nodes need
#   the same as in the directory of build.sh: DIR/kubernetes, DIR/key.asc, DIR/containerd, DIR/images, DIR/bin
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
PARTS=$(bash "$HERE/build.sh")
BASE=${PARTS%/*} VERSION=${PARTS##*/}
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
exec 3>&1 >&2

# The functions of build.sh, with the other release and without the packages of registries.
source <(sed -n '/^\(tree\|cloud\|debian_packages\|index\|run\|enter\)() [{(]/,/^[})]/p' "$HERE/build.sh" |
  sed -e 's/bookworm tree/trixie tree/' -e '/^ *docker\.io .*libldap/d' -e 's/keepalived \\$/keepalived/')

enter "$BASE/debian13"
STAMP=$(sha256sum "$HERE/debian13.sh" | cut -c1-12)
if [ "$(cat stamp 2>/dev/null)" != "$STAMP" ]; then
  rm -rf stages tree cloud debian overlay
  mkdir stages
  echo "$STAMP" >stamp
fi
ln -sfn "$BASE/gnupg" gnupg
run tree cloud debian_packages
mkdir -p "$VERSION"
for name in kubernetes key.asc containerd images bin; do
  ln -sfn "$PARTS/$name" "$VERSION/$name"
done
for name in tree cloud debian; do
  ln -sfn "$DIR/$name" "$VERSION/$name"
done
echo "$DIR/$VERSION" >&3
