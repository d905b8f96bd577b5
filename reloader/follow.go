package reloader

import (
	"fmt"
	"time"
)

// Want says which configs of another cluster the workloads of a cluster follow. It is repeated; one that is not repeated is forgotten.
type Want struct {
	Owner  string `json:"owner"`
	Target string `json:"target"`
	// Configs are the owner's, as it calls them itself.
	Configs []Config `json:"configs"`
}

// Copy is what the owner of a config tells another cluster about it: the newest change, which has fingerprints and no content, or why it
// tells nothing.
type Copy struct {
	Owner  string `json:"owner"`
	Target string `json:"target"`
	// Config is the owner's, as it calls it itself.
	Config Config `json:"config"`
	// Change is the newest change of Config; zero if Refused.
	Change Change `json:"change,omitzero"`
	// Refused is why the target may not follow, for people; empty if it may.
	Refused string `json:"refused,omitempty"`
	// At is when the owner decided so.
	At time.Time `json:"at"`
}

// Followed returns the config as the target calls it.
func (c Copy) Followed() Config {
	followed := c.Config
	followed.Cluster = c.Owner
	return followed
}

// Same reports whether c says what other says.
func (c Copy) Same(other Copy) bool {
	return c.Owner == other.Owner && c.Target == other.Target && c.Config == other.Config && c.Refused == other.Refused && c.Change.ID == other.Change.ID
}

// validatePair checks the two clusters, and that configs are those of the owner.
func validatePair(owner, target string, configs ...Config) error {
	for _, cluster := range []string{owner, target} {
		if err := ValidateCluster(cluster); err != nil {
			return err
		}
	}
	for _, c := range configs {
		if err := c.Validate(); err != nil {
			return err
		}
		if c.Cluster != "" || c.Name == "" {
			return fmt.Errorf("%w: %s is not one config of its owner", ErrInvalidName, c)
		}
	}
	return nil
}
