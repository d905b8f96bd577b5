package compose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/tools"
)

const root = "../.."

// service is what is used of a service.
type service struct {
	Image       string             `json:"image"`
	Profiles    []string           `json:"profiles"`
	Command     []string           `json:"command"`
	Entrypoint  []string           `json:"entrypoint"`
	Environment map[string]*string `json:"environment"`
	NetworkMode string             `json:"network_mode"`
	ReadOnly    bool               `json:"read_only"`
	CapDrop     []string           `json:"cap_drop"`
	SecurityOpt []string           `json:"security_opt"`
	Restart     string             `json:"restart"`
	User        string             `json:"user"`
	DependsOn   map[string]struct {
		Condition string `json:"condition"`
	} `json:"depends_on"`
	Configs []struct{ Source, Target string } `json:"configs"`
	Volumes []struct {
		Type, Source, Target string
		ReadOnly             bool `json:"read_only"`
	} `json:"volumes"`
	Ports []struct {
		Target int `json:"target"`
	} `json:"ports"`
	Healthcheck struct {
		Test []string `json:"test"`
	} `json:"healthcheck"`
}

// project is the Compose file.
type project struct {
	Services map[string]service `json:"services"`
	Configs  map[string]struct {
		Content string `json:"content"`
	} `json:"configs"`
}

// engine is a container engine with the project's containers, volumes and network, all under a prefix of this run.
type engine struct {
	project
	prefix, dir string
	// command says that there is the command `docker compose`, which then does everything; without it this file does the same.
	command bool
}

// newEngine returns an engine with the project loaded and nothing made yet, or skips the test if none was offered.
func newEngine(ctx context.Context, t *testing.T) *engine {
	t.Helper()
	if os.Getenv("COMPOSE_ENGINE") == "" {
		t.Skip("it makes images under public names, which an engine in use may have of its own: COMPOSE_ENGINE=1 says that it may")
	}
	if out, err := exec.CommandContext(ctx, "docker", "info", "--format", "{{.ServerVersion}}").CombinedOutput(); err != nil {
		t.Fatalf("no engine answers (DOCKER_HOST says where one is): %s", out)
	}
	e := &engine{prefix: fmt.Sprintf("reroll-test-%d", time.Now().UnixNano()), dir: t.TempDir()}
	loader, err := tools.Path(ctx, "compose")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, loader, root+"/docker-compose.yaml").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &e.project); err != nil {
		t.Fatal(err)
	}
	e.command = exec.CommandContext(ctx, "docker", "compose", "version").Run() == nil
	t.Logf("docker compose is there: %t", e.command)
	t.Cleanup(func() { e.down(t) })
	if e.command {
		e.freePorts(t)
		return e
	}
	e.docker(ctx, t, "network", "create", e.prefix)
	for name, config := range e.Configs {
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(config.Content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The engine's processes have users of their own.
	if err := os.Chmod(e.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return e
}

// freePorts has Compose choose the ports of the host, which may have those of the file in use.
func (e *engine) freePorts(t *testing.T) {
	t.Helper()
	text := "services:\n"
	for _, name := range slices.Sorted(maps.Keys(e.Services)) {
		if ports := e.Services[name].Ports; len(ports) > 0 {
			text += "  " + name + ":\n    ports: !override\n"
			for _, p := range ports {
				text += fmt.Sprintf("      - 127.0.0.1::%d\n", p.Target)
			}
		}
	}
	if err := os.WriteFile(e.ports(), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (e *engine) ports() string { return filepath.Join(e.dir, "ports.yaml") }

// compose is `docker compose` for this run.
func (e *engine) compose(args ...string) []string {
	return append([]string{"compose", "--project-name", e.prefix, "--file", root + "/docker-compose.yaml", "--file", e.ports()}, args...)
}

func (e *engine) name(service string) string {
	if e.command {
		return e.prefix + "-" + service + "-1"
	}
	return e.prefix + "-" + service
}

// docker runs a command of the engine, and returns what it prints.
func (e *engine) docker(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	return e.feed(ctx, t, nil, args...)
}

// feed is docker with a standard input.
func (e *engine) feed(ctx context.Context, t *testing.T, input io.Reader, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdin = input
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// running are the services that `docker compose up` starts, in an order in which each stands behind those that it depends on.
func (e *engine) running(t *testing.T) []string {
	t.Helper()
	var order []string
	left := maps.Clone(e.Services)
	maps.DeleteFunc(left, func(_ string, s service) bool { return len(s.Profiles) > 0 })
	for len(left) > 0 {
		before := len(left)
		for _, name := range slices.Sorted(maps.Keys(left)) {
			waits := slices.ContainsFunc(slices.Collect(maps.Keys(left[name].DependsOn)), func(d string) bool { _, later := left[d]; return later })
			if !waits {
				order = append(order, name)
				delete(left, name)
			}
		}
		if len(left) == before {
			t.Fatalf("services wait for each other: %v", slices.Collect(maps.Keys(left)))
		}
	}
	return order
}

// up starts the services. One whose end others wait for is waited for.
func (e *engine) up(ctx context.Context, t *testing.T) {
	t.Helper()
	if e.command {
		e.docker(ctx, t, e.compose("up", "--detach", "--no-build", "--pull", "never", "--wait")...)
		return
	}
	for _, name := range e.running(t) {
		for dependency, how := range e.Services[name].DependsOn {
			if how.Condition == "service_completed_successfully" {
				if code := e.docker(ctx, t, "wait", e.name(dependency)); code != "0" {
					t.Fatalf("%s ended with code %s: %s", dependency, code, e.logs(dependency))
				}
			}
		}
		e.docker(ctx, t, append([]string{"run", "--detach", "--name", e.name(name)}, e.arguments(name, e.Services[name].Command)...)...)
	}
	for _, name := range e.running(t) {
		e.healthy(ctx, t, name)
	}
}

// healthy waits until the health check of a service, if it has one, succeeds. The engine's own option would need a shell in the image.
func (e *engine) healthy(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	test := e.Services[name].Healthcheck.Test
	if len(test) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, "docker", append([]string{"exec", e.name(name)}, test[1:]...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s is not healthy: %w: %s", name, err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// arguments are those of `docker run` for a service, with a command.
func (e *engine) arguments(name string, command []string) []string {
	s := e.Services[name]
	args := []string{"--network", e.prefix, "--network-alias", name}
	if s.NetworkMode != "" {
		args = []string{"--network", s.NetworkMode}
	}
	for variable, value := range s.Environment {
		args = append(args, "--env", variable+"="+*value)
	}
	for _, c := range s.Configs {
		args = append(args, "--volume", filepath.Join(e.dir, c.Source)+":"+c.Target+":ro")
	}
	for _, v := range s.Volumes {
		mount := e.name(v.Source) + ":" + v.Target
		if v.ReadOnly {
			mount += ":ro"
		}
		args = append(args, "--volume", mount)
	}
	for _, p := range s.Ports {
		// Any port of the host: those of the file may be taken.
		args = append(args, "--publish", fmt.Sprintf("127.0.0.1::%d", p.Target))
	}
	args = append(args, s.limits()...)
	if len(s.Entrypoint) > 0 {
		args = append(args, "--entrypoint", s.Entrypoint[0])
		command = append(slices.Clone(s.Entrypoint[1:]), command...)
	}
	return append(append(args, s.Image), command...)
}

// limits are the options about what a service may, and about its end.
func (s service) limits() (args []string) {
	for _, capability := range s.CapDrop {
		args = append(args, "--cap-drop", capability)
	}
	for _, option := range s.SecurityOpt {
		args = append(args, "--security-opt", option)
	}
	if s.ReadOnly {
		args = append(args, "--read-only")
	}
	if s.Restart != "" {
		args = append(args, "--restart", s.Restart)
	}
	if s.User != "" {
		args = append(args, "--user", s.User)
	}
	return args
}

// published returns the address under which the host sees a port of a service now: one that has ended and was started again has another one.
func (e *engine) published(ctx context.Context, name, port string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", "port", e.name(name), port).Output()
	address, _, _ := strings.Cut(string(out), "\n")
	if err == nil && address == "" {
		err = fmt.Errorf("%s has no address", name)
	}
	return address, err
}

// kubectl is `docker compose run --rm kubectl`. Until the API server is there it is asked again.
func (e *engine) kubectl(ctx context.Context, t *testing.T, args ...string) (out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	err := line.Poll(ctx, func(ctx context.Context) error {
		run := append([]string{"run", "--rm"}, e.arguments("kubectl", args)...)
		if e.command {
			run = e.compose(append([]string{"run", "--rm", "--no-TTY", "kubectl"}, args...)...)
		}
		cmd := exec.CommandContext(ctx, "docker", run...)
		text, err := cmd.CombinedOutput()
		if out = string(text); err != nil && !strings.Contains(out, "AlreadyExists") {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// logs returns the last of what a service has said.
func (e *engine) logs(name string) string {
	out, _ := exec.Command("docker", "logs", "--tail", "15", e.name(name)).CombinedOutput()
	return string(out)
}

// down removes what was made, images excepted: their names are those of the file, and the next run makes them anew.
func (e *engine) down(t *testing.T) {
	t.Helper()
	var volumes []string
	for name, s := range e.Services {
		if t.Failed() && len(s.Profiles) == 0 {
			t.Logf("%s:\n%s", name, e.logs(name))
		}
		if e.command {
			continue
		}
		_ = exec.Command("docker", "rm", "--force", e.name(name)).Run()
		for _, v := range s.Volumes {
			volumes = append(volumes, e.name(v.Source))
		}
	}
	if e.command {
		if out, err := exec.Command("docker", e.compose("--profile", "*", "down", "--volumes")...).CombinedOutput(); err != nil {
			t.Errorf("docker compose down: %v: %s", err, out)
		}
		return
	}
	_ = exec.Command("docker", append([]string{"volume", "rm", "--force"}, volumes...)...).Run()
	if out, err := exec.Command("docker", "network", "rm", e.prefix).CombinedOutput(); err != nil {
		t.Errorf("something is left: %v: %s", err, out)
	}
}
