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

// sinks are found by the value of ALERT_SINK; everything else is raw.
var sinks = map[string]sink{slack.name: slack, teams.name: teams, gchat.name: gchat}

func sinkNamed(name string) sink {
	if s, ok := sinks[strings.ToLower(strings.TrimSpace(name))]; ok {
		return s
	}
	return raw
}

// textOnly is the form that Teams and Google Chat share.
func textOnly(text string) message {
	return asJSON(struct {
		Text string `json:"text"`
	}{text})
}

// asJSON encodes a value that holds nothing but text.
func asJSON(v any) message {
	body, _ := json.Marshal(v)
	return message{contentType: "application/json", body: body}
}

func only200(status int) bool { return status == http.StatusOK }
