// Command pause is what the containers of the test node run that are not about Reroll: it says what the variables of its environment hold
// whose names it is given, and waits to be ended.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	for _, name := range os.Args[1:] {
		fmt.Printf("%s=%s\n", name, os.Getenv(name))
	}
	<-end
}
