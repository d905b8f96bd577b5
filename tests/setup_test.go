package tests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine is a folder with all programs that a made-up machine has.
type machine struct {
	t   *testing.T
	dir string
	// environment is set beside PATH.
	environment []string
}

// newMachine returns one with a shell and the programs of this machine that have the names.
func newMachine(t *testing.T, programs ...string) machine {
	t.Helper()
	m := machine{t: t, dir: t.TempDir()}
	for _, program := range append(programs, "bash", "env") {
		found, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(found, filepath.Join(m.dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// has gives the machine a program that is a script.
func (m machine) has(name, script string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte("#!/usr/bin/env bash\n"+script+"\n"), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// apt has apt-get note how it is called, and make what it installs a command: nodejs brings node, and so on.
func (m machine) apt() {
	m.has("apt-get", `echo "apt-get $*" >>"$DIR/log"
[ "$1" = install ] || exit 0
for package in "$@"; do
  case $package in
    -* | install | libc6-dev) continue ;;
    nodejs) command=node ;;
    e2fsprogs) command=mkfs.ext4 ;;
    iproute2) command=ip ;;
    diffutils) command=diff ;;
    *) command=$package ;;
  esac
  if [ "$command" = "${BROKEN:-}" ]; then continue; fi
  printf '#!/bin/sh\n' >"$DIR/$command" && chmod +x "$DIR/$command"
done`)
}

// run runs a script of the repository and returns how it ended, what it printed, and what the programs have noted.
func (m machine) run(script string, args ...string) (code int, printed, log string) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), script, args...)
	cmd.Env = append([]string{"PATH=" + m.dir, "TMPDIR=" + m.dir, "DIR=" + m.dir}, m.environment...)
	output, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		m.t.Fatal(err)
	}
	noted, _ := os.ReadFile(filepath.Join(m.dir, "log"))
	return cmd.ProcessState.ExitCode(), string(output), string(noted)
}

func TestSetup(t *testing.T) {
	t.Parallel()
	const root, user = "echo 0", "echo 1000"
	const update = "apt-get update -qq\n"
	const install = "apt-get install -y -qq --no-install-recommends "
	tests := map[string]struct {
		id          string
		have        string
		sudo        string
		manager     string
		sets        string
		environment string
		code        int
		says        string
		log         string
	}{
		"everything, as root": {
			id: root, have: "go make git", manager: "apt-get",
			log: update + install + "gcc libc6-dev openssl e2fsprogs diffutils nodejs npm chromium\n",
		},
		"nothing is missing":                            {id: root, have: "go make git gcc openssl mkfs.ext4 diff node npm google-chrome", manager: "apt-get"},
		"nothing is missing, without a package manager": {id: user, have: "go make git gcc openssl diff node npm chromium"},
		"only what is missing":                          {id: root, have: "go make git gcc diff mkfs.ext4 node npm chromium", manager: "apt-get", log: update + install + "openssl\n"},
		"the demo wants no compiler, Node or Chromium":  {id: root, have: "go make git", manager: "apt-get", sets: "demo"},
		"unit tests want a compiler for C":              {id: root, have: "go make git", manager: "apt-get", sets: "unit", log: update + install + "gcc libc6-dev\n"},
		"NodeSource's npm is left alone":                {id: root, have: "go make git openssl mkfs.ext4 node npm", manager: "apt-get", sets: "system", log: update + install + "chromium\n"},
		"CHROMIUM names one":                            {id: root, have: "go make git openssl mkfs.ext4 node npm", manager: "apt-get", sets: "system", environment: "CHROMIUM=/opt/chrome"},
		"several sets":                                  {id: root, have: "go make git node npm", manager: "apt-get", sets: "unit check", log: update + install + "gcc libc6-dev diffutils\n"},
		"what a node needs":                             {id: root, have: "go iptables", manager: "apt-get", sets: "node", log: update + install + "containerd runc containernetworking-plugins iproute2\n"},
		"through sudo": {
			id: user, have: "go make git diff node npm chromium", sudo: `echo "sudo $*" >>"$DIR/log"; [ "$1" = -n ] && shift; exec "$@"`, manager: "apt-get",
			log: "sudo -n true\nsudo -n env DEBIAN_FRONTEND=noninteractive apt-get update -qq\n" + update +
				"sudo -n env DEBIAN_FRONTEND=noninteractive " + install + "gcc libc6-dev openssl\n" + install + "gcc libc6-dev openssl\n",
		},
		"sudo wants a password": {
			id: user, have: "go make git", sudo: "exit 1", manager: "apt-get", sets: "unit", code: 1,
			says: "apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev\n",
		},
		"no sudo": {
			id: user, have: "go make git", manager: "apt-get", sets: "unit", code: 1,
			says: "apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev\n",
		},
		"Fedora": {id: root, have: "go make git", manager: "dnf", sets: "unit", code: 1, says: "dnf install -y gcc glibc-devel\n"},
		"Alpine": {id: root, have: "go make git", manager: "apk", sets: "unit", code: 1, says: "apk add gcc musl-dev\n"},
		"macOS":  {id: user, have: "go make git gcc openssl diff", manager: "brew", code: 1, says: "brew install node chromium\n"},
		"no package manager is known": {
			id: root, have: "go make git", sets: "unit", code: 1,
			says: "apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev\n",
		},
		"no Go": {id: root, have: "make git", manager: "apt-get", sets: "demo", code: 1, says: "https://go.dev/dl"},
		"a package without its command": {
			id: root, have: "go make git diff", manager: "apt-get", sets: "check", environment: "BROKEN=npm", code: 1,
			says: "still missing: npm\n", log: update + install + "nodejs npm\n",
		},
		"a set that there is not": {id: root, have: "go", sets: "tests", code: 2, says: "no set tests"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "chmod", "true")
			m.has("id", tc.id)
			for program := range strings.FieldsSeq(tc.have) {
				m.has(program, "")
			}
			if tc.sudo != "" {
				m.has("sudo", tc.sudo)
			}
			switch tc.manager {
			case "":
			case "apt-get":
				m.apt()
			default:
				m.has(tc.manager, `echo "$0 $*" >>"$DIR/log"`)
			}
			if tc.environment != "" {
				m.environment = []string{tc.environment}
			}
			code, says, log := m.run("./setup.sh", strings.Fields(tc.sets)...)
			if tc.code == 0 && tc.log == "" && says != "" {
				t.Errorf("it says %q although nothing is missing", says)
			}
			if code != tc.code || !strings.Contains(says, tc.says) || log != tc.log {
				t.Errorf("it ended with %d, not %d, and called\n%snot\n%sit says:\n%s", code, tc.code, log, tc.log, says)
			}
		})
	}
}

// TestStageEndsWithItsFirstFailure: continuous integration stops at the first failed line of a stage. Here apt-get cannot update its lists.
func TestStageEndsWithItsFirstFailure(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "dirname", "mktemp", "rm")
	m.has("go", `echo "go $*" >>"$DIR/log"`)
	m.has("id", "echo 0")
	m.has("apt-get", `echo "apt-get $*" >>"$DIR/log"; [ "$1" != update ]`)
	code, says, log := m.run("../.ci/run")
	if code == 0 || !strings.Contains(says, "what the machine needs: FAILED") || log != "apt-get update -qq\n" {
		t.Errorf("it ended with %d and called\n%sit says:\n%s", code, log, says)
	}
}
