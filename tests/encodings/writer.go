package main

import (
	"bytes"
	"fmt"
	"io"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// writer writes records to a file and keeps the first error.
type writer struct {
	out io.Writer
	err error
}

func (w *writer) record(what string, json, protobuf []byte) {
	if w.err != nil {
		return
	}
	if _, w.err = fmt.Fprintf(w.out, "%s %d %d\n", what, len(json), len(protobuf)); w.err != nil {
		return
	}
	if _, w.err = w.out.Write(json); w.err == nil {
		_, w.err = w.out.Write(protobuf)
	}
}

func (w *writer) object(what string, object runtime.Object) {
	w.record(what, w.encode(object, runtime.ContentTypeJSON), w.encode(object, runtime.ContentTypeProtobuf))
}

func (w *writer) event(what string, eventType watch.EventType, object runtime.Object) {
	w.record(what, w.frame(eventType, object, runtime.ContentTypeJSON), w.frame(eventType, object, runtime.ContentTypeProtobuf))
}

func (w *writer) serializer(mediaType string) runtime.SerializerInfo {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok && w.err == nil {
		w.err = fmt.Errorf("no serializer for %s", mediaType)
	}
	return info
}

func (w *writer) encode(object runtime.Object, mediaType string) []byte {
	if w.err != nil {
		return nil
	}
	var text []byte
	text, w.err = runtime.Encode(scheme.Codecs.EncoderForVersion(w.serializer(mediaType).Serializer, v1.SchemeGroupVersion), object)
	return text
}

// frame is one event in the format of a watch stream, as written by the API server's watch handler.
func (w *writer) frame(eventType watch.EventType, object runtime.Object, mediaType string) []byte {
	embedded := w.encode(object, mediaType)
	if w.err != nil {
		return nil
	}
	event := &metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: embedded}}
	stream := w.serializer(mediaType).StreamSerializer
	var text, framed bytes.Buffer
	if w.err = stream.Serializer.Encode(event, &text); w.err != nil {
		return nil
	}
	_, w.err = stream.Framer.NewFrameWriter(&framed).Write(text.Bytes())
	return framed.Bytes()
}
