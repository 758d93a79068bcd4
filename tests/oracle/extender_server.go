package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// extenderBase is the address of the extenders of random clusters. Nothing listens at the default.
var extenderBase = "http://127.0.0.1:1"

// serveExtenders starts the extenders of random clusters. Their replies are a hash of extender, pod and node, so both
// schedulers receive the same ones.
func serveExtenders() (stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	extenderBase = "http://" + listener.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(reply)}
	go server.Serve(listener)
	return func() { server.Close() }, nil
}

func reply(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 2 {
		http.NotFound(w, r)
		return
	}
	var result any
	var err error
	switch extender, verb := parts[0], parts[1]; verb {
	case "filter":
		var args extenderv1.ExtenderArgs
		err = json.NewDecoder(r.Body).Decode(&args)
		result = filtered(extender, args)
	case "prioritize":
		var args extenderv1.ExtenderArgs
		err = json.NewDecoder(r.Body).Decode(&args)
		result = prioritized(extender, args)
	case "preempt":
		var args extenderv1.ExtenderPreemptionArgs
		err = json.NewDecoder(r.Body).Decode(&args)
		result = reviewed(extender, args)
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(result)
}

// drawn is a number that depends only on the names.
func drawn(extender, what string, pod *v1.Pod, node string) uint32 {
	h := fnv.New32a()
	// A handwritten pod may lack its namespace.
	fmt.Fprintf(h, "%s %s %s/%s %s", extender, what, cmp.Or(pod.Namespace, v1.NamespaceDefault), pod.Name, node)
	return h.Sum32() >> 4
}

func filtered(extender string, args extenderv1.ExtenderArgs) *extenderv1.ExtenderFilterResult {
	result := &extenderv1.ExtenderFilterResult{NodeNames: &[]string{}, FailedNodes: extenderv1.FailedNodesMap{},
		FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{}}
	if args.Pod == nil || args.NodeNames == nil {
		return result
	}
	if drawn(extender, "fails", args.Pod, "")%25 == 0 {
		result.Error = "the extender fails for this pod"
		return result
	}
	for _, node := range *args.NodeNames {
		switch n := drawn(extender, "filter", args.Pod, node) % 12; {
		case n < 2:
			result.FailedNodes[node] = fmt.Sprintf("rejected for reason %d", n)
		case n == 2:
			result.FailedAndUnresolvableNodes[node] = "rejected for good"
		case n == 3:
			// The node is missing without a reason.
		default:
			*result.NodeNames = append(*result.NodeNames, node)
		}
	}
	return result
}

func prioritized(extender string, args extenderv1.ExtenderArgs) extenderv1.HostPriorityList {
	list := extenderv1.HostPriorityList{}
	if args.Pod == nil || args.NodeNames == nil {
		return list
	}
	for _, node := range *args.NodeNames {
		if n := drawn(extender, "prioritize", args.Pod, node) % 12; n <= uint32(extenderv1.MaxExtenderPriority) {
			list = append(list, extenderv1.HostPriority{Host: node, Score: int64(n)})
		}
	}
	return list
}

// reviewed removes some of the candidates.
func reviewed(extender string, args extenderv1.ExtenderPreemptionArgs) *extenderv1.ExtenderPreemptionResult {
	result := &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for node, victims := range args.NodeNameToMetaVictims {
		if drawn(extender, "preempt", args.Pod, node)%3 > 0 {
			result.NodeNameToMetaVictims[node] = victims
		}
	}
	return result
}

// extenders draws the extenders of a configuration. They receive node names only: kube-scheduler scores whole nodes in a
// reply without their pods.
func (g *generator) extenders(seed uint64, profiles array) array {
	// kube-scheduler ignores resources in the arguments of NodeResourcesFit, which every profile must have then.
	fits := !slices.ContainsFunc(profiles, func(p any) bool { return p.(object)["plugins"] != nil })
	var extenders array
	for i := range g.between(1, 2) {
		extender := object{"urlPrefix": fmt.Sprintf("%s/e%d-%d", extenderBase, seed, i), "nodeCacheCapable": true, "weight": g.between(1, 5)}
		if g.chance(0.8) {
			extender["filterVerb"] = "filter"
		}
		if g.chance(0.7) {
			extender["prioritizeVerb"] = "prioritize"
		}
		if g.chance(0.4) {
			extender["preemptVerb"] = "preempt"
		}
		if g.chance(0.5) {
			extender["ignorable"] = true
		}
		if g.chance(0.2) {
			extender["managedResources"] = array{object{"name": extendedNames[i], "ignoredByScheduler": fits && g.chance(0.5)}}
		}
		extenders = append(extenders, extender)
	}
	return extenders
}
