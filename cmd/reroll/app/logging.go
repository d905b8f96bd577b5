package app

import (
	"io"
	"log/slog"
	"strings"
)

// newLogger returns the logger that the settings ask for; complete has checked them.
func newLogger(w io.Writer, s Settings) *slog.Logger {
	level, _ := logLevel(s.LogLevel)
	options := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// foreignLevels are the names of levels that other tools have beside slog's.
var foreignLevels = map[string]slog.Level{
	"trace": slog.LevelDebug, "warning": slog.LevelWarn, "fatal": slog.LevelError, "panic": slog.LevelError,
}

// logLevel returns the level of that name, in capitals or not.
func logLevel(name string) (slog.Level, error) {
	if level, ok := foreignLevels[strings.ToLower(name)]; ok {
		return level, nil
	}
	var level slog.Level
	err := level.UnmarshalText([]byte(name))
	return level, err
}

// logWarnings logs what the settings say in vain.
func (s *Settings) logWarnings(logger *slog.Logger) {
	for _, w := range s.Warnings {
		logger.Warn("a setting has no effect", "setting", w)
	}
}
