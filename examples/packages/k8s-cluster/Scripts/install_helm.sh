#!/bin/bash
# Installs Helm on a control-plane node. A management driver runs it as root when a
# request names it as helm_installation_script_path.
#
# The archive comes from HELM_ARCHIVE (a file), from
# helm-v<version>-linux-<arch>.tar.gz beside this script, or from get.helm.sh,
# through the proxy that https_proxy and no_proxy name. It must have the SHA-256
# that is written here, which is the one of Helm's release notes.
#
# Environment: HELM_VERSION (without v) installs another version; its digest must
# then be in HELM_SHA256. HELM_INSTALL_DIR (default /usr/local/bin).
#
# It can be run again: where that version is installed already nothing changes.
# Any failure ends the script with a status that is not 0.
set -euo pipefail

die() { echo "install_helm: $*" >&2; exit 1; }

pinned=3.18.4
sha256_amd64=f8180838c23d7c7d797b208861fecb591d9ce1690d8704ed1e4cb8e2add966c1
sha256_arm64=c0a45e67eef0c7416a8a8c9e9d5d2d30d70e4f4d3f7bea5de28241fffa8f3b89

version=${HELM_VERSION:-$pinned}
dir=${HELM_INSTALL_DIR:-/usr/local/bin}
case $(uname -m) in
  x86_64) arch=amd64 digest=$sha256_amd64 ;;
  aarch64 | arm64) arch=arm64 digest=$sha256_arm64 ;;
  *) die "no digest is known for $(uname -m): set HELM_VERSION and HELM_SHA256, and the name of the architecture in this script" ;;
esac
if [ "$version" != "$pinned" ]; then
  digest=${HELM_SHA256:-}
  [ -n "$digest" ] || die "HELM_VERSION $version needs HELM_SHA256, the digest of its archive for linux-$arch"
fi
name=helm-v$version-linux-$arch.tar.gz

# --client is for Helm 2, which would ask a server; 3 takes it too.
installed=$("$dir/helm" version --client --template '{{.Version}}' 2>/dev/null || true)
if [ "$installed" = "v$version" ]; then
  echo "Helm $version is installed already."
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
beside=$(dirname "$0")/$name
if [ -n "${HELM_ARCHIVE:-}" ]; then
  [ -f "$HELM_ARCHIVE" ] || die "there is no file $HELM_ARCHIVE (HELM_ARCHIVE)"
  cp "$HELM_ARCHIVE" "$work/$name"
elif [ -f "$beside" ]; then
  cp "$beside" "$work/$name"
elif command -v curl >/dev/null; then
  curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$work/$name" "https://get.helm.sh/$name"
elif command -v wget >/dev/null; then
  wget --quiet --tries=3 --output-document="$work/$name" "https://get.helm.sh/$name"
else
  die "there is neither curl nor wget; put $name beside this script"
fi
echo "$digest  $work/$name" | sha256sum --check --status ||
  die "$name does not have the SHA-256 $digest"

tar -xzf "$work/$name" -C "$work" "linux-$arch/helm"
mkdir -p "$dir"
# Replaced at once: Helm may be running.
install -m 0755 "$work/linux-$arch/helm" "$dir/.helm.new"
mv -f "$dir/.helm.new" "$dir/helm"
"$dir/helm" version --short
