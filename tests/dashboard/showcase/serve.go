package showcase

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api"
	"github.com/reroll-dev/reroll/api/view"
)

// Handler returns the API with its dashboard over the fleet.
func (f *Fleet) Handler() (http.Handler, error) {
	return api.New(api.Options{
		Records: f.Records, Version: view.Version{Version: "v0.1.0", GoVersion: "go1.26.0"},
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
}
