package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"berth.test/cluster/controlplane"
)

// replica is one scheduler with its own connection to the API server: a proxy that cuts it, then one that records writes.
type replica struct {
	child     *controlplane.Child
	cutting   *controlplane.TCPProxy
	recording *controlplane.HTTPSProxy
	metrics   int // port of berth's metrics
}

// replicas are schedulers with leader election. Two run: the leader and one that stands by. Methods without
// another remark are for one goroutine.
type replicas struct {
	*options
	control  *controlplane.ControlPlane
	children *controlplane.Children
	writes   *writes
	// brief is the number of replicas, the first ones, which lose the Lease soon after they end or do not reach the API
	// server. The others keep it while the API server restarts.
	brief int

	mutex   sync.Mutex // protects all
	all     []*replica // in the order of their start
	running []*replica
	killed  int
	lost    int // replicas that ended because they lost the Lease
}

// patient is an election whose leader survives a restart of the API server.
var patient = controlplane.Election{Lease: 15 * time.Second, Renew: 10 * time.Second, Retry: 500 * time.Millisecond}

// startBoth starts the leader, and then the one that stands by.
func (s *replicas) startBoth(ctx context.Context) error {
	if err := s.start(ctx, controlplane.LogsLeading); err != nil {
		return err
	}
	return s.start(ctx, controlplane.LogsStandingBy)
}

// start starts a replica, and waits until its log contains a text.
func (s *replicas) start(ctx context.Context, logs string) (err error) {
	r, name, election := new(replica), fmt.Sprint("scheduler-", len(s.all)+1), patient
	if len(s.all) < s.brief {
		election = controlplane.QuickElection()
	}
	if r.recording, err = s.writes.startRecorder(s.control, name); err != nil {
		return err
	}
	if r.cutting, err = controlplane.StartTCPProxy(strings.TrimPrefix(r.recording.URL, "https://")); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	r.metrics = ports[0]
	// The proxy cannot forward a certificate of the client.
	if r.child, err = s.control.StartElectedAt(r.cutting.URL(), s.children, name, s.scheduler, election, "default-scheduler", "token",
		append(gangFlags, s.berthFlags(r.metrics)...)...); err != nil {
		return err
	}
	s.mutex.Lock()
	s.all, s.running = append(s.all, r), append(s.running, r)
	s.mutex.Unlock()
	return r.child.UntilLogged(ctx, logs)
}

// replaceLost starts another replica for each one that ended because it lost the Lease. It fails if one ended for another
// reason.
func (s *replicas) replaceLost(ctx context.Context) error {
	for _, r := range s.running {
		if r.child.Running() {
			continue
		}
		if code, _ := r.child.Exited(time.Second); code != 1 || !strings.Contains(r.child.Log(), controlplane.LogsLost) {
			return r.child.Gone()
		}
		s.lost++
		s.remove(r)
		return s.start(ctx, controlplane.LogsStandingBy)
	}
	return nil
}

func (s *replicas) remove(gone *replica) {
	gone.cutting.Stop()
	gone.recording.Stop()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var left []*replica
	for _, r := range s.running {
		if r != gone {
			left = append(left, r)
		}
	}
	s.running = left
}

// killLeader waits for the moment, kills the leader then, waits for the next leader, and starts another replica. It returns
// a description.
func (s *replicas) killLeader(ctx context.Context, r *reader) (string, error) {
	var leader *replica
	what := ""
	err := controlplane.Until(ctx, time.Minute, "the moment at which the leader is killed", func() (reached bool, err error) {
		if err := errors.Join(r.failure(), s.replaceLost(ctx)); err != nil {
			return false, err
		}
		reached, what = s.writes.reached(r)
		leader = s.leader()
		return reached && leader != nil, nil
	})
	if err != nil {
		return "", err
	}
	leader.child.Kill()
	s.writes.await(never{})
	killedAt := time.Now()
	s.killed++
	s.remove(leader)
	if err := s.untilOtherLeads(ctx, leader); err != nil {
		return "", err
	}
	what = fmt.Sprintf("%s killed with %s, %s leads %.1f s later", leader.child.Name, what, s.writes.leading(), time.Since(killedAt).Seconds())
	return what, s.start(ctx, controlplane.LogsStandingBy)
}

func (s *replicas) untilOtherLeads(ctx context.Context, before *replica) error {
	return controlplane.Until(ctx, 2*patient.Lease, "another leader than "+before.child.Name, func() (bool, error) {
		for _, r := range s.running {
			if err := r.child.Alive(); err != nil {
				return false, err
			}
		}
		leader := s.leader()
		return leader != nil && leader != before, nil
	})
}

// leader is the running replica whose Lease was accepted last, nil if there is none.
func (s *replicas) leader() *replica {
	name := s.writes.leading()
	for _, r := range s.running {
		if r.child.Name == name {
			return r
		}
	}
	return nil
}

// cut cuts connections at random. It may be called by any goroutine.
func (s *replicas) cut(random *rand.Rand) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.running {
		r.cutting.Cut(random)
	}
}

func (s *replicas) block(blocked bool) {
	for _, r := range s.running {
		r.cutting.Block(blocked)
	}
}

// sum adds a number of each replica, also of those that have ended.
func (s *replicas) sum(number func(*replica) float64) (sum float64) {
	for _, r := range s.all {
		sum += number(r)
	}
	return sum
}

// expired is the number of watches of running replicas that ended because their version is gone.
func (s *replicas) expired() (sum float64, err error) {
	for _, r := range s.running {
		one, err := metricSum(r.metrics, `berth_reflector_failures_total\{.*reason="expired"`)
		if err != nil {
			return 0, err
		}
		sum += one
	}
	return sum, nil
}

// stop ends the replicas. It returns those that did not exit with 0.
func (s *replicas) stop() (violations []string) {
	for _, r := range s.running {
		if code := r.child.Stop(); code != "" {
			violations = append(violations, fmt.Sprintf("%s exited with %s", r.child.Name, code))
		}
	}
	return violations
}
