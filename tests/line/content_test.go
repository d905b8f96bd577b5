package line_test

import (
	"encoding/base64"
	"encoding/hex"
	"testing"

	"github.com/reroll-dev/reroll/tests/line"
)

// TestPieces: eight characters of content are enough, in whatever form, and seven are not.
func TestPieces(t *testing.T) {
	const content = "q7Zk2vXw9RtB5mNc8LpJ4hGd"
	for name, c := range map[string]struct {
		text  string
		found bool
	}{
		"the beginning":        {"password: " + content[:8], true},
		"the middle":           {"..." + content[9:17] + "...", true},
		"the end":              {content[16:], true},
		"too little":           {content[:7] + "-" + content[7:14] + "-" + content[14:21], false},
		"as hex":               {hex.EncodeToString([]byte(content[5:14])), true},
		"as base64":            {base64.StdEncoding.EncodeToString([]byte(content)), true},
		"in something else":    {base64.StdEncoding.EncodeToString([]byte("ab" + content[4:20] + "z")), true},
		"nothing":              {"a text of something else", false},
		"the whole, as it was": {content, true},
	} {
		if found := line.Pieces(content, []byte(c.text)); (len(found) > 0) != c.found {
			t.Errorf("%s: found %v", name, found)
		}
	}
}
