package control

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"github.com/robfig/cron/v3"
)

// Window is a recurring time that lets reloads go.
type Window struct {
	text     string
	schedule cron.Schedule
	length   time.Duration
}

// Limits of a window.
const (
	maxWindowText = 200
	maxWindows    = 32
	cronFields    = 5
	minLength     = time.Minute
	maxLength     = 7 * 24 * time.Hour
)

// ParseWindow reads when a window opens, in the five fields of cron, and how long it stays open: "0 22 * * 1-5 6h". A time zone may stand
// in front: "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h"; without one it is that of the process. A time
// that the clock skips when it is put forward opens no window that day.
func ParseWindow(text string) (Window, error) {
	if len(text) > maxWindowText {
		return Window{}, fmt.Errorf("a window has at most %d characters", maxWindowText)
	}
	fields := strings.Fields(text)
	want := cronFields + 1
	if strings.HasPrefix(text, "CRON_TZ=") {
		want++
	}
	if len(fields) != want {
		return Window{}, errors.New(`a window is five fields of cron and a length, such as "0 22 * * 1-5 6h"`)
	}
	last := fields[len(fields)-1]
	length, err := time.ParseDuration(last)
	if err != nil || length < minLength || length > maxLength {
		return Window{}, fmt.Errorf("%.40q is not a length of a window between %s and %s, such as 6h", last, minLength, maxLength)
	}
	schedule, err := cron.ParseStandard(strings.Join(fields[:len(fields)-1], " "))
	if err != nil {
		return Window{}, fmt.Errorf("window %.80q: %w", text, err)
	}
	return Window{text: strings.Join(fields, " "), schedule: schedule, length: length}, nil
}

// ParseWindows reads several windows, separated by semicolons. It is open when any of them is.
func ParseWindows(text string) ([]Window, error) {
	texts := strings.Split(text, ";")
	if len(texts) > maxWindows {
		return nil, fmt.Errorf("there are %d windows, more than %d", len(texts), maxWindows)
	}
	windows := make([]Window, len(texts))
	for i, one := range texts {
		var err error
		if windows[i], err = ParseWindow(strings.TrimSpace(one)); err != nil {
			return nil, err
		}
	}
	return windows, nil
}

// Windows are those of a setting.
type Windows []Window

// Parse reads windows, separated by semicolons; none if the texts are empty.
func (w *Windows) Parse(texts []string) (err error) {
	text := strings.Join(texts, ";")
	if strings.TrimSpace(text) == "" {
		*w = nil
		return nil
	}
	*w, err = ParseWindows(text)
	return err
}

// Never returns a window that does not open: it stands for one that cannot be read, which holds back until it can.
func Never() Window { return Window{text: "never"} }

// String returns the window as it was written.
func (w Window) String() string { return w.text }

// Open reports whether the window is open at a time.
func (w Window) Open(now time.Time) bool {
	// It is open if it opened within its own length before now. Next is strictly after its argument.
	opened := w.Next(now.Add(-w.length))
	return !opened.IsZero() && !opened.After(now)
}

// Next returns when the window opens next; zero if never.
func (w Window) Next(now time.Time) time.Time {
	if w.schedule == nil {
		return time.Time{}
	}
	return w.schedule.Next(now)
}

// Opening returns when reloads are let go next: now if no window is given or one is open. Zero is never.
func Opening(windows []Window, now time.Time) time.Time {
	if len(windows) == 0 {
		return now
	}
	var soonest time.Time
	for _, w := range windows {
		if w.Open(now) {
			return now
		}
		if next := w.Next(now); !next.IsZero() && (soonest.IsZero() || next.Before(soonest)) {
			soonest = next
		}
	}
	return soonest
}
