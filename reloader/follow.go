package reloader

import (
	"fmt"
	"slices"
	"time"
)

// MaxWanted is how many configs of one other cluster the workloads of a cluster may follow.
const MaxWanted = 1000

// Want says which configs of another cluster the workloads of a cluster follow. It is repeated; one that is not repeated is forgotten.
type Want struct {
	Owner  string `json:"owner"`
	Target string `json:"target"`
	// Configs are all that are followed, MaxWanted at most. They are the owner's, as it calls them itself.
	Configs []Follow `json:"configs"`
}

// Follow is a config of another cluster that is followed. Number is another one whenever that begins again, so that a copy which repeats it was
// made for who follows now.
type Follow struct {
	Config Config `json:"config"`
	Number uint64 `json:"number"`
}

func (w Want) validate() error {
	if len(w.Configs) > MaxWanted {
		return fmt.Errorf("%s wants to follow %d configs of %s, more than %d", w.Target, len(w.Configs), w.Owner, MaxWanted)
	}
	configs := make([]Config, len(w.Configs))
	for i, f := range w.Configs {
		configs[i] = f.Config
	}
	return validatePair(w.Owner, w.Target, configs...)
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
	// Answers is the number that the target gave for Config when it asked.
	Answers uint64 `json:"answers,omitempty"`
	// At is when the owner decided so.
	At time.Time `json:"at"`
}

// Followed returns the config as the target calls it.
func (c Copy) Followed() Config {
	followed := c.Config
	followed.Cluster = c.Owner
	return followed
}

// Same reports whether c says what other says, and to the same question. The possible authors of a change may be added later.
func (c Copy) Same(other Copy) bool {
	return c.Owner == other.Owner && c.Target == other.Target && c.Config == other.Config && c.Refused == other.Refused &&
		c.Change.ID == other.Change.ID && c.Answers == other.Answers && slices.EqualFunc(c.Change.Candidates, other.Change.Candidates, Candidate.same)
}

// Later reports whether c was decided after other. One from the time to come is of a clock that was wrong, and is later than none.
func (c Copy) Later(other Copy, now time.Time) bool {
	return c.At.After(other.At) && !c.At.After(now)
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

// Equal reports whether w asks for the same as other.
func (w Want) Equal(other Want) bool {
	return w.Owner == other.Owner && w.Target == other.Target && slices.Equal(w.Configs, other.Configs)
}
