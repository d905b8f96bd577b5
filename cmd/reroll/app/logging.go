package app

import (
	"io"
	"log/slog"
)

// newLogger returns the logger that the settings ask for; complete has checked them.
func newLogger(w io.Writer, s Settings) *slog.Logger {
	var level slog.LevelVar
	_ = level.UnmarshalText([]byte(s.LogLevel))
	options := &slog.HandlerOptions{Level: &level}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
