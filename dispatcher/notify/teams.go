package notify

// teams is an incoming webhook of Microsoft Teams. It answers 200 when it has taken a message, and other 2xx when it has not.
var teams = sink{name: "teams", encode: textOnly, accepts: only200}
