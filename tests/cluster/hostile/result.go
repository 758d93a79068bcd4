package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// result is the effect of one attack on one scheduler.
type result struct {
	limit         time.Duration
	scale         float64
	stuck         bool          // an ordinary pod was not bound within limit; the numbers are incomplete
	restart       time.Duration // to the first binding, with the objects of the attack; 0: not restarted
	delay         time.Duration // longest of an ordinary pod
	healthz       time.Duration // longest request
	cpu           float64       // seconds, from the beginning of the attack to the end of the measurement
	before, after int64         // resident bytes
	peak          int64
}

type row struct {
	attack  attack
	results map[string]*result
}

const (
	// Limit of berth's buffer of past attempts in this test.
	recordBytes = 4 << 20
	// Memory that was used once and that the allocator keeps.
	allocatorBytes = 24 << 20
	// CPU seconds, for attacks that take nearly none.
	cpuTolerance = 0.5
)

func mebibytes(bytes int64) string { return fmt.Sprintf("%d", (bytes+1<<19)>>20) }

func seconds(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.3f", d.Seconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f", d.Seconds())
	default:
		return fmt.Sprintf("%.0f", d.Seconds())
	}
}

func (r *result) longest() string {
	if r.stuck {
		return "> " + seconds(r.limit)
	}
	return seconds(r.delay)
}

func (r *result) restarted() string {
	if r.restart == 0 {
		return "-"
	}
	return seconds(r.restart)
}

func (r *result) memory() string {
	if r.stuck {
		return "-"
	}
	return fmt.Sprintf("%s, %s, %s", mebibytes(r.before), mebibytes(r.peak), mebibytes(r.after))
}

func (r *result) String() string {
	return fmt.Sprintf("delay %s s, /healthz %s s, restart %s s, CPU %.2f s, memory %s MiB", r.longest(), seconds(r.healthz), r.restarted(), r.cpu, r.memory())
}

func printTable(out io.Writer, schedulers []string, rows []row) {
	columns := []struct {
		name string
		of   func(*result) string
	}{
		{"delay, s", (*result).longest},
		{"/healthz, s", func(r *result) string { return seconds(r.healthz) }},
		{"restart, s", (*result).restarted},
		{"CPU, s", func(r *result) string { return fmt.Sprintf("%.2f", r.cpu) }},
		{"MiB before, peak, after", (*result).memory},
	}
	head, line := "| attack |", "|---|"
	for _, column := range columns {
		for _, scheduler := range schedulers {
			head += " " + scheduler + ": " + column.name + " |"
			line += "---|"
		}
	}
	fmt.Fprintf(out, "%s\n%s\n", head, line)
	for _, r := range rows {
		cells := []string{r.attack.about}
		for _, column := range columns {
			for _, scheduler := range schedulers {
				cells = append(cells, column.of(r.results[scheduler]))
			}
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
}

// allowed is the resident memory that berth may have after the attack.
func (a attack) allowed(ours *result) int64 {
	return ours.before + ours.before/10 + recordBytes + allocatorBytes + int64(ours.scale*float64(a.keeps))
}

// check returns a text for the memory and for the CPU time if berth takes more than allowed.
func (r row) check() (wrong []string) {
	ours, theirs := r.results[berth], r.results[reference]
	if ours == nil {
		return nil
	}
	if ours.stuck {
		return []string{fmt.Sprintf("%s: an ordinary pod was not bound within %s", r.attack.name, ours.limit)}
	}
	if allowed := r.attack.allowed(ours); ours.after > allowed {
		wrong = append(wrong, fmt.Sprintf("%s: %s MiB are resident after the deletion, %s MiB before; %s MiB are allowed",
			r.attack.name, mebibytes(ours.after), mebibytes(ours.before), mebibytes(allowed)))
	}
	if theirs != nil && !theirs.stuck && ours.cpu > theirs.cpu+cpuTolerance {
		wrong = append(wrong, fmt.Sprintf("%s: %.2f CPU seconds, kube-scheduler: %.2f", r.attack.name, ours.cpu, theirs.cpu))
	}
	return wrong
}

// checkTimes returns the times in which berth is slower than allowed.
func (r row) checkTimes() (wrong []string) {
	ours, theirs := r.results[berth], r.results[reference]
	if ours == nil || ours.stuck || theirs == nil || theirs.stuck {
		return nil
	}
	for _, compared := range []struct {
		name         string
		ours, theirs time.Duration
	}{
		{"longest delay of an ordinary pod", ours.delay, theirs.delay},
		{"longest request of /healthz", ours.healthz, theirs.healthz},
		{"start to first binding", ours.restart, theirs.restart},
	} {
		if allowed := 2*compared.theirs + time.Second; compared.ours > allowed {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %s s, kube-scheduler: %s s; %s s are allowed",
				r.attack.name, compared.name, seconds(compared.ours), seconds(compared.theirs), seconds(allowed)))
		}
	}
	return wrong
}
