//go:build older

package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clientwatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// The calls of newest.go, for controller-runtime 0.16 and client-go 0.28.

// newerRecorder makes what a manager of this version does not offer.
func newerRecorder(ctx context.Context, manager manager.Manager, config *rest.Config, name string) (events.EventRecorder, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
	return broadcaster.NewRecorder(manager.GetScheme(), name), startRecording(ctx, broadcaster)
}

func startRecording(ctx context.Context, broadcaster events.EventBroadcaster) error {
	broadcaster.StartRecordingToSink(ctx.Done())
	return nil
}

func apply(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	return api.Patch(ctx, object.DeepCopy(), client.Apply, client.FieldOwner("clients"))
}

func retryWatcher(ctx context.Context, api dynamic.ResourceInterface, options metav1.ListOptions, version string) (*clientwatch.RetryWatcher, error) {
	return clientwatch.NewRetryWatcher(version, &cache.ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		},
		WatchFunc: func(more metav1.ListOptions) (watch.Interface, error) {
			more.FieldSelector = options.FieldSelector
			return api.Watch(ctx, more)
		},
	})
}
