package stakater

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Repository is that of Stakater Reloader.
const Repository = "https://github.com/stakater/Reloader"

// Observed is the source of what was seen of the binary, where no line shows it.
const Observed = "observed"

// maxPlaces is how many places a row may name.
const maxPlaces = 6

// Read are the files of Repository that were read, by their paths.
var Read = map[string]File{
	"internal/pkg/alerts/alert.go":              {"9607da6d8a065271eccce94169ba7b8b5f20fb39", 154},
	"internal/pkg/callbacks/rolling_upgrade.go": {"f0e6d3af58c29f0a95ed7f1b81ec6fed2b3cd70f", 727},
	"internal/pkg/cmd/reloader.go":              {"0d180429d81f52260a9fc7a3dd7a6d1d7732a5d1", 260},
	"internal/pkg/constants/constants.go":       {"f6887b4d8afe4f7e0865ee59b1dfc3994d5abff3", 34},
	"internal/pkg/controller/controller.go":     {"f0e6d3af58c29f0a95ed7f1b81ec6fed2b3cd70f", 373},
	"internal/pkg/handler/delete.go":            {"104531aa3d4d404be3093b18b515adc995e5f001", 100},
	"internal/pkg/handler/pause_deployment.go":  {"104531aa3d4d404be3093b18b515adc995e5f001", 242},
	"internal/pkg/handler/update.go":            {"46e7d74bd12fbdd6f93da5ce7b24a7a5b43fe035", 97},
	"internal/pkg/handler/upgrade.go":           {"4471a45591ef6884f9aed1e973b2b88e85294975", 694},
	"internal/pkg/leadership/leadership.go":     {"11ae057b0a80ef685ae2940656abb0267c9858ea", 102},
	"internal/pkg/metrics/prometheus.go":        {"1945a740d0fb6860f137f675b723f371a117c40f", 399},
	"internal/pkg/options/flags.go":             {"f6887b4d8afe4f7e0865ee59b1dfc3994d5abff3", 73},
	"internal/pkg/util/util.go":                 {"000fda22fc17c2785c7b9850e2a5eb5a7d325297", 150},
	"pkg/common/common.go":                      {"4471a45591ef6884f9aed1e973b2b88e85294975", 394},
	"pkg/common/config.go":                      {"46e7d74bd12fbdd6f93da5ce7b24a7a5b43fe035", 62},
	"pkg/common/reload_source.go":               {"9457135f0eb216a0c1e74ca17e9058fd548fd7b0", 39},
	"pkg/kube/resourcemapper.go":                {"ae18bbdcd1cc3027a5406e828387a2e939cf285a", 15},
}

// File is a file as it was read: the commit, and how many lines it has there.
type File struct {
	Commit string
	Lines  int
}

// Place is some lines of a file of Read, both ends included; the zero one is Observed.
type Place struct {
	Path     string
	From, To int
}

var placeForm = regexp.MustCompile(`^([^:\s]+):([1-9][0-9]{0,5})(?:-([1-9][0-9]{0,5}))?$`)

// Places returns what the source of a row names: places in files of Read, or Observed, with a comma and a space in between.
func Places(source string) ([]Place, error) {
	if source == "" {
		return nil, nil
	}
	parts := strings.Split(source, ", ")
	if len(parts) > maxPlaces {
		return nil, fmt.Errorf("a source names %d places, more than %d", len(parts), maxPlaces)
	}
	var all []Place
	for _, part := range parts {
		p, err := parsePlace(part)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func parsePlace(text string) (Place, error) {
	if text == Observed {
		return Place{}, nil
	}
	found := placeForm.FindStringSubmatch(text)
	if found == nil {
		return Place{}, fmt.Errorf("source %q is neither path:line nor path:line-line nor %s", text, Observed)
	}
	p := Place{Path: found[1]}
	p.From, _ = strconv.Atoi(found[2])
	p.To = p.From
	if found[3] != "" {
		p.To, _ = strconv.Atoi(found[3])
		if p.To <= p.From {
			return Place{}, fmt.Errorf("source %q ends before its second line", text)
		}
	}
	file, known := Read[p.Path]
	switch {
	case !known:
		return Place{}, fmt.Errorf("source %q is in no file that was read", text)
	case p.To > file.Lines:
		return Place{}, fmt.Errorf("source %q is beyond the %d lines of the file", text, file.Lines)
	}
	return p, nil
}
