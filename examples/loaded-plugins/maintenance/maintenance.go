// Maintenance, a plugin in Go: keeps pods off nodes whose maintenance begins before the pod is expected to end. A node
// announces its maintenance, and a pod its duration, by an annotation:
//
//	example.com/maintenance-from: "2026-12-01T22:00:00Z"
//	example.com/expected-minutes: "90"
//
//	pluginConfig:
//	- name: Maintenance
//	  args: {defaultMinutes: 60}
//
// Build: CGO_CFLAGS=-I<prefix>/include go build -buildmode=c-shared -o maintenance.so .
package main

/*
#include <stdlib.h>
#include "plugin.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"strconv"
	"time"
	"unsafe"
)

// Texts for the host live as long as the process.
var (
	from           = C.CString(C.MAINTENANCE_FROM)
	minutes        = C.CString(C.EXPECTED_MINUTES)
	defaultMinutes = C.CString("defaultMinutes")
	mistake        = C.CString("defaultMinutes: Invalid value: must not be negative")
	due            = C.CString("node(s) had a maintenance before the pod's expected end")
	unreadable     = C.CString("node(s) had a maintenance time that is not in the form of RFC 3339")
)

type maintenance struct {
	host    *C.berth_host
	minutes time.Duration // of pods without the annotation
}

//export maintenanceCreate
func maintenanceCreate(host *C.berth_host, reply *C.berth_reply) C.uintptr_t {
	fallback := C.int64_t(60)
	C.take_int(host, reply, defaultMinutes, &fallback)
	if fallback < 0 {
		C.add_reason(host, reply, mistake)
		return 0
	}
	// C must not keep pointers to Go's memory; a handle is a number.
	return C.uintptr_t(cgo.NewHandle(&maintenance{host, time.Duration(fallback) * time.Minute}))
}

//export maintenanceDestroy
func maintenanceDestroy(self C.uintptr_t) { cgo.Handle(self).Delete() }

//export maintenanceFilter
func maintenanceFilter(self C.uintptr_t, attempt *C.berth_attempt, row C.uint32_t, reply *C.berth_reply) (code C.int32_t) {
	plugin := cgo.Handle(self).Value().(*maintenance)
	// A panic must not leave a function of a plugin.
	defer func() {
		if broken := recover(); broken != nil {
			plugin.add(reply, fmt.Sprint("panic: ", broken))
			code = C.BERTH_ERROR
		}
	}()
	announced := C.node_annotation(plugin.host, attempt, row, from)
	if announced == nil {
		return C.BERTH_SUCCESS
	}
	begins, err := time.Parse(time.RFC3339, C.GoString(announced))
	switch {
	case err != nil:
		C.add_reason(plugin.host, reply, unreadable)
	case time.Now().Add(plugin.duration(attempt)).After(begins):
		C.add_reason(plugin.host, reply, due)
	default:
		return C.BERTH_SUCCESS
	}
	return C.BERTH_UNRESOLVABLE // evicting pods does not help
}

// duration is how long the pod is expected to run. An annotation that is no number counts as absent.
func (m *maintenance) duration(attempt *C.berth_attempt) time.Duration {
	if given := C.pod_annotation(m.host, attempt, minutes); given != nil {
		if number, err := strconv.ParseUint(C.GoString(given), 10, 20); err == nil {
			return time.Duration(number) * time.Minute
		}
	}
	return m.minutes
}

func (m *maintenance) add(reply *C.berth_reply, text string) {
	copied := C.CString(text)
	defer C.free(unsafe.Pointer(copied))
	C.add_reason(m.host, reply, copied)
}

func main() {}
