package dialect

import (
	"regexp"

	"github.com/reroll-dev/reroll/reloader"
	"github.com/reroll-dev/reroll/reloader/digest"
)

// State is the memory of a tool that keeps it in a ConfigMap of each namespace: for each config the mark of the content that it has seen last.
type State struct {
	// ConfigMap is its name.
	ConfigMap string
	// Key returns the key under which the tool keeps a config.
	Key func(c reloader.Config) string
	// Mark is what a value looks like; another one says nothing.
	Mark *regexp.Regexp
}

// Read returns the marks that the content of the ConfigMap has, by key.
func (s *State) Read(c digest.Content) map[string]string {
	found := map[string]string{}
	c.Each(func(section digest.Section, key string, value []byte) {
		if section == digest.Data && s.Mark.Match(value) {
			found[key] = string(value)
		}
	})
	return found
}

// noStateKey are the runs of characters that Collaborne's tool writes as one underscore.
var noStateKey = regexp.MustCompile(`[^-._a-zA-Z0-9]+`)

// sha1Hex is what a SHA-1 looks like.
var sha1Hex = regexp.MustCompile(`^[0-9a-f]{40}$`)

// collaborneState returns how kubernetes-reloader of Collaborne keeps its state in the ConfigMap of that name; nil if the name is empty. The
// key says nothing of the namespace, since the tool looks after one alone.
func collaborneState(name string) *State {
	if name == "" {
		return nil
	}
	return &State{ConfigMap: name, Mark: sha1Hex, Key: func(c reloader.Config) string {
		return noStateKey.ReplaceAllString("v1."+string(c.Kind)+"_"+c.Name, "_")
	}}
}
