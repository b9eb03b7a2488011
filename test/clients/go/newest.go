//go:build !older

package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clientwatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// The calls whose form differs between the newest versions and those of older.go.

func newerRecorder(_ context.Context, manager manager.Manager, _ *rest.Config, name string) (events.EventRecorder, error) {
	return manager.GetEventRecorder(name), nil
}

func startRecording(ctx context.Context, broadcaster events.EventBroadcaster) error {
	return broadcaster.StartRecordingToSinkWithContext(ctx)
}

func apply(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("clients"))
}

func retryWatcher(ctx context.Context, api dynamic.ResourceInterface, options metav1.ListOptions, version string) (*clientwatch.RetryWatcher, error) {
	access := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, more metav1.ListOptions) (watch.Interface, error) {
			more.FieldSelector = options.FieldSelector
			return api.Watch(ctx, more)
		},
	}
	return clientwatch.NewRetryWatcherWithContext(ctx, version, access)
}
