package view

// Self is who asks, and which build answers.
type Self struct {
	Authenticated bool     `json:"authenticated" doc:"Whether the server knows who is asking."`
	User          string   `json:"user,omitempty" doc:"The user's name. Absent if nobody is authenticated."`
	Groups        []string `json:"groups" nullable:"false" doc:"The user's groups."`
	Version       string   `json:"version" doc:"The release that answers, or dev if it was built from a working tree." example:"v0.1.0"`
}
