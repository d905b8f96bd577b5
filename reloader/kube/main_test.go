package kube

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	LogTo(slog.New(slog.NewJSONHandler(&libraryLog, nil)))
	goleak.VerifyTestMain(m)
}
