package notify

import "strings"

// raw is anything that takes plain text, in which asterisks would only be noise.
var raw = sink{name: "raw", accepts: successful, encode: func(text string) message {
	return message{contentType: "text/plain", body: []byte(strings.ReplaceAll(text, "*", ""))}
}}
