package api

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind: streams end with their clients.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
