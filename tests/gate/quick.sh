#!/usr/bin/env bash
# Under a minute: format, words, what documents name, vet, and the unit tests of the packages that differ from main and of those that import them.
set -euo pipefail
cd "$(dirname "$0")/../.."
make check-format check-words
go test -run 'TestLinks|TestDocumented|TestRecipes|TestAnnotations|TestRules' ./tests ./cmd/reroll/app
changed=$({ git diff --name-only --diff-filter=d "$(git merge-base main HEAD)" -- '*.go'; git ls-files -o --exclude-standard -- '*.go'; } | xargs -r -n1 dirname | sort -u)
if [ -z "$changed" ]; then echo 'quick: no package differs from main'; exit 0; fi
packages=$(for dir in $changed; do go list -e -f '{{if not .ForTest}}{{.ImportPath}}{{end}}' "./$dir" 2>/dev/null; done | sort -u)
importers=$(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{.}} {{$p}}{{"\n"}}{{end}}' ./... | awk 'NR==FNR {want[$1]; next} $1 in want {print $2}' <(echo "$packages") - | sort -u)
go vet $packages
# Those that need a control plane are the gate's.
own=$(printf '%s\n' $packages $importers | grep -v /tests/ | sort -u || true)
if [ -n "$own" ]; then go test -timeout 5m $own; fi
