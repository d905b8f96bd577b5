package view

// Self is who asks, and what they may do.
type Self struct {
	Authenticated bool     `json:"authenticated" doc:"Whether the server knows who is asking."`
	User          string   `json:"user,omitempty" doc:"The user's name. Absent if nobody is authenticated."`
	Groups        []string `json:"groups" nullable:"false" doc:"The user's groups."`
	Actions       []string `json:"actions" nullable:"false" doc:"What the user may do besides reading."`
	ConfigActions []string `json:"configActions" nullable:"false" doc:"What the user may do to configs besides reading. To retry is among actions if it may be done to workloads, and here if it may be done to configs."`
}
