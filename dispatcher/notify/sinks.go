package notify

import (
	"encoding/json"
	"net/http"
	"strings"
)

// sink is one kind of receiver of alerts.
type sink struct {
	name string
	// encode puts a sentence into the sink's form.
	encode func(text string) message
	// accepts reports whether a status means that the alert was taken.
	accepts func(status int) bool
}

// sinks are the values of ALERT_SINK, and the last one is everything else. Teams and Google Chat answer 200 when they have taken a message, and
// another 2xx when they have not.
var sinks = []sink{
	{"slack", func(text string) message {
		return asJSON(map[string]any{"attachments": []map[string]string{{"color": "good", "author_name": "Reloader", "text": text}}})
	}, successful},
	{"teams", textOnly, only200},
	{"gchat", textOnly, only200},
	{"raw", func(text string) message { // in plain text asterisks would only be noise
		return message{contentType: "text/plain", body: []byte(strings.ReplaceAll(text, "*", ""))}
	}, successful},
}

func sinkNamed(name string) sink {
	for _, s := range sinks {
		if strings.EqualFold(s.name, strings.TrimSpace(name)) {
			return s
		}
	}
	return sinks[len(sinks)-1]
}

func textOnly(text string) message { return asJSON(map[string]string{"text": text}) }

// asJSON encodes a value that holds nothing but text.
func asJSON(v any) message {
	body, _ := json.Marshal(v)
	return message{contentType: "application/json", body: body}
}

func only200(status int) bool { return status == http.StatusOK }

func successful(status int) bool { return status >= 200 && status < 300 }
