package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"berth.test/cluster/controlplane"
)

const (
	cores = 10 // of each node
	// realCores is the share of a real core that a core of a node is: a small part, because tests run beside others.
	realCores = 0.02
)

// burn uses a share of one core until it is killed.
func burn(share string) {
	wanted, err := strconv.ParseFloat(share, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	began := time.Now()
	used := func() float64 {
		var usage syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	}
	for {
		for used() < wanted*time.Since(began).Seconds() {
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// machine is a node: a real node_exporter, and processes.
type machine struct {
	name     string
	procfs   string
	exporter int // port

	mutex     sync.Mutex
	processes map[string]*process // by pod; "" is load without a pod
	began     time.Time
	busy      float64 // seconds of all cores, of processes that have ended, too
}

type process struct {
	child *controlplane.Child
	seen  float64 // CPU seconds
}

// run starts a process that uses some of the node's cores.
func (m *machine) run(s *stage, pod string, used float64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child, err := s.children.Start("burn", []string{self, "burn", fmt.Sprint(used * realCores)})
	if err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.processes[pod] = &process{child: child}
	return nil
}

// heat adds load that no pod causes.
func (m *machine) heat(s *stage, used float64) error { return m.run(s, "", used) }

func (m *machine) end(pod string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if p, there := m.processes[pod]; there {
		m.count(p)
		p.child.Kill()
		delete(m.processes, pod)
	}
}

func (m *machine) count(p *process) {
	now := p.child.CPUSeconds()
	m.busy += (now - p.seen) / realCores
	p.seen = now
}

// usage returns the CPU seconds of each pod's process, in cores of the node.
func (m *machine) usage() map[string]float64 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	all := map[string]float64{}
	for pod, p := range m.processes {
		if pod != "" {
			all[pod] = p.child.CPUSeconds() / realCores
		}
	}
	return all
}

// writeProcfs writes the files that node_exporter reads. The node has one processor that is as fast as its cores.
func (m *machine) writeProcfs() error {
	m.mutex.Lock()
	for _, p := range m.processes {
		m.count(p)
	}
	uptime := time.Since(m.began).Seconds() + 3600
	busy := m.busy / cores
	m.mutex.Unlock()
	ticks := fmt.Sprintf("%.0f 0 0 %.0f 0 0 0 0 0 0\n", 100*busy, 100*(uptime-busy))
	for name, text := range map[string]string{
		"stat":    "cpu  " + ticks + "cpu0 " + ticks + fmt.Sprintf("btime %d\n", m.began.Unix()-3600),
		"loadavg": "0.10 0.10 0.10 1/100 1000\n",
		"meminfo": "MemTotal: 67108864 kB\nMemFree: 50331648 kB\nMemAvailable: 50331648 kB\n",
	} {
		path := m.procfs + "/" + name
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}

// startExporter starts node_exporter, and updates its procfs until the test ends.
func (m *machine) startExporter(s *stage) error {
	if err := os.MkdirAll(m.procfs, 0o700); err != nil {
		return err
	}
	if err := m.writeProcfs(); err != nil {
		return err
	}
	go func() {
		for {
			_ = m.writeProcfs()
			time.Sleep(100 * time.Millisecond)
		}
	}()
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	m.exporter = ports[0]
	_, err = s.children.Start("node-exporter-"+m.name, []string{"prometheus-node-exporter"}, "--path.procfs="+m.procfs,
		"--collector.disable-defaults", "--collector.cpu", "--collector.loadavg", "--collector.meminfo",
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", m.exporter))
	return err
}
