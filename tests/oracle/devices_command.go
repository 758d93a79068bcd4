package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

func runDevices(args []string, out, errOut io.Writer) error {
	flags := newFlags("devices", "--replay PATH [--from-seed A] [--pods N]",
		"Compares the devices that berth and the real DynamicResources allocate: for every pod that fits, on the same node,\n"+
			"the status of its claims, the claim for extended resources, and the status of the pod.", errOut)
	replay := flags.String("replay", "", "the devices_replay program")
	first := flags.Uint64("from-seed", 1, "first scenario")
	pods := flags.Int("pods", 2000, "number of pods with written claims to compare")
	if err := flags.Parse(args); err != nil {
		return err
	}
	started := time.Now()
	r, err := startReplayer(*replay)
	if err != nil {
		return err
	}
	total := deviceCounts{}
	seed := *first
	for ; total.pods < *pods; seed++ {
		if err := compareDevices(r, seed, &total, out); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d pods with %d claims and %d devices, %d of the claims for extended resources, %d pods left out, %d pods differ, %.0f s (seeds %d to %d)\n",
		total.pods, total.claims, total.devices, total.created, total.leftOut, total.different, time.Since(started).Seconds(), *first, seed-1)
	if total.different > 0 {
		return errors.New("allocations differ")
	}
	return nil
}

type deviceCounts struct{ pods, claims, devices, created, leftOut, different int }

type placement struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

// placedPod is a placement with the result of the real plugin.
type placedPod struct {
	placement
	writes  *deviceWrites
	failure string
	// Claims that had no allocation before.
	allocated map[string]bool
}

// berthWrites is the answer of the replay program for one pod.
type berthWrites struct {
	Error  string `json:"error"`
	Claims map[string]struct {
		Status map[string]any `json:"status"`
	} `json:"claims"`
	Created map[string]any `json:"created"`
	Status  map[string]any `json:"status"`
}

func compareDevices(r *replayer, seed uint64, total *deviceCounts, out io.Writer) error {
	scenario, err := generate(seed, fullScale, devices)
	if err != nil {
		return err
	}
	placed, err := scenario.place()
	if err != nil || len(placed) == 0 {
		return err
	}
	placements := make([]placement, len(placed))
	for i := range placed {
		placements[i] = placed[i].placement
	}
	answer, err := r.ask(map[string]any{"config": string(scenario.Config), "cluster": json.RawMessage(scenario.Cluster),
		"placements": placements})
	if err != nil {
		return err
	}
	var results []berthWrites
	if err := json.Unmarshal([]byte(answer), &results); err != nil || len(results) != len(placed) {
		return fmt.Errorf("answer %.300q: %w", answer, err)
	}
	for i, want := range placed {
		if strings.Contains(want.writes.failure, "nil or empty request mappings") {
			// kube-scheduler fails if device plugins provide all extended resources of a pod with other claims
			// (docs/differences.md).
			total.leftOut++
			continue
		}
		if len(want.writes.claims) > 0 {
			total.pods++
		}
		if difference := want.compare(results[i], total); difference != "" {
			total.different++
			fmt.Fprintf(out, "seed %d, pod %s on %s: %s\n", seed, want.Pod, want.Node, difference)
		}
	}
	return nil
}

// place evaluates the pods and lets the real plugin write the claims of those that fit.
func (s *Scenario) place() (placed []placedPod, err error) {
	cluster, dump, err := s.cluster(silence())
	if err != nil {
		return nil, err
	}
	defer cluster.close()
	claims := cluster.factory.Resource().V1().ResourceClaims().Lister()
	for _, pod := range dump.pendingPods() {
		record := cluster.evaluate(pod)
		if record.Result != resultScheduled {
			continue
		}
		p := placedPod{placement: placement{podKey(pod), record.Node}, allocated: make(map[string]bool)}
		p.writes, p.failure = cluster.place(pod, record.Node)
		for name := range p.writes.claims {
			before, err := claims.ResourceClaims(pod.Namespace).Get(name)
			p.allocated[name] = err != nil || before.Status.Allocation == nil
		}
		placed = append(placed, p)
	}
	return placed, nil
}

func (p *placedPod) compare(got berthWrites, total *deviceCounts) string {
	got.Error = strings.TrimPrefix(got.Error, `running Reserve plugin "DynamicResources": `)
	if p.failure != got.Error {
		return fmt.Sprintf("\n  berth:          error %q\n  kube-scheduler: error %q", got.Error, p.failure)
	}
	for name, claim := range p.writes.claims {
		total.claims++
		want := plain(claim.Status)
		status := got.Claims[name].Status
		for _, fields := range []map[string]any{want, status} {
			withoutInventedUIDs(fields["reservedFor"])
			if allocation, ok := fields["allocation"].(map[string]any); ok {
				normalize(allocation)
			}
		}
		if !p.allocated[name] {
			// Only the reservation is new.
			delete(want, "allocation")
			delete(status, "allocation")
		}
		delete(want, "devices")
		total.devices += len(claim.Status.Allocation.Devices.Results)
		if !reflect.DeepEqual(want, map[string]any(status)) {
			return fmt.Sprintf("claim %s\n  berth:          %s\n  kube-scheduler: %s", name, text(status), text(want))
		}
	}
	if len(got.Claims) != len(p.writes.claims) {
		return fmt.Sprintf("berth writes %d claims, kube-scheduler %d", len(got.Claims), len(p.writes.claims))
	}
	want := map[string]any(nil)
	if p.writes.created != nil {
		total.created++
		want = plain(p.writes.created)
		delete(want, "status")
		want["kind"], want["apiVersion"] = "ResourceClaim", "resource.k8s.io/v1"
		delete(want["metadata"].(map[string]any), "creationTimestamp")
	}
	for _, claim := range []map[string]any{want, got.Created} {
		if metadata, ok := claim["metadata"].(map[string]any); ok {
			withoutInventedUIDs(metadata["ownerReferences"])
		}
	}
	if !reflect.DeepEqual(want, got.Created) {
		return fmt.Sprintf("new claim\n  berth:          %s\n  kube-scheduler: %s", text(got.Created), text(want))
	}
	var status map[string]any
	if len(p.writes.status) > 0 {
		if err := json.Unmarshal(p.writes.status, &status); err != nil {
			return err.Error()
		}
	}
	if !reflect.DeepEqual(status, got.Status) {
		return fmt.Sprintf("status of the pod\n  berth:          %s\n  kube-scheduler: %s", text(got.Status), text(status))
	}
	return ""
}

// normalize removes what depends on time and chance.
func normalize(allocation map[string]any) {
	delete(allocation, "allocationTimestamp")
	devices, _ := allocation["devices"].(map[string]any)
	if results, _ := devices["results"].([]any); len(results) == 0 {
		delete(devices, "results")
	}
	if config, _ := devices["config"].([]any); len(config) == 0 {
		delete(devices, "config")
	}
	results, _ := devices["results"].([]any)
	for _, result := range results {
		if _, ok := result.(map[string]any)["shareID"]; ok {
			result.(map[string]any)["shareID"] = "random"
		}
	}
}

// withoutInventedUIDs removes the UIDs that both sides invent for pods without one.
func withoutInventedUIDs(reservedFor any) {
	list, _ := reservedFor.([]any)
	for _, consumer := range list {
		uid, _ := consumer.(map[string]any)["uid"].(string)
		if strings.HasPrefix(uid, "made-up-for-") || strings.HasPrefix(uid, "*v1.Pod:") {
			delete(consumer.(map[string]any), "uid")
		}
	}
}

func plain(v any) (out map[string]any) {
	encoded, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(encoded, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func text(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}
