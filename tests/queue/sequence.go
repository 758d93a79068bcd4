package main

// sequence is one line of a recording: the configuration of the queue, and the steps with the visible state after each.
type sequence struct {
	Seed    uint64   `json:"seed"`
	Options options  `json:"options"`
	Plugins []plugin `json:"plugins"`
	Steps   []step   `json:"steps"`
}

// All times are milliseconds.
type options struct {
	Start              int64 `json:"start"`
	InitialBackoff     int64 `json:"initialBackoff"`
	MaxBackoff         int64 `json:"maxBackoff"`
	MaxInUnschedulable int64 `json:"maxInUnschedulable"`
	// Groups is true if some pods belong to pod groups.
	Groups bool `json:"groups,omitempty"`
	// Trees is true if the groups belong to composite groups.
	Trees bool `json:"trees,omitempty"`
}

// plugin is a fake plugin. Its results follow from hint() and gates(), which both programs compute.
type plugin struct {
	Name       string         `json:"name"`
	PreEnqueue bool           `json:"preEnqueue,omitempty"`
	Profiles   []string       `json:"profiles"`
	Events     []registration `json:"events"`
}

type registration struct {
	Resource string `json:"resource"`
	Action   int64  `json:"action"`
	Hint     bool   `json:"hint,omitempty"`
}

// step is an operation and the changes of the visible state.
type step struct {
	operation
	// Popped is the UID of the popped pod, or the UIDs of the members of the popped group in their order, with a
	// space after each; empty: none.
	Popped string            `json:"popped,omitempty"`
	Set    map[string]string `json:"set,omitempty"`
	Gone   []string          `json:"gone,omitempty"`
}

type operation struct {
	Kind string `json:"op"`
	// Pod is a UID.
	Pod string `json:"pod,omitempty"`
	// Object is the pod's new form (add, update).
	Object *podObject `json:"object,omitempty"`
	// Rejectors and Pending are the plugins that rejected the pod; without them the attempt failed with an error.
	Rejectors []string `json:"rejectors,omitempty"`
	Pending   []string `json:"pending,omitempty"`
	// Nominate overrides the nomination; nil: that of the pod's status.
	Nominate *string `json:"nominate,omitempty"`
	Event    *event  `json:"event,omitempty"`
	// Pods are UIDs (activate), or those of the members that are requeued at the end of a group's attempt (end).
	Pods []string `json:"pods,omitempty"`
	// Group is a group's new form (group-add, group-update).
	Group *groupObject `json:"group,omitempty"`
	// Outcome of a group's attempt (end): scheduled, rejected, error.
	Outcome string `json:"outcome,omitempty"`
	// Name of a group (group-delete).
	Name string `json:"name,omitempty"`
	// Millis is the advance of the clock (step).
	Millis int64 `json:"ms,omitempty"`
}

type event struct {
	Resource string `json:"resource"`
	Action   int64  `json:"action"`
	Label    string `json:"label"`
	// Before and After name the objects; empty: none.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Target is the UID of the only pod that a wildcard event applies to.
	Target string `json:"target,omitempty"`
	// UpTo limits the event to pods of at most that priority.
	UpTo *int32 `json:"upTo,omitempty"`
}

type groupObject struct {
	Name string `json:"name"`
	// Composite: a group of groups. Parent is the name of the composite group above it; empty: none.
	Composite bool   `json:"composite,omitempty"`
	Parent    string `json:"parent,omitempty"`
	Priority  int32  `json:"priority,omitempty"`
	Revision  int    `json:"revision,omitempty"`
}

type podObject struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Profile     string            `json:"profile"`
	Priority    int32             `json:"priority,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Tolerations int               `json:"tolerations,omitempty"`
	Gates       int               `json:"gates,omitempty"`
	MilliCPU    int64             `json:"milliCPU,omitempty"`
	Claims      int               `json:"claims,omitempty"`
	Revision    int               `json:"revision,omitempty"`
	Nominated   string            `json:"nominated,omitempty"`
	Group       string            `json:"group,omitempty"`
}
