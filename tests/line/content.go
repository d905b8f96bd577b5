package line

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// Traces returns the ways in which content shows in a text, such as "as hex"; none if it does not. The content must be of at least a dozen
// bytes.
func Traces(content string, text []byte) []string {
	forms := map[string][]byte{"as it is": []byte(content), "as hex": []byte(hex.EncodeToString([]byte(content)))}
	// Two of three alignments of base64 shift the text; all three are looked for, less the ends that depend on neighbours.
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte("xyz"[:shift] + content))
		forms[fmt.Sprintf("as base64 at offset %d", shift)] = []byte(encoded[4 : len(encoded)-4])
	}
	var found []string
	for form, needle := range forms {
		if bytes.Contains(text, needle) {
			found = append(found, form)
		}
	}
	return found
}
