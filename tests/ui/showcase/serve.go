package showcase

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/view"
)

// Handler returns the API with its dashboard over the fleet: everybody may look, and nobody can change anything.
func (f *Fleet) Handler() (http.Handler, error) { return f.HandlerFor(nil, nil) }

// HandlerFor is Handler for those whom access lets in. What they want changed is carried out by commands.
func (f *Fleet) HandlerFor(access api.Access, commands api.Commands) (http.Handler, error) {
	return api.New(api.Options{
		Records: f.Records, Version: view.Version{Version: "v0.1.0", GoVersion: "go1.26.0"},
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Access: access, Commands: commands,
	})
}
