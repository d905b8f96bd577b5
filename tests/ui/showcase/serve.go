package showcase

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/api"
)

// Handler returns the API with its dashboard over the fleet: everybody may look.
func (f *Fleet) Handler() (http.Handler, error) {
	return api.New(api.Options{Records: f.Records, Version: "v0.1.0", Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
}
