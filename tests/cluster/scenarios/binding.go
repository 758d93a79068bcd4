package main

import (
	"net/http"
	"strings"
	"time"

	"berth.test/cluster/controlplane"
)

// binding contains scenarios with failing bindings and lost responses.
func binding() []*scenario {
	return []*scenario{
		{name: "another scheduler binds the pod first", run: func(s *stage) {
			s.node("n-1", labelled("disk", "ssd"))
			s.node("n-2")
			s.before("contested", func() { s.bind("contested", "n-2"); s.pause(noticed) })
			s.pod("contested", asking("cpu", "3"), preferring("disk", "ssd"))
			s.bound("contested")
			s.pause(noticed)
			// The assumed resources are released, and the other scheduler's pod is counted.
			s.pod("large", asking("cpu", "4"))
			s.pod("larger", asking("cpu", "2"), onlyOn("n-2"))
			s.bound("large")
			s.refused("larger", "Insufficient cpu")
		}, differs: &difference{
			why:           "nothing is written about a pod that another client has bound",
			onlyReference: []string{"pod contested: event Warning FailedScheduling", "pod contested: condition False"},
		}},
		{name: "the node is deleted before the binding", run: func(s *stage) {
			s.node("n-1")
			s.before("unlucky", func() { s.deleteNode("n-1") })
			s.pod("unlucky")
			s.bound("unlucky")
		}},
		{name: "the API server rejects a binding, then accepts it", run: func(s *stage) {
			s.node("n-1")
			s.lane.proxy.once("/pods/refused/binding", answering(http.StatusForbidden, "Forbidden", "not today"))
			s.pod("refused")
			s.bound("refused")
			s.reportAttempts("refused")
		}},
		{name: "a binding fails and is retried immediately", run: func(s *stage) {
			s.node("n-1")
			for range 3 {
				s.lane.proxy.once("/pods/retried/binding", answering(http.StatusInternalServerError, "InternalError", "something broke"))
			}
			s.pod("retried")
			s.bound("retried")
			s.reportAttempts("retried")
		}},
		{name: "a binding fails four times", run: func(s *stage) {
			s.node("n-1")
			for range 4 {
				s.lane.proxy.once("/pods/retried/binding", answering(http.StatusInternalServerError, "InternalError", "something broke"))
			}
			s.pod("retried")
			s.bound("retried")
			s.reportAttempts("retried")
		}},
		{name: "room is free again when a binding fails", run: func(s *stage) {
			s.node("n-1")
			refuse := answering(http.StatusForbidden, "Forbidden", "not today")
			s.lane.proxy.once("/pods/first/binding", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				time.Sleep(time.Second)
				refuse(w, r, next)
			})
			s.pod("first", asking("cpu", "3"))
			s.attempted("first", 1)
			s.pod("urgent", asking("cpu", "3"), class("polite"))
			s.refused("urgent", "Insufficient cpu")
			s.bound("urgent")
			s.refused("first", "Insufficient cpu")
			s.reportAttempts("urgent")
		}},
		{name: "the response to a binding is lost", run: func(s *stage) {
			s.node("n-1")
			s.lane.proxy.once("/pods/unheard/binding", controlplane.LoseAnswer)
			s.pod("unheard", asking("cpu", "3"))
			s.bound("unheard")
			s.pause(time.Second)
			s.pod("next", asking("cpu", "2"))
			s.refused("next", "Insufficient cpu")
		}, differs: &difference{
			why:           "a binding whose answer was lost counts if it took effect",
			onlyReference: []string{"pod unheard: event Warning FailedScheduling", "pod unheard: condition False"},
			onlyBerth:     []string{"pod unheard: event Normal Scheduled"},
		}},
		{name: "a pod is deleted before its binding", run: func(s *stage) {
			s.node("n-1")
			s.before("unlucky", func() { s.deletePod("unlucky"); s.pause(noticed) })
			s.create("unlucky", asking("cpu", "3"))
			s.pause(time.Second)
			s.pod("next", asking("cpu", "3"))
			s.bound("next")
		}, differs: &difference{
			why:           "nothing is written about a pod that is gone",
			onlyReference: []string{"pod unlucky: event Warning FailedScheduling"},
		}},
		{name: "a pod is created again before its binding", run: func(s *stage) {
			s.node("n-1")
			s.before("twice", func() {
				s.deletePod("twice")
				s.create("twice", asking("cpu", "2"))
				s.pause(noticed)
			})
			s.create("twice", asking("cpu", "3"))
			s.until("the second one is bound", func() bool {
				return strings.HasPrefix(s.history("twice").label, "twice (") && s.history("twice").node != ""
			})
		}, differs: &difference{
			why:           "nothing is written about a pod that is gone, least of all to its successor",
			onlyReference: []string{"pod twice: event Warning FailedScheduling", "pod twice (number 2): condition False"},
		}},
		{name: "a pod is terminating before its binding", run: func(s *stage) {
			s.node("n-1")
			s.before("going", func() { s.deletePod("going"); s.pause(noticed) })
			s.create("going", asking("cpu", "3"), finalized)
			s.attempted("going", 1)
			s.pause(time.Second)
			s.pod("next", asking("cpu", "3"))
			s.bound("next")
			s.pause(2 * time.Second)
		}, seconds: 5},
		{name: "the API server throttles a binding", run: func(s *stage) {
			s.node("n-1")
			busy := answering(http.StatusTooManyRequests, "TooManyRequests", "later, please")
			s.lane.proxy.once("/pods/patient/binding", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				w.Header().Set("Retry-After", "1")
				busy(w, r, next)
			})
			s.pod("patient")
			s.bound("patient")
			s.expectAttempts("patient", 1)
		}},
		{name: "a condition update fails and is retried immediately", run: func(s *stage) {
			s.node("n-1")
			s.lane.proxy.once("/pods/large/status", answering(http.StatusInternalServerError, "InternalError", "something broke"))
			s.lane.proxy.once("/pods/large/status", answering(http.StatusConflict, "Conflict", "another client was faster"))
			s.pod("large", asking("cpu", "5"))
			s.refused("large", "Insufficient cpu")
			s.expectAttempts("large", 1)
		}},
		{name: "the API server rejects a condition", run: func(s *stage) {
			s.node("n-1")
			s.lane.proxy.once("/pods/large/status", answering(http.StatusForbidden, "Forbidden", "not today"))
			s.pod("large", asking("cpu", "5"))
			s.attempted("large", 1)
			s.pause(time.Second)
			s.resizeNode("n-1", "cpu", "5")
			s.bound("large")
			s.expectAttempts("large", 2)
		}},
		{name: "the API server rejects an event", run: func(s *stage) {
			s.node("n-1")
			s.lane.proxy.once("/events", answering(http.StatusForbidden, "Forbidden", "not today"))
			s.pod("untold")
			s.bound("untold")
		}},
		{name: "the response to an event is lost", run: func(s *stage) {
			s.node("n-1")
			s.lane.proxy.once("/events", controlplane.LoseAnswer)
			s.pod("untold")
			s.bound("untold")
			s.until("the event is sent again", func() bool { return s.lane.proxy.written(s.ns)["events"] == 2 })
		}, seconds: 10},
		{name: "the scheduler is killed during a binding", run: func(s *stage) {
			s.node("n-1")
			received := make(chan struct{})
			s.lane.proxy.once("/pods/orphan/binding", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
				close(received)
				<-r.Context().Done()
			})
			s.pod("orphan")
			<-received
			s.lane.scheduler.Kill()
			s.must(s.lane.startScheduler())
			s.bound("orphan")
			s.expectAttempts("orphan", 2)
		}, seconds: 4},
	}
}
