package fleet

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/tests/line"
	"github.com/reroll-dev/reroll/tests/natsserver"
)

func TestMain(m *testing.M) {
	if natsserver.ServeMember() {
		return
	}
	fmt.Println("commit", line.Commit(context.Background()))
	os.Exit(m.Run())
}

// setting returns a number from the environment, or the one that is in place of it.
func setting(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// What the run does. make fleet asks for more of all of it.
var (
	cutTime = time.Duration(setting("FLEET_CUT_SECONDS", 20)) * time.Second
	kills   = setting("FLEET_KILLS", 3)
)

// testTime bounds the whole run.
var testTime = 6*time.Minute + 2*cutTime + time.Duration(kills)*time.Minute
