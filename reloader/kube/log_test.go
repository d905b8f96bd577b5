package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestLibrariesLogLikeUs: what a library reports is a line of our log, in its format.
func TestLibrariesLogLikeUs(t *testing.T) {
	var log bytes.Buffer
	LogTo(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(klog.ClearLogger)
	utilruntime.HandleErrorWithContext(t.Context(), errors.New("connection refused"), "watch ended", "type", "Deployment")
	var line struct{ Level, Msg, Err, Type string }
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, &log)
	}
	if line.Level != "ERROR" || line.Msg != "watch ended" || line.Err != "connection refused" || line.Type != "Deployment" {
		t.Errorf("logged %s", &log)
	}
}
