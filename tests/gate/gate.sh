#!/usr/bin/env bash
# The gate: what every change must pass, in the order in which it is cheap. Every stage runs, also after a red one, so that one run names all
# that is wrong; the last lines say what. `make test` and continuous integration run just this.
set -uo pipefail
cd "$(dirname "$0")/../.."

# A checkout may belong to another user than the one who tests it.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$PWD
# Without cgo, as the product and the parts of Kubernetes are built: another setting would compile every package once more.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" GOTOOLCHAIN=local CGO_ENABLED=0

rm -rf bin/artifacts
mkdir -p bin/artifacts
table='' red=''

# stage NAME COMMAND…: runs the command, and notes its seconds and whether it failed.
stage() {
  local name=$1 begun=$SECONDS outcome=ok
  shift
  printf '\n== %s\n' "$name"
  if ! "$@" 2>&1 | tee "bin/artifacts/${name// /-}.log"; then outcome=RED red="$red '$name'"; fi
  table="$table$(printf '%-20s %5d s  %s' "$name" $((SECONDS - begun)) "$outcome")"$'\n'
}

gotestsum=
gotest() { "$gotestsum" --format pkgname --format-hide-empty-pkg "$@"; }

# With the race detector: where goroutines meet. It compiles every package that these import once more, so they import little: all others are
# raced at night. What vet finds in tests, check-vet has found.
raced='./dispatcher/... ./reloader/queue/... ./ingest/audit'

race() { CGO_ENABLED=1 gotest -- -race -vet=off -timeout 20m $raced; }
unit() {
  local packages
  packages=$(go list ./... | grep -vE '/reroll/(tests|dispatcher|ingest|reloader/queue)(/|$)')
  gotest -- -vet=off -timeout 20m $packages ./dispatcher/plan ./ingest/webhook ./tests/kube ./tests/line ./tests/scenario
}
# The go command does not see what helm and git read, and would answer from its cache: hence -count=1.
chart() { gotest -- -vet=off -count=1 -timeout 15m ./tests ./tests/chart/...; }
# On one control plane, one package after another. What fails there may have waited too long for a busy machine: it is tried once more.
system() {
  local packages='./tests/scenarios ./tests/conformance/stakater ./tests/e2e ./tests/watch ./tests/roll ./tests/tenancy ./tests/behaviour'
  go build -o /dev/null ./cmd/reroll && go test -vet=off -count=1 -run '^$' $packages >/dev/null &&
    go run ./tests/line/cmd/rig "$gotestsum" --format pkgname \
      --rerun-fails=1 --rerun-fails-max-failures=3 --rerun-fails-report=bin/artifacts/flaked --packages "$packages" -- -vet=off -count=1 -p 1 -parallel 8 -timeout 15m
}
demo() { DEMO_EXIT=1 go run ./tests/demo; }

stage 'setup' tests/setup.sh gate
gotestsum=$(cd tests/tools/pinned && go tool -n gotestsum) || exit 1
stage 'kubernetes parts' go run ./tests/kube/cmd/kube-parts
stage 'check' env GOGC=400 make -k check # less garbage collection in compilers and analyzers
stage 'unit raced' race
stage 'unit' unit
stage 'chart' chart
stage 'system' system
stage 'demo' demo

# The summaries of gotestsum: each test that was skipped or failed, with its output.
sed -n '/^=== \(Skipped\|Failed\|Errors\)/,/^DONE/p' bin/artifacts/*.log
if [ -s bin/artifacts/flaked ]; then
  printf '\nTried again:\n'
  cat bin/artifacts/flaked
fi
if grep -q '^=== SKIP' bin/artifacts/*.log; then red="$red 'skipped tests'"; fi # the gate skips nothing
printf '\n%s' "$table"
printf '%-20s %5d s\n\n' 'total' "$SECONDS"
if [ -n "$red" ]; then
  printf 'RED:%s\n' "$red"
  printf 'To repeat a test of the stage system: go run ./tests/line/cmd/rig go test -count=1 -v -run TestX ./tests/e2e\n'
  exit 1
fi
printf 'GREEN\n'
