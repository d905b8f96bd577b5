#!/usr/bin/env bash
# setup.sh gate|nightly|node: installs the programs that the Makefile's targets call and this machine lacks, with apt-get. Elsewhere it names
# them. Go itself comes from https://go.dev/dl; go.mod says which version. Without Node the dashboard is not built again.
set -euo pipefail

programs='git gcc make diff'
packages='git gcc libc6-dev make diffutils ca-certificates'
case ${1:-gate} in
  gate) ;;
  nightly)
    programs="$programs openssl curl node npm chromium"
    packages="$packages openssl curl nodejs npm chromium"
    ;;
  node)
    programs="$programs containerd ip iptables"
    packages="$packages containerd runc containernetworking-plugins iproute2 iptables"
    ;;
  *) echo "setup: $1 is none of gate, nightly and node" >&2 && exit 2 ;;
esac

command -v go >/dev/null || { echo 'setup: Go is missing: install it from https://go.dev/dl (go.mod says which version)' >&2; exit 1; }
missing=()
for program in $programs; do
  if ! command -v "$program" >/dev/null; then missing+=("$program"); fi
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi
as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
if ! command -v apt-get >/dev/null; then
  echo "setup: install what is missing: ${missing[*]} (in Debian's packages $packages)" >&2
  exit 1
fi
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends $packages
