package app

import (
	"io"
	"log/slog"

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
