// Command encodings writes pods and nodes in the form of an API server: each in JSON and in protobuf, by Kubernetes'
// serializers. Random objects have values in every field; --oracle adds the clusters of the oracle.
//
//	encodings --out FILE[.zst] [--objects 2000] [--seed 1] [--oracle PROGRAM --clusters 50] [--deployed 100]
//
// The file is a sequence of records: a line "WHAT BYTES-OF-JSON BYTES-OF-PROTOBUF", and the two texts. WHAT is Pod,
// Node, PodList, NodeList, PodEvent, NodeEvent (a frame of a watch with its length prefix) or Status.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func main() {
	path := flag.String("out", "", "the file to write")
	seed := flag.Int64("seed", 1, "seed of the random objects")
	objects := flag.Int("objects", 2000, "number of random objects")
	oracle := flag.String("oracle", "", "the oracle program; empty: no clusters")
	clusters := flag.Int("clusters", 50, "number of the oracle's clusters")
	pods := flag.Int("deployed", 0, "number of pods of a Deployment, alternately pending and running")
	flag.Parse()
	if err := run(*path, *seed, *objects, *oracle, *clusters, *pods); err != nil {
		fmt.Fprintln(os.Stderr, "encodings:", err)
		os.Exit(1)
	}
}

func run(path string, seed int64, objects int, oracle string, clusters, deployedPods int) error {
	if path == "" {
		return fmt.Errorf("--out is missing")
	}
	pods, nodes := draw(seed, objects)
	if oracle != "" {
		morePods, moreNodes, err := fromOracle(oracle, seed, clusters)
		if err != nil {
			return err
		}
		pods, nodes = append(pods, morePods...), append(nodes, moreNodes...)
	}
	for i := range deployedPods {
		node := ""
		if i%2 == 1 {
			node = fmt.Sprintf("node-%04d", i%50)
		}
		pods = append(pods, deployed(i, node))
	}
	var out bytes.Buffer
	if err := writeAll(&out, rand.New(rand.NewSource(seed)), pods, nodes); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if !strings.HasSuffix(path, ".zst") {
		_, err = file.Write(out.Bytes())
		return err
	}
	packed, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return err
	}
	if _, err := packed.Write(out.Bytes()); err != nil {
		return err
	}
	return packed.Close()
}

func writeAll(out io.Writer, random *rand.Rand, pods []*v1.Pod, nodes []*v1.Node) error {
	buffered := bufio.NewWriter(out)
	w := &writer{out: buffered}
	types := []watch.EventType{watch.Added, watch.Modified, watch.Deleted}
	podList := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7001", Continue: "next"}}
	for i, pod := range pods {
		w.object("Pod", pod)
		if i%4 == 0 {
			w.event("PodEvent", types[random.Intn(len(types))], pod)
		}
		if i%10 == 0 {
			podList.Items = append(podList.Items, *pod)
		}
	}
	nodeList := &v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "7002"}}
	for i, node := range nodes {
		w.object("Node", node)
		if i%4 == 0 {
			w.event("NodeEvent", types[random.Intn(len(types))], node)
		}
		if i%10 == 0 {
			nodeList.Items = append(nodeList.Items, *node)
		}
	}
	w.object("PodList", podList)
	w.object("PodList", &v1.PodList{})
	w.object("NodeList", nodeList)
	for _, annotations := range []map[string]string{nil, {metav1.InitialEventsAnnotationKey: "true"}} {
		meta := metav1.ObjectMeta{ResourceVersion: "7003", Annotations: annotations}
		w.event("PodEvent", watch.Bookmark, &v1.Pod{ObjectMeta: meta})
		w.event("NodeEvent", watch.Bookmark, &v1.Node{ObjectMeta: meta})
	}
	for _, status := range statuses() {
		w.object("Status", status)
		w.event("PodEvent", watch.Error, status)
	}
	if w.err != nil {
		return w.err
	}
	return buffered.Flush()
}

func statuses() []*metav1.Status {
	return []*metav1.Status{
		{Status: "Failure", Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old resource version: 1 (2)"},
		{Status: "Failure", Code: 504, Reason: metav1.StatusReasonTimeout, Message: "Timeout: Too large resource version: 9",
			Details: &metav1.StatusDetails{RetryAfterSeconds: 1, Causes: []metav1.StatusCause{
				{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}, {Field: "spec"}}}},
		{Status: "Failure", Code: 500, Message: "something"},
	}
}
