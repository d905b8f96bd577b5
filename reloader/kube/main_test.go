package kube

import (
	"log/slog"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	LogTo(slog.New(slog.NewJSONHandler(&libraryLog, nil)))
	os.Exit(m.Run())
}
