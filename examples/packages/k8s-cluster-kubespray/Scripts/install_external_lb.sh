#!/bin/bash
# Prepares a Debian or Ubuntu machine for being the load balancer of a cluster:
# it installs haproxy. A management driver runs it as the login user when a
# request names it as external_lb_param.script_path.
#
#   -m IPS -w IPS
#
# IPS are the addresses of the control-plane nodes and of the workers, comma
# separated. They are Tacker's contract and only looked at: the driver writes
# haproxy.cfg itself, whole, whenever the nodes of the cluster change.
# -d traces the commands.
#
# Environment: http_proxy, https_proxy, no_proxy, through which packages are
# fetched. What is installed already stays as it is. Any failure ends the script
# with a status that is not 0.
set -euo pipefail

die() { echo "install_external_lb: $*" >&2; exit 1; }
# sudo drops the environment; what travels on standard input is on no command line.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    printf '%s\n' "${http_proxy:-}" "${https_proxy:-}" "${no_proxy:-}" |
      sudo -n sh -c 'read -r http_proxy; read -r https_proxy; read -r no_proxy
        [ -z "$http_proxy$https_proxy" ] || export http_proxy https_proxy no_proxy
        exec "$@" </dev/null' sh "$@"
  fi
}

masters="" workers=""
while getopts m:w:d opt; do
  case $opt in
    m) masters=$OPTARG ;;
    w) workers=$OPTARG ;;
    d) set -x ;;
    *) die "unknown option; see the head of this file" ;;
  esac
done
[ -n "$masters" ] || die "-m is missing: the addresses of the control-plane nodes"
for ip in ${masters//,/ } ${workers//,/ }; do
  case $ip in
    *[!0-9a-fA-F.:]*) die "$ip is no address" ;;
  esac
done

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

missing=()
as_root haproxy -v >/dev/null 2>&1 || missing+=(haproxy)
as_root ss -V >/dev/null 2>&1 || missing+=(iproute2)
if [ "${#missing[@]}" -gt 0 ]; then
  apt update
  apt install --no-install-recommends "${missing[@]}"
fi
as_root haproxy -v
echo "Install Success!"
