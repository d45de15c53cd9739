// The program of a pod's sandbox: holds the pod's namespaces, and as its first process collects whatever ends without a parent.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	// As the published program: a job of kubeadm's preflight (CreateJob) asks it, and an upgrade waits for the end of that job.
	for _, argument := range os.Args[1:] {
		if argument == "-v" {
			fmt.Println("pause of Fairlead's mirror")
			return
		}
	}
	runtime.GOMAXPROCS(1)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			os.Exit(0)
		}
		reap()
	}
}

// One signal may stand for many children that ended.
func reap() {
	for {
		child, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if child <= 0 || err != nil {
			return
		}
	}
}
