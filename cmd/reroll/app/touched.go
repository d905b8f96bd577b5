package app

import (
	"strings"
	"time"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/kube"
)

// touched returns the hint of a write that a watch has seen. A watch knows no user.
func touched(t kube.Touch, cluster string, now time.Time) delivered {
	at := t.At
	if at.IsZero() || at.After(now) {
		at = now
	}
	manager := t.Manager[:min(len(t.Manager), reloader.MaxFieldManagerLength)]
	return delivered{
		Cluster: cluster, Config: t.Config, Verb: t.Verb, Source: reloader.SourceWatch, Code: 200,
		Actor: reloader.Actor{FieldManager: strings.ToValidUTF8(manager, "")}, Time: at, Received: now,
	}
}

// delivered is a hint that is stored nowhere.
type delivered reloader.Hint

// Hint returns what is delivered.
func (d delivered) Hint() reloader.Hint { return reloader.Hint(d) }

// Ack does nothing.
func (delivered) Ack() {}
