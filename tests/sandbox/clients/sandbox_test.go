// Package clients runs real clients on Berth's sandbox: client-go's informers and leader election, controller-runtime's
// manager, and kube-scheduler.
//
// BERTH is the path of the program; without it the tests are skipped.
package clients

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type cluster struct {
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
	process    *os.Process
}

// start runs a sandbox until the test ends.
func start(t *testing.T, flags ...string) *cluster {
	t.Helper()
	berth := os.Getenv("BERTH")
	if berth == "" {
		t.Skip("BERTH does not name the program")
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	args := append([]string{"sandbox", "--port=0", "--pod-start=0", "--pod-stop=0", "--kubeconfig=" + kubeconfig}, flags...)
	run(t, berth, args...)
	c := &cluster{kubeconfig: kubeconfig, process: last(t)}
	within(t, 10*time.Second, "the kubeconfig", func() bool {
		stat, err := os.Stat(kubeconfig)
		return err == nil && stat.Size() > 0
	})
	var err error
	if c.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		t.Fatal(err)
	}
	c.config.QPS = -1
	c.client = kubernetes.NewForConfigOrDie(c.config)
	return c
}

var started = map[*testing.T][]*exec.Cmd{}

func last(t *testing.T) *os.Process { return started[t][len(started[t])-1].Process }

// run starts a program that ends with the test at the latest; the returned function ends it earlier.
func run(t *testing.T, program string, args ...string) (stop func()) {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	started[t] = append(started[t], command)
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = command.Process.Signal(syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = command.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = command.Process.Kill()
			<-done
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			_, _ = log.Seek(0, io.SeekStart)
			text, _ := io.ReadAll(log)
			t.Logf("%s said:\n%s", filepath.Base(program), tail(text, 4000))
		}
		log.Close()
	})
	return stop
}

func tail(text []byte, most int) []byte { return text[max(0, len(text)-most):] }

// within waits for a condition.
func within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("%s: not within %s", what, limit)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func (c *cluster) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	return must[*corev1.ConfigMap](t)(c.client.CoreV1().ConfigMaps("default").Create(context.Background(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"made": "by-test"}}},
		metav1.CreateOptions{}))
}

func pod(name, scheduler string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			SchedulerName: scheduler,
			Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")},
			}}},
		},
	}
}

func (c *cluster) pods(t *testing.T, prefix, scheduler string, count int) {
	t.Helper()
	for i := range count {
		must[*corev1.Pod](t)(c.client.CoreV1().Pods("default").Create(context.Background(),
			pod(fmt.Sprintf("%s-%d", prefix, i), scheduler), metav1.CreateOptions{}))
	}
}
