package app

import (
	"io"
	"log/slog"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/reroll-dev/reroll/cmd/reroll/config"
)

func newLogger(w io.Writer, s config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.Level)) // Load has checked it
	options := &slog.HandlerOptions{Level: level}
	if s.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// newRegistry returns a registry with what is true of every process: what it is, and what Go and the kernel say about it.
func newRegistry(version, role string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "reroll_build_info", Help: "Always 1: the version and role of this process.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version(), "role": role},
	})
	build.Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}
