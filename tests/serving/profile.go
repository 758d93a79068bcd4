package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// checkProfile takes a CPU profile of a scheduler that has something to do and has Go's own tool read it.
func (s *stage) checkProfile(scheduler string) error {
	stop, idle := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(idle)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = s.send(scheduler, request{path: "/metrics", cert: "master"})
			}
		}
	}()
	profile, err := s.send(scheduler, request{path: "/debug/pprof/profile?seconds=2", cert: "master"})
	close(stop)
	<-idle
	if err != nil {
		return err
	}
	file := s.File("cpu.pprof")
	if err := os.WriteFile(file, []byte(profile.body), 0o600); err != nil {
		return err
	}
	top, err := exec.Command("go", "tool", "pprof", "-top", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go tool pprof: %w: %s", err, top)
	}
	if text := string(top); !strings.Contains(text, "Type: cpu") || !strings.Contains(text, "berth::") {
		return errors.New("go tool pprof sees none of our functions: " + text)
	}
	return nil
}
