package notify

// gchat is an incoming webhook of a Google Chat space.
var gchat = sink{name: "gchat", encode: textOnly, accepts: only200}
