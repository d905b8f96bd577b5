#!/usr/bin/env bash
# setup.sh [SET…]: installs the programs that the Makefile's targets call and that this machine lacks, for the sets demo, unit, system, check
# and node, or for the first four. On Debian and Ubuntu it calls apt-get, as root or through sudo. Elsewhere it prints the command to run, and fails.
set -euo pipefail

# A command, or several of which one is enough; the sets that need it; and its packages for apt-get, dnf, apk and brew (- is none).
programs='
make                                  demo,unit,system,check  make           make             make          make
git                                   demo,unit,system,check  git            git              git           git
gcc                                   unit                    gcc,libc6-dev  gcc,glibc-devel  gcc,musl-dev  gcc
openssl                               system                  openssl        openssl          openssl       openssl
mkfs.ext4                             system                  e2fsprogs      e2fsprogs        e2fsprogs     -
diff                                  check                   diffutils      diffutils        diffutils     diffutils
node                                  system,check            nodejs         nodejs           nodejs        node
npm                                   system,check            npm            npm              npm           -
chromium|chromium-browser|google-chrome  system               chromium       chromium         chromium      chromium
containerd                            node                    containerd,runc,containernetworking-plugins  containerd,runc,containernetworking-plugins  containerd,runc,cni-plugins  -
ip                                    node                    iproute2       iproute          iproute2      -
iptables                              node                    iptables       iptables         iptables      -
'

has() { command -v "$1" >/dev/null 2>&1; }

# Where a machine has none of these, the names of Debian are the best guess.
manager=
for candidate in apt-get dnf apk brew; do
  if has "$candidate"; then manager=$candidate && break; fi
done

# find_missing SET…: fills commands and packages with what is missing.
find_missing() {
  local alternatives sets apt dnf apk brew package wanted name
  commands=() packages=()
  while read -r alternatives sets apt dnf apk brew; do
    if [ -z "$alternatives" ]; then continue; fi
    wanted=
    for name in "$@"; do
      if [[ ",$sets," == *",$name,"* ]]; then wanted=1; fi
    done
    if [[ $alternatives == chromium* && -n ${CHROMIUM:-} ]]; then wanted=; fi
    for name in ${alternatives//|/ }; do
      if has "$name"; then wanted=; fi
    done
    # Only root can mount what it makes, and the PATH of others often lacks its folder.
    if [[ $alternatives == mkfs.ext4 && $user != 0 ]]; then wanted=; fi
    if [ -z "$wanted" ]; then continue; fi
    case $manager in
      dnf) package=$dnf ;;
      apk) package=$apk ;;
      brew) package=$brew ;;
      *) package=$apt ;;
    esac
    if [ "$package" = - ]; then continue; fi
    if [[ $manager == apt-get && $package == chromium && $(. /etc/os-release && echo "$ID") == ubuntu ]]; then package=chromium-browser; fi
    commands+=("${alternatives%%|*}")
    packages+=(${package//,/ })
  done <<<"$programs"
}

if [ $# -eq 0 ]; then set -- demo unit system check; fi
for name in "$@"; do
  case $name in
    demo | unit | system | check | node) ;;
    *) echo "setup: there is no set $name; there are demo, unit, system, check and node" >&2 && exit 2 ;;
  esac
done
if ! has go; then
  echo 'setup: Go is missing: install it from https://go.dev/dl (go.mod says which version)' >&2
  exit 1
fi
user=$(id -u)
find_missing "$@"
if [ ${#commands[@]} -eq 0 ]; then exit 0; fi

case $manager in
  dnf) line="dnf install -y ${packages[*]}" ;;
  apk) line="apk add ${packages[*]}" ;;
  brew) line="brew install ${packages[*]}" ;;
  *) line="apt-get update && apt-get install -y --no-install-recommends ${packages[*]}" ;;
esac
refuse() {
  printf 'setup: %s missing: %s\nsetup: install with:\n\n    %s\n\n' "$1" "${commands[*]}" "$line" >&2
  exit 1
}

as_root=(env DEBIAN_FRONTEND=noninteractive)
if [ "$manager" != apt-get ]; then refuse 'this machine has no apt-get, and these commands are'; fi
if [ "$user" != 0 ]; then
  if ! has sudo; then refuse 'you are not root, there is no sudo, and these commands are'; fi
  # Without a terminal nobody can type a password.
  ask=()
  if [ ! -t 0 ]; then ask=(-n); fi
  if ! sudo ${ask[@]+"${ask[@]}"} true; then refuse 'sudo does not let you install, and these commands are'; fi
  as_root=(sudo ${ask[@]+"${ask[@]}"} "${as_root[@]}")
fi
echo "setup: $line"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}"
hash -r
find_missing "$@"
if [ ${#commands[@]} -gt 0 ]; then refuse 'apt-get has installed its packages, and these commands are still'; fi
