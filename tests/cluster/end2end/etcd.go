package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/client/v3"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"berth.test/cluster/controlplane"
)

// The reader for runs with a failing API server: it reads etcd directly, so that no restart, cut or
// compaction can hide a change.
type etcdWatch struct {
	client *clientv3.Client
	cancel context.CancelFunc
}

func (w *etcdWatch) Stop() {
	w.cancel()
	w.client.Close()
}

// The reader watches all kinds at once, so that their changes arrive in the order in which they happened.
const (
	allInEtcd    = "/registry/"
	podsInEtcd   = allInEtcd + "pods/"
	claimsInEtcd = allInEtcd + "resourceclaims/"
	leaseInEtcd  = allInEtcd + "leases/kube-system/" + controlplane.LeaseName
)

func startEtcdReader(ctx context.Context, endpoint string, client kubernetes.Interface) (*reader, *clientv3.Client, error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reader{client: client, watcher: &etcdWatch{etcd, cancel}, node: make(map[string]string), latest: make(map[string]*v1.Pod), holders: make(map[string]string), devices: controlplane.NewDeviceState()}
	changes := etcd.Watch(ctx, allInEtcd, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	if first := <-changes; first.Err() != nil {
		cancel()
		return nil, nil, first.Err()
	}
	events := make(chan watch.Event)
	go r.read(events)
	go func() {
		defer close(events)
		for response := range changes {
			if err := response.Err(); err != nil {
				r.fail(fmt.Errorf("the watch of etcd broke: %w", err))
				return
			}
			for _, change := range response.Events {
				if key := string(change.Kv.Key); !strings.HasPrefix(key, podsInEtcd) && !strings.HasPrefix(key, claimsInEtcd) && key != leaseInEtcd {
					continue
				}
				event, err := eventOf(change)
				if err != nil {
					r.fail(err)
					return
				}
				events <- event
			}
		}
	}()
	return r, etcd, nil
}

func eventOf(change *clientv3.Event) (watch.Event, error) {
	kind, value := watch.Modified, change.Kv.Value
	switch {
	case change.Type == clientv3.EventTypeDelete:
		kind = watch.Deleted
		if change.PrevKv == nil {
			return watch.Event{}, fmt.Errorf("etcd does not say what %s was", change.Kv.Key)
		}
		value = change.PrevKv.Value
	case change.IsCreate():
		kind = watch.Added
	}
	object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), value)
	if err != nil {
		return watch.Event{}, fmt.Errorf("decoding %s: %w", change.Kv.Key, err)
	}
	return watch.Event{Type: kind, Object: object}, nil
}

func (r *reader) fail(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.err = err
}
