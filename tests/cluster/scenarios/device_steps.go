package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"berth.test/cluster/controlplane"
)

// The steps of a scenario for devices that pods get by resource claims.

// gpuDriver is the driver of all slices.
const gpuDriver = "gpu.example.com"

// bindingTimeout is that of DynamicResources. The scheduler checks devices every five seconds, and the
// allocation's timestamp has no fractions of a second.
const bindingTimeout = 7 * time.Second

// bindingTimeoutSince is the minor release whose DynamicResources accepts this argument first: with the default feature gates
// of 1.35 it is rejected.
const bindingTimeoutSince = 36

// --- history of claims ---

// claimHistory is the watch history of one resource claim.
type claimHistory struct {
	uid    types.UID
	name   string
	label  string
	number int // of the claims with this name
	latest *resourcev1.ResourceClaim
	gone   bool
	states []string
}

// onlyControllersWrote reports whether no scheduler has written to the claim, which is gone and was not the first one of
// its pod. kube-controller-manager sometimes makes such a claim for a pod that has just finished, and deletes it at once.
func (h *claimHistory) onlyControllersWrote() bool {
	return h.number > 1 && h.gone && !slices.ContainsFunc(h.states, func(state string) bool { return state != untouched })
}

const untouched = "finalizers [], status {}"

// listenToClaims records the changes of the claims.
func (s *stage) listenToClaims(watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		claim, ok := event.Object.(*resourcev1.ResourceClaim)
		if !ok {
			continue
		}
		s.mutex.Lock()
		history := s.claimHistoryOf(claim)
		history.latest, history.gone = claim, event.Type == watch.Deleted
		if !history.gone {
			history.states = appendNew(history.states, stateOf(claim))
		}
		s.mutex.Unlock()
	}
}

func (s *stage) claimHistoryOf(claim *resourcev1.ResourceClaim) *claimHistory {
	label := claim.Name
	if owner := metav1.GetControllerOf(claim); owner != nil {
		// The name of a claim that was made from a template ends with random letters.
		label = fmt.Sprintf("CLAIM-%s-OF-%s", claim.Annotations["resource.kubernetes.io/pod-claim-name"], owner.Name)
	}
	number := 1
	for _, history := range s.claims {
		if history.uid == claim.UID {
			return history
		}
		if strings.HasPrefix(history.label+" ", label+" ") {
			number++
		}
	}
	if number > 1 {
		label += fmt.Sprintf(" (number %d)", number)
	}
	history := &claimHistory{uid: claim.UID, name: claim.Name, label: label, number: number}
	s.claims = append(s.claims, history)
	return history
}

// stateOf describes what schedulers and controllers write to a claim, without times and random ids.
func stateOf(claim *resourcev1.ResourceClaim) string {
	status := claim.Status.DeepCopy()
	if allocation := status.Allocation; allocation != nil {
		if allocation.AllocationTimestamp != nil {
			set := metav1.NewTime(time.Unix(0, 0))
			allocation.AllocationTimestamp = &set
		}
		for i := range allocation.Devices.Results {
			if allocation.Devices.Results[i].ShareID != nil {
				share := types.UID("SHARE")
				allocation.Devices.Results[i].ShareID = &share
			}
		}
	}
	text, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	deleting := ""
	if claim.DeletionTimestamp != nil {
		deleting = ", is being deleted"
	}
	return fmt.Sprintf("finalizers %v%s, status %s", claim.Finalizers, deleting, text)
}

// claimState returns the latest version of a claim, or nil.
func (s *stage) claimState(name string) *resourcev1.ResourceClaim {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, history := range slices.Backward(s.claims) {
		if history.name == name && !history.gone {
			return history.latest
		}
	}
	return nil
}

// allocated waits until a claim has an allocation.
func (s *stage) allocated(claim string) {
	s.until("claim "+claim+" is allocated", func() bool {
		found := s.claimState(claim)
		return found != nil && found.Status.Allocation != nil
	})
}

// released waits until a claim has no allocation, and then until the scheduler has observed it.
func (s *stage) released(claim string) {
	s.until("claim "+claim+" is not allocated", func() bool {
		found := s.claimState(claim)
		return found == nil || found.Status.Allocation == nil
	})
	s.pause(noticed)
}

// --- classes, rules and slices ---

// deviceClass creates a class of the driver's devices for which all expressions are true.
func (s *stage) deviceClass(name string, expressions ...string) {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, expression := range append([]string{fmt.Sprintf("device.driver == %q", gpuDriver)}, expressions...) {
		class.Spec.Selectors = append(class.Spec.Selectors, selector(expression))
	}
	_, err := s.client.ResourceV1().DeviceClasses().Create(s.ctx, class, metav1.CreateOptions{})
	s.must(err)
	s.pause(noticed)
}

// taintRule creates a rule that taints devices with this name in all pools.
func (s *stage) taintRule(name, device, key string, effect resourcev1.DeviceTaintEffect) {
	_, err := s.client.ResourceV1().DeviceTaintRules().Create(s.ctx, &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Device: &device},
			Taint:          resourcev1.DeviceTaint{Key: key, Effect: effect},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.pause(noticed)
}

func (s *stage) deleteTaintRule(name string) {
	s.must(s.client.ResourceV1().DeviceTaintRules().Delete(s.ctx, name, metav1.DeleteOptions{}))
	s.pause(noticed)
}

type sliceOption func(*resourcev1.ResourceSlice)
type deviceOption func(*resourcev1.Device)

// slice creates a slice in a pool of its own, which has the slice's name.
func (s *stage) slice(name string, options ...sliceOption) {
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: gpuDriver,
			Pool:   resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
		},
	}
	for _, option := range options {
		option(slice)
	}
	_, err := s.client.ResourceV1().ResourceSlices().Create(s.ctx, slice, metav1.CreateOptions{})
	s.must(err)
	s.pause(noticed)
}

// changeSlice applies options to a slice.
func (s *stage) changeSlice(name string, options ...sliceOption) {
	slice, err := s.client.ResourceV1().ResourceSlices().Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	for _, option := range options {
		option(slice)
	}
	_, err = s.client.ResourceV1().ResourceSlices().Update(s.ctx, slice, metav1.UpdateOptions{})
	s.must(err)
	s.pause(noticed)
}

func (s *stage) deleteSlice(name string) {
	s.must(s.client.ResourceV1().ResourceSlices().Delete(s.ctx, name, metav1.DeleteOptions{}))
	s.pause(noticed)
}

func ofNode(name string) sliceOption {
	return func(slice *resourcev1.ResourceSlice) { slice.Spec.NodeName = &name }
}

func ofAllNodes(slice *resourcev1.ResourceSlice) {
	slice.Spec.AllNodes = new(bool)
	*slice.Spec.AllNodes = true
}

func ofNodesWith(key, value string) sliceOption {
	return func(slice *resourcev1.ResourceSlice) { slice.Spec.NodeSelector = nodesWith(key, value) }
}

func nodesWith(key, value string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}
}

func nodesPerDevice(slice *resourcev1.ResourceSlice) {
	yes := true
	slice.Spec.PerDeviceNodeSelection = &yes
}

// inPool sets a pool of several slices, and its generation.
func inPool(name string, generation, slices int64) sliceOption {
	return func(slice *resourcev1.ResourceSlice) {
		slice.Spec.Pool = resourcev1.ResourcePool{Name: name, Generation: generation, ResourceSliceCount: slices}
	}
}

func with(name string, options ...deviceOption) sliceOption {
	return func(slice *resourcev1.ResourceSlice) {
		device := resourcev1.Device{Name: name}
		for _, option := range options {
			option(&device)
		}
		slice.Spec.Devices = append(slice.Spec.Devices, device)
	}
}

func withoutDevices(slice *resourcev1.ResourceSlice) { slice.Spec.Devices = nil }

// counters adds a set of shared counters; pairs are names and amounts.
func counters(set string, pairs ...string) sliceOption {
	return func(slice *resourcev1.ResourceSlice) {
		slice.Spec.SharedCounters = append(slice.Spec.SharedCounters, resourcev1.CounterSet{Name: set, Counters: counterMap(pairs)})
	}
}

func counterMap(pairs []string) map[string]resourcev1.Counter {
	amounts := make(map[string]resourcev1.Counter)
	for i := 0; i < len(pairs); i += 2 {
		amounts[pairs[i]] = resourcev1.Counter{Value: resource.MustParse(pairs[i+1])}
	}
	return amounts
}

func consuming(set string, pairs ...string) deviceOption {
	return func(device *resourcev1.Device) {
		device.ConsumesCounters = append(device.ConsumesCounters, resourcev1.DeviceCounterConsumption{CounterSet: set, Counters: counterMap(pairs)})
	}
}

func attribute(name, value string) deviceOption {
	return func(device *resourcev1.Device) {
		if device.Attributes == nil {
			device.Attributes = make(map[resourcev1.QualifiedName]resourcev1.DeviceAttribute)
		}
		device.Attributes[resourcev1.QualifiedName(name)] = resourcev1.DeviceAttribute{StringValue: &value}
	}
}

func capacity(name, amount string) deviceOption {
	return func(device *resourcev1.Device) {
		if device.Capacity == nil {
			device.Capacity = make(map[resourcev1.QualifiedName]resourcev1.DeviceCapacity)
		}
		device.Capacity[resourcev1.QualifiedName(name)] = resourcev1.DeviceCapacity{Value: resource.MustParse(amount)}
	}
}

// shared makes a device that several claims may use; of its memory they consume multiples of a step.
func shared(memory, step string) deviceOption {
	return func(device *resourcev1.Device) {
		yes := true
		device.AllowMultipleAllocations = &yes
		least := resource.MustParse(step)
		device.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {
			Value: resource.MustParse(memory),
			RequestPolicy: &resourcev1.CapacityRequestPolicy{
				Default:    &least,
				ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &least, Step: &least},
			}}}
	}
}

func deviceTaint(key string, effect resourcev1.DeviceTaintEffect) deviceOption {
	return func(device *resourcev1.Device) {
		// The API server would set the present time.
		added := metav1.NewTime(time.Unix(0, 0))
		device.Taints = append(device.Taints, resourcev1.DeviceTaint{Key: key, Effect: effect, TimeAdded: &added})
	}
}

func deviceOnNode(name string) deviceOption {
	return func(device *resourcev1.Device) { device.NodeName = &name }
}

func deviceOnNodesWith(key, value string) deviceOption {
	return func(device *resourcev1.Device) { device.NodeSelector = nodesWith(key, value) }
}

func deviceBindsToNode(device *resourcev1.Device) {
	yes := true
	device.BindsToNode = &yes
}

// becomingReady makes a device that its driver has to prepare.
func becomingReady(device *resourcev1.Device) {
	device.BindingConditions = []string{"example.com/attached"}
	device.BindingFailureConditions = []string{"example.com/broken"}
}

// --- claims ---

type claimOption func(*resourcev1.ResourceClaimSpec)
type requestOption func(*resourcev1.ExactDeviceRequest)

// deviceClaim creates a claim.
func (s *stage) deviceClaim(name string, options ...claimOption) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, option := range options {
		option(&claim.Spec)
	}
	_, err := s.client.ResourceV1().ResourceClaims(s.ns).Create(s.ctx, claim, metav1.CreateOptions{})
	s.must(err)
	s.pause(noticed)
}

func (s *stage) deleteDeviceClaim(name string) {
	s.must(s.client.ResourceV1().ResourceClaims(s.ns).Delete(s.ctx, name, metav1.DeleteOptions{}))
	s.pause(noticed)
}

// claimTemplate creates a template, from which a controller makes a claim for each pod.
func (s *stage) claimTemplate(name string, options ...claimOption) {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, option := range options {
		option(&template.Spec.Spec)
	}
	_, err := s.client.ResourceV1().ResourceClaimTemplates(s.ns).Create(s.ctx, template, metav1.CreateOptions{})
	s.must(err)
}

func selector(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

// request adds a request for one device of a class.
func request(name, class string, options ...requestOption) claimOption {
	return func(spec *resourcev1.ResourceClaimSpec) {
		exact := &resourcev1.ExactDeviceRequest{DeviceClassName: class}
		for _, option := range options {
			option(exact)
		}
		spec.Devices.Requests = append(spec.Devices.Requests, resourcev1.DeviceRequest{Name: name, Exactly: exact})
	}
}

// alternatives adds a request for the first available one of several requests.
func alternatives(name string, options ...claimOption) claimOption {
	return func(spec *resourcev1.ResourceClaimSpec) {
		var each resourcev1.ResourceClaimSpec
		for _, option := range options {
			option(&each)
		}
		request := resourcev1.DeviceRequest{Name: name}
		for _, sub := range each.Devices.Requests {
			request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
				Name: sub.Name, DeviceClassName: sub.Exactly.DeviceClassName, Selectors: sub.Exactly.Selectors,
				AllocationMode: sub.Exactly.AllocationMode, Count: sub.Exactly.Count,
				Tolerations: sub.Exactly.Tolerations, Capacity: sub.Exactly.Capacity})
		}
		spec.Devices.Requests = append(spec.Devices.Requests, request)
	}
}

func count(number int64) requestOption {
	return func(request *resourcev1.ExactDeviceRequest) {
		request.AllocationMode, request.Count = resourcev1.DeviceAllocationModeExactCount, number
	}
}

func allDevices(request *resourcev1.ExactDeviceRequest) {
	request.AllocationMode = resourcev1.DeviceAllocationModeAll
}

func matching(expression string) requestOption {
	return func(request *resourcev1.ExactDeviceRequest) {
		request.Selectors = append(request.Selectors, selector(expression))
	}
}

func asAdmin(request *resourcev1.ExactDeviceRequest) {
	yes := true
	request.AdminAccess = &yes
}

func toleratingTaint(key string) requestOption {
	return func(request *resourcev1.ExactDeviceRequest) {
		request.Tolerations = append(request.Tolerations, resourcev1.DeviceToleration{Key: key, Operator: resourcev1.DeviceTolerationOpExists})
	}
}

func consumingMemory(amount string) requestOption {
	return func(request *resourcev1.ExactDeviceRequest) {
		request.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(amount)}}
	}
}

func sameAttribute(name string, requests ...string) claimOption {
	return constraint(func(c *resourcev1.DeviceConstraint, full *resourcev1.FullyQualifiedName) { c.MatchAttribute = full }, name, requests)
}

func distinctAttribute(name string, requests ...string) claimOption {
	return constraint(func(c *resourcev1.DeviceConstraint, full *resourcev1.FullyQualifiedName) { c.DistinctAttribute = full }, name, requests)
}

func constraint(set func(*resourcev1.DeviceConstraint, *resourcev1.FullyQualifiedName), name string, requests []string) claimOption {
	return func(spec *resourcev1.ResourceClaimSpec) {
		full := resourcev1.FullyQualifiedName(gpuDriver + "/" + name)
		c := resourcev1.DeviceConstraint{Requests: requests}
		set(&c, &full)
		spec.Devices.Constraints = append(spec.Devices.Constraints, c)
	}
}

// claiming lets a pod use claims.
func claiming(names ...string) podOption {
	return func(p *v1.Pod) {
		for _, name := range names {
			addPodClaim(p, v1.PodResourceClaim{Name: name, ResourceClaimName: &name})
		}
	}
}

// claimingFrom lets a pod use a claim made from a template of the same name.
func claimingFrom(template string) podOption {
	return func(p *v1.Pod) {
		addPodClaim(p, v1.PodResourceClaim{Name: template, ResourceClaimTemplateName: &template})
	}
}

func addPodClaim(p *v1.Pod, claim v1.PodResourceClaim) {
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, claim)
	container := &p.Spec.Containers[0].Resources
	container.Claims = append(container.Claims, v1.ResourceClaim{Name: claim.Name})
}

// claimOf waits until the controller has made the claim of a pod from a template, and returns its name.
func (s *stage) claimOf(pod, template string) (name string) {
	s.until("a claim is made for pod "+pod, func() bool {
		history := s.history(pod)
		if history.latest == nil {
			return false
		}
		for _, status := range history.latest.Status.ResourceClaimStatuses {
			if status.Name == template && status.ResourceClaimName != nil {
				name = *status.ResourceClaimName
			}
		}
		return name != "" && s.claimState(name) != nil
	})
	return name
}

// setCondition writes a condition of all allocated devices of a claim, like their driver.
func (s *stage) setCondition(claim, kind string, value metav1.ConditionStatus, reason, message string) {
	found, err := s.client.ResourceV1().ResourceClaims(s.ns).Get(s.ctx, claim, metav1.GetOptions{})
	s.must(err)
	found.Status.Devices = nil
	for _, result := range found.Status.Allocation.Devices.Results {
		found.Status.Devices = append(found.Status.Devices, resourcev1.AllocatedDeviceStatus{
			Driver: result.Driver, Pool: result.Pool, Device: result.Device,
			Conditions: []metav1.Condition{{Type: kind, Status: value, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Unix(0, 0))}}})
	}
	_, err = s.client.ResourceV1().ResourceClaims(s.ns).UpdateStatus(s.ctx, found, metav1.UpdateOptions{})
	s.must(err)
}

// admitAdmins allows claims with admin access in the scenario's namespace.
func (s *stage) admitAdmins() {
	_, err := s.client.CoreV1().Namespaces().Patch(s.ctx, s.ns, types.MergePatchType, []byte(`{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`), metav1.PatchOptions{})
	s.must(err)
}

// beforeAllocation runs a step when the scheduler writes a claim's status, before the API server receives it.
func (s *stage) beforeAllocation(claim string, do func()) {
	s.lane.proxy.once("/resourceclaims/"+claim+"/status", carryAfter(do))
}

// announced delays the write of the claim's allocation on the node until the pod is nominated there. Otherwise
// the nomination, which the scheduler writes at the same time, may be overtaken by the binding and is then not
// written.
func (s *stage) announced(claim, pod, node string) {
	s.lane.proxy.containing("/resourceclaims/"+claim+"/status", node, carryAfter(func() { s.expected(pod, node) }))
}

// deviceLeftovers are the kinds of objects that scenarios with devices leave behind.
func (s *stage) deviceLeftovers(ctx context.Context) []stored {
	if !s.lane.served.Claims {
		return nil
	}
	api := s.client.ResourceV1()
	claims, templates := api.ResourceClaims(s.ns), api.ResourceClaimTemplates(s.ns)
	all, now := metav1.ListOptions{}, metav1.DeleteOptions{}
	kinds := []stored{{
		func() ([]string, error) { l, err := claims.List(ctx, all); return namesOf(l.Items, err) },
		func(name string, patch []byte) error {
			_, err := claims.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		},
		func(name string) error { return claims.Delete(ctx, name, now) },
	}, {
		list:   func() ([]string, error) { l, err := templates.List(ctx, all); return namesOf(l.Items, err) },
		remove: func(name string) error { return templates.Delete(ctx, name, now) },
	}, {
		list:   func() ([]string, error) { l, err := api.ResourceSlices().List(ctx, all); return namesOf(l.Items, err) },
		remove: func(name string) error { return api.ResourceSlices().Delete(ctx, name, now) },
	}, {
		list:   func() ([]string, error) { l, err := api.DeviceClasses().List(ctx, all); return namesOf(l.Items, err) },
		remove: func(name string) error { return api.DeviceClasses().Delete(ctx, name, now) },
	}}
	if !s.lane.served.TaintRules {
		return kinds
	}
	return append(kinds, stored{
		list: func() ([]string, error) {
			l, err := api.DeviceTaintRules().List(ctx, all)
			return namesOf(l.Items, err)
		},
		remove: func(name string) error { return api.DeviceTaintRules().Delete(ctx, name, now) },
	})
}

// watchClaims starts to record the namespace's claims.
func (s *stage) watchClaims() (stop func()) {
	if !s.lane.served.Claims {
		return func() {}
	}
	claims := s.client.ResourceV1().ResourceClaims(s.ns)
	list, err := claims.List(s.ctx, metav1.ListOptions{})
	s.must(err)
	watcher, err := claims.Watch(s.ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	s.must(err)
	go s.listenToClaims(watcher)
	return watcher.Stop
}

// doubleAllocations lists devices that more than one claim has as a whole.
func (s *stage) doubleAllocations() (found []string) {
	list, err := s.client.ResourceV1().ResourceClaims(s.ns).List(s.ctx, metav1.ListOptions{})
	s.must(err)
	users := make(map[string][]string)
	for _, claim := range list.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.ShareID == nil && (result.AdminAccess == nil || !*result.AdminAccess) {
				device := strings.Join([]string{result.Driver, result.Pool, result.Device}, "/")
				users[device] = append(users[device], claim.Name)
			}
		}
	}
	for _, device := range slices.Sorted(maps.Keys(users)) {
		if len(users[device]) > 1 {
			found = append(found, fmt.Sprintf("%s is allocated to %v", device, users[device]))
		}
	}
	return found
}

func (s *stage) claimGone(name string) {
	s.until("claim "+name+" is gone", func() bool {
		_, err := s.client.ResourceV1().ResourceClaims(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	s.pause(noticed)
}

// claimNamed returns the name of the claim with a label.
func (s *stage) claimNamed(label string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, history := range s.claims {
		if history.label == label {
			return history.name
		}
	}
	controlplane.Must(fmt.Errorf("no claim is called %q", label))
	return ""
}

// patchDeviceClaim applies a JSON patch to a claim.
func (s *stage) patchDeviceClaim(name, patch string) {
	_, err := s.client.ResourceV1().ResourceClaims(s.ns).Patch(s.ctx, name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// allocate allocates a device to the request r of a claim, like another scheduler.
func (s *stage) allocate(claim, pool, device string) {
	found, err := s.client.ResourceV1().ResourceClaims(s.ns).Get(s.ctx, claim, metav1.GetOptions{})
	s.must(err)
	found.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: gpuDriver, Pool: pool, Device: device}}}}
	// The controller would deallocate a claim without users.
	found.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "foreign", UID: "00000000-0000-0000-0000-000000000000"}}
	_, err = s.client.ResourceV1().ResourceClaims(s.ns).UpdateStatus(s.ctx, found, metav1.UpdateOptions{})
	s.must(err)
}

// forget removes what was recorded, because it varies between runs.
func (s *stage) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.pods, s.claims = nil, nil
}
