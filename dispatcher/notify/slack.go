package notify

// slack is an incoming webhook of Slack.
var slack = sink{name: "slack", accepts: successful, encode: func(text string) message {
	type attachment struct {
		Color      string `json:"color"`
		AuthorName string `json:"author_name"`
		Text       string `json:"text"`
	}
	return asJSON(struct {
		Attachments []attachment `json:"attachments"`
	}{[]attachment{{Color: "good", AuthorName: "Reloader", Text: text}}})
}}
