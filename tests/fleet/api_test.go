package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
)

// hubAPI is a process that answers for all clusters.
type hubAPI struct{ url string }

func startAPI(ctx context.Context, t *testing.T, h *hub) hubAPI {
	t.Helper()
	binary, err := line.Build(ctx)
	must(t, err)
	ports := freePorts(t, 2)
	cmd := exec.Command(binary, "api", "--nats-url", h.url(), "--api-address", address(ports[0]), "--metrics-address", address(ports[1]))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	t.Cleanup(func() { end(cmd) })
	return hubAPI{"http://" + address(ports[0])}
}

func (a hubAPI) get(ctx context.Context, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
