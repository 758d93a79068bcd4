// Command container is the only program in the images of tests/node. Without arguments it is the pause container of a pod;
// with arguments it prints them first. It waits for SIGTERM.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	// Process 1 of a container has no default signal handlers.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	if len(os.Args) > 1 {
		fmt.Println(strings.Join(os.Args[1:], " "))
	}
	<-stop
}
