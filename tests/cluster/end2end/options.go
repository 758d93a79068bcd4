package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func (o *options) isBerth() bool { return filepath.Base(o.scheduler[0]) == "berth" }

// berthFlags are the flags that only berth has.
func (o *options) berthFlags(metricsPort int, more ...string) []string {
	if !o.isBerth() {
		return nil
	}
	return append([]string{"--secure-port=0", fmt.Sprintf("--berth-http-address=127.0.0.1:%d", metricsPort), "--berth-http-metrics", "--v=2"}, more...)
}

func makeDirectory(path string) error { return os.MkdirAll(path, 0o755) }
