#!/usr/bin/env bash
# setup.sh gate|nightly|node: installs the programs that the Makefile's targets call and this machine lacks, with apt-get. Elsewhere it names
# them. Go itself comes from https://go.dev/dl; go.mod says which version. Without Node the dashboard is not built again.
set -euo pipefail

# Each program with Debian's packages that have it. What is there already is left alone: a package could conflict with one of another origin.
needs='git=git,ca-certificates gcc=gcc,libc6-dev make=make diff=diffutils'
case ${1:-gate} in
  gate) ;;
  nightly) needs="$needs openssl=openssl curl=curl node=nodejs npm=npm chromium=chromium" ;;
  node) needs="$needs containerd=containerd,runc,containernetworking-plugins ip=iproute2 iptables=iptables" ;;
  *) echo "setup: $1 is none of gate, nightly and node" >&2 && exit 2 ;;
esac

command -v go >/dev/null || { echo 'setup: Go is missing: install it from https://go.dev/dl (go.mod says which version)' >&2; exit 1; }
packages=
for need in $needs; do
  command -v "${need%%=*}" >/dev/null || packages="$packages ${need#*=}"
done
packages=${packages//,/ }
if [ -z "$packages" ]; then exit 0; fi
as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
if ! command -v apt-get >/dev/null; then
  echo "setup: install what Debian has in the packages$packages" >&2
  exit 1
fi
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends $packages
