package notify

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/reloader"
)

// maxTextBytes bounds the text of an alert; Google Chat takes no more.
const maxTextBytes = 4096

// sentences returns one sentence for each config behind r, word for word as Stakater Reloader says it, so that filters that people
// have built on it go on working. A config that changed several times gets one.
func sentences(r reloader.Reload, info string) []string {
	prefix := ""
	if info = strings.TrimSpace(info); info != "" {
		prefix = info + " : "
	}
	texts := make([]string, 0, 1)
	for _, changes := range byConfig(r.Causes) {
		c, w := changes[0].Config, r.Workload
		texts = append(texts, clip(prefix+fmt.Sprintf(
			"Reloader detected changes in *%s* of type *%s* in namespace *%s*. Hence reloaded *%s* of type *%s* in namespace *%s*",
			c.Name, strings.ToUpper(string(c.Kind)), c.Namespace, w.Name, w.Kind, w.Namespace), maxTextBytes))
	}
	return texts
}

// clip returns valid text of at most limit bytes.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}

// byConfig groups causes, in the order of the first of each config.
func byConfig(causes []reloader.Cause) [][]reloader.Cause {
	var groups [][]reloader.Cause
	place := make(map[reloader.Config]int, len(causes))
	for _, c := range causes {
		i, known := place[c.Config]
		if !known {
			place[c.Config] = len(groups)
			groups = append(groups, []reloader.Cause{c})
			continue
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}
