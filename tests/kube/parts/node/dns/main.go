// Command dns is CoreDNS with the two plugins that the names of Services need: kubernetes, which answers, and errors, which tells. The
// rest of what it can be built with asks clouds.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"     // log what cannot be answered
	_ "github.com/coredns/coredns/plugin/kubernetes" // answer for Services
)

func main() { coremain.Run() }
