package nats

import (
	"os"
	"testing"

	"github.com/reroll-dev/reroll/tests/natsserver"
)

func TestMain(m *testing.M) {
	if natsserver.ServeMember() {
		return
	}
	os.Exit(m.Run())
}
