package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	core "k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/loadvariationriskbalancing"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/lowriskovercommitment"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/targetloadpacking"
)

type plugin struct {
	name string
	make func(context.Context, runtime.Object, framework.Handle) (framework.Plugin, error)
}

var plugins = []plugin{
	{targetloadpacking.Name, targetloadpacking.New},
	{loadvariationriskbalancing.Name, loadvariationriskbalancing.New},
	{lowriskovercommitment.Name, lowriskovercommitment.New},
}

// watcherServer is a load-watcher whose response is set by the test.
type watcherServer struct {
	server *httptest.Server
	body   []byte
}

func startWatcher() *watcherServer {
	w := &watcherServer{}
	w.server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		_, _ = response.Write(w.body)
	}))
	return w
}

// evaluate builds the plugin, which requests the measurements once, and fills in the scores. The plugins keep their
// arguments in global variables, so one scenario must be complete before the next one begins.
func (s *scenario) evaluate(plugin plugin, watcher *watcherServer) error {
	var err error
	if watcher.body, err = json.Marshal(&s.Watcher); err != nil {
		return err
	}
	args, err := s.decodeArgs(watcher.server.URL)
	if err != nil {
		return err
	}
	handle := &fakeHandle{}
	built, err := plugin.make(context.Background(), args, handle)
	if err != nil {
		return err
	}
	for _, node := range s.Nodes {
		for _, pod := range node.Pods {
			handle.podAdded(pod)
		}
	}
	for _, pod := range s.Pods {
		scores := make([]int64, len(s.Nodes))
		for i, node := range s.Nodes {
			info := framework.NewNodeInfo(node.Pods...)
			info.SetNode(node.Node)
			score, status := built.(framework.ScorePlugin).Score(context.Background(), framework.NewCycleState(), pod, info)
			if !status.IsSuccess() {
				return status.AsError()
			}
			scores[i] = score
		}
		s.Scores = append(s.Scores, scores)
	}
	return nil
}

// decodeArgs reads the arguments as from a configuration file, with the defaults of scheduler-plugins.
func (s *scenario) decodeArgs(watcherAddress string) (runtime.Object, error) {
	given := map[string]any{
		"apiVersion":     "kubescheduler.config.k8s.io/v1",
		"kind":           s.Plugin + "Args",
		"watcherAddress": watcherAddress,
	}
	for name, value := range s.Args {
		given[name] = value
	}
	text, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	args, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("arguments %s: %w", text, err)
	}
	return args, nil
}

// fakeHandle passes assigned pods to the plugins' event handlers, without an API server and its delays.
type fakeHandle struct {
	framework.Handle
	handlers []cache.ResourceEventHandler
}

func (h *fakeHandle) podAdded(pod *v1.Pod) {
	for _, handler := range h.handlers {
		handler.OnAdd(pod, false)
	}
}

func (h *fakeHandle) SharedInformerFactory() informers.SharedInformerFactory {
	return fakeFactory{handle: h}
}

type fakeFactory struct {
	informers.SharedInformerFactory
	handle *fakeHandle
}

func (f fakeFactory) Core() core.Interface { return fakeCore{handle: f.handle} }

type fakeCore struct {
	core.Interface
	handle *fakeHandle
}

func (c fakeCore) V1() corev1.Interface { return fakeCoreV1{handle: c.handle} }

type fakeCoreV1 struct {
	corev1.Interface
	handle *fakeHandle
}

func (c fakeCoreV1) Pods() corev1.PodInformer { return fakePods{handle: c.handle} }

type fakePods struct {
	corev1.PodInformer
	handle *fakeHandle
}

func (p fakePods) Informer() cache.SharedIndexInformer { return fakeInformer{handle: p.handle} }

type fakeInformer struct {
	cache.SharedIndexInformer
	handle *fakeHandle
}

func (i fakeInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handle.handlers = append(i.handle.handlers, handler)
	return nil, nil
}
