#!/usr/bin/env bash
# Lands branch work: runs the gate on a clean checkout of its head and then moves main there. Main moves no other way.
set -euo pipefail
cd "$(dirname "$0")/../.."
say() { printf 'land: %s\n' "$*"; }

head=$(git rev-parse --verify --quiet work) || { say 'there is no branch work: git worktree add -b work ../work main'; exit 1; }
home=$(git worktree list --porcelain | awk '/^worktree /{tree=substr($0,10)} $0=="branch refs/heads/main"{print tree}')
for tree in "$PWD" ${home:+"$home"}; do
  if [ -n "$(git -C "$tree" status --porcelain)" ]; then say "$tree has changes that are not committed: commit or remove them"; exit 1; fi
done
if ! git merge-base --is-ancestor main "$head"; then say 'main is not part of work: git rebase main'; exit 1; fi
if [ "$head" = "$(git rev-parse main)" ]; then say 'main is there already'; exit 0; fi

# Always the same folder, so that the build cache knows it.
tree=$(git rev-parse --path-format=absolute --git-common-dir)/land
git worktree remove --force "$tree" 2>/dev/null || true
say "running the gate on a clean checkout of $(git log -1 --format='%h %s' "$head")"
git worktree add --quiet --detach "$tree" "$head"
trap 'git worktree remove --force "$tree"' EXIT
if ! make -C "$tree" test; then
  mkdir -p bin && rm -rf bin/landing && cp -r "$tree/bin" bin/landing
  say 'the gate is red: main stays where it is; logs are in bin/landing'
  exit 1
fi
if [ -n "$home" ]; then git -C "$home" merge --quiet --ff-only "$head"; else git branch --force main "$head"; fi
say "main is at $(git log -1 --format='%h %s' main)"
