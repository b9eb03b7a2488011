package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const selector = "churn=on"

// follows keeps informers of every resource that discovery offers. At each line of input it waits until
// all of them equal what lists say.
func follows(all func(context.Context, *rest.Config, []schema.GroupVersionResource) ([]*follower, error)) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		resources, err := watchable(config)
		if err != nil {
			return err
		}
		followers, err := all(ctx, config, resources)
		if err != nil {
			return err
		}
		say(map[string]any{"following": len(followers)})
		input := bufio.NewScanner(os.Stdin)
		for input.Scan() {
			claim(input.Text(), func() error {
				for _, one := range followers {
					if err := eventually(ctx, func() error { return one.judge(ctx) }); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return input.Err()
	}
}

// followObjects follows whole objects, and a selection of teams.
func followObjects(ctx context.Context, config *rest.Config, resources []schema.GroupVersionResource) ([]*follower, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	whole := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	selected := func(options *metav1.ListOptions) { options.LabelSelector = selector }
	some := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, "", selected)
	var followers []*follower
	for _, resource := range resources {
		list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.Resource(resource).List(ctx, options)
		}
		followers = append(followers, follow(resource.Resource, whole.ForResource(resource).Informer(), list, ""))
		if resource == teams {
			followers = append(followers, follow("some teams", some.ForResource(resource).Informer(), list, selector))
		}
	}
	whole.Start(ctx.Done())
	some.Start(ctx.Done())
	return followers, nil
}

func followMetadata(ctx context.Context, config *rest.Config, resources []schema.GroupVersionResource) ([]*follower, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := metadatainformer.NewSharedInformerFactory(client, 0)
	var followers []*follower
	for _, resource := range resources {
		list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.Resource(resource).List(ctx, options)
		}
		followers = append(followers, follow(resource.Resource, factory.ForResource(resource).Informer(), list, ""))
	}
	factory.Start(ctx.Done())
	return followers, nil
}

func watchable(config *rest.Config) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := discovery.ServerPreferredResources(client)
	if err != nil {
		return nil, err
	}
	can := discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}
	found, err := discovery.GroupVersionResources(discovery.FilteredBy(can, lists))
	if err != nil {
		return nil, err
	}
	resources := make([]schema.GroupVersionResource, 0, len(found))
	for resource := range found {
		resources = append(resources, resource)
	}
	return resources, nil
}

type lister func(context.Context, metav1.ListOptions) (runtime.Object, error)

// follower is an informer, and what its handlers were told beside it.
type follower struct {
	name     string
	informer cache.SharedIndexInformer
	list     lister
	selector string

	lock   sync.Mutex
	told   map[string]string
	wrongs []string
}

func follow(name string, informer cache.SharedIndexInformer, list lister, selector string) *follower {
	one := &follower{name: name, informer: informer, list: list, selector: selector, told: map[string]string{}}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { one.tell("added", object, false) },
		UpdateFunc: func(_, object any) { one.tell("updated", object, true) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			one.tell("deleted", object, true)
		},
	}); err != nil {
		panic(err)
	}
	return one
}

// tell notes what a handler heard; an addition of what is there and the end of what is not are wrong.
func (f *follower) tell(what string, object any, wasThere bool) {
	key, version := identity(object)
	f.lock.Lock()
	defer f.lock.Unlock()
	if _, isThere := f.told[key]; isThere != wasThere {
		f.wrongs = append(f.wrongs, fmt.Sprintf("%s: %s %s at %s", f.name, what, key, version))
	}
	if what == "deleted" {
		delete(f.told, key)
	} else {
		f.told[key] = version
	}
}

func identity(object any) (key, version string) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	return accessor.GetNamespace() + "/" + accessor.GetName(), accessor.GetResourceVersion()
}

func (f *follower) judge(ctx context.Context) error {
	answer, err := f.list(ctx, metav1.ListOptions{LabelSelector: f.selector})
	if err != nil {
		return err
	}
	listed, err := meta.ExtractList(answer)
	if err != nil {
		return err
	}
	versions := map[string]string{}
	for _, object := range listed {
		key, version := identity(object)
		versions[key] = version
		cached, isThere, err := f.informer.GetStore().GetByKey(trimmed(key))
		if err != nil {
			return err
		}
		if !isThere || !reflect.DeepEqual(untyped(cached), untyped(object)) {
			return fmt.Errorf("%s: %s is listed as %v and cached as %v", f.name, key, object, cached)
		}
	}
	if keys := f.informer.GetStore().ListKeys(); len(keys) != len(listed) {
		return fmt.Errorf("%s: %d are listed, %d are cached", f.name, len(listed), len(keys))
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if !reflect.DeepEqual(f.told, versions) {
		return fmt.Errorf("%s: listed are %v, handlers know %v", f.name, versions, f.told)
	}
	return expect(len(f.wrongs) == 0, "%v", slices.Clone(f.wrongs))
}

// untyped takes the kind from what is no more than metadata: client-go reads it in lists alone.
func untyped(object any) any {
	if parts, ok := object.(*metav1.PartialObjectMetadata); ok {
		return &metav1.PartialObjectMetadata{ObjectMeta: parts.ObjectMeta}
	}
	return object
}

// trimmed is the key as caches have it: without a slash where there is no namespace.
func trimmed(key string) string {
	if key[0] == '/' {
		return key[1:]
	}
	return key
}
