package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	clientwatch "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
)

const group = "management.gitplane.dev"

var teams = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "teams"}

func team(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1",
		"kind":       "Team",
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}}
}

// writes does with the dynamic client what controllers do.
func writes(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	api := client.Resource(teams)
	claim("a hundred increments by eight writers who retry on conflict are all there", func() error {
		return increments(ctx, api)
	})
	claim("patches of every type that there is for custom resources do what they say", func() error {
		return patches(ctx, api)
	})
	claim("apply merges, conflicts, forces and gives up, and extracts from the schema", func() error {
		return applies(ctx, config, api)
	})
	claim("errors are of the kinds that client-go tells apart", func() error { return failures(ctx, api) })
	claim("a pager goes through all pages", func() error { return pages(ctx, api) })
	claim("a watch until a condition sees it, and one that retries resumes", func() error {
		return watches(ctx, api)
	})
	claim("a collection is deleted by its selector", func() error {
		selected := metav1.ListOptions{LabelSelector: "made=here"}
		if err := api.DeleteCollection(ctx, metav1.DeleteOptions{}, selected); err != nil {
			return err
		}
		return eventually(ctx, func() error {
			left, err := api.List(ctx, selected)
			if err != nil {
				return err
			}
			return expect(len(left.Items) == 0, "%d are left", len(left.Items))
		})
	})
	return nil
}

const writers, increased = 8, "example.com/count"

func increments(ctx context.Context, api dynamic.ResourceInterface) error {
	if _, err := api.Create(ctx, team("counted", map[string]any{}), metav1.CreateOptions{}); err != nil {
		return err
	}
	// The default of five steps is for one or two rivals.
	backoff := wait.Backoff{Steps: 1000, Duration: time.Millisecond, Jitter: 1}
	var group sync.WaitGroup
	failed := make(chan error, 100)
	for n := range writers {
		group.Go(func() {
			for i := n; i < 100; i += writers {
				failed <- retry.RetryOnConflict(backoff, func() error {
					object, err := api.Get(ctx, "counted", metav1.GetOptions{})
					if err != nil {
						return err
					}
					count, _ := strconv.Atoi(object.GetAnnotations()[increased])
					object.SetAnnotations(map[string]string{increased: strconv.Itoa(count + 1)})
					_, err = api.Update(ctx, object, metav1.UpdateOptions{})
					return err
				})
			}
		})
	}
	group.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	object, err := api.Get(ctx, "counted", metav1.GetOptions{})
	if err != nil {
		return err
	}
	count := object.GetAnnotations()[increased]
	return expect(count == "100", "counted %s", count)
}

func patches(ctx context.Context, api dynamic.ResourceInterface) error {
	if _, err := api.Create(ctx, team("patched", map[string]any{"displayName": "One"}), metav1.CreateOptions{}); err != nil {
		return err
	}
	merge := []byte(`{"metadata":{"labels":{"made":"here"}},"spec":{"users":["ada"]}}`)
	if _, err := api.Patch(ctx, "patched", types.MergePatchType, merge, metav1.PatchOptions{}); err != nil {
		return err
	}
	operations := []byte(`[{"op":"test","path":"/spec/users/0","value":"ada"},{"op":"add","path":"/spec/users/-","value":"bob"}]`)
	object, err := api.Patch(ctx, "patched", types.JSONPatchType, operations, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	users, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "users")
	if len(users) != 2 {
		return fmt.Errorf("users are %v", users)
	}
	_, err = api.Patch(ctx, "patched", types.StrategicMergePatchType, merge, metav1.PatchOptions{})
	return expect(apierrors.IsUnsupportedMediaType(err), "a strategic merge patch: %v", err)
}

func applies(ctx context.Context, config *rest.Config, api dynamic.ResourceInterface) error {
	one := metav1.ApplyOptions{FieldManager: "one"}
	two := metav1.ApplyOptions{FieldManager: "two"}
	first := team("applied", map[string]any{"displayName": "One", "users": []any{"ada"}})
	if _, err := api.Apply(ctx, "applied", first, one); err != nil {
		return err
	}
	second := team("applied", map[string]any{"displayName": "Two", "users": []any{"bob"}})
	_, err := api.Apply(ctx, "applied", second, two)
	if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return fmt.Errorf("a conflict: %v", err)
	}
	object, err := api.Apply(ctx, "applied", second, metav1.ApplyOptions{FieldManager: "two", Force: true})
	if err != nil {
		return err
	}
	users, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "users")
	if len(users) != 2 {
		return fmt.Errorf("the set is not merged: %v", users)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	extractor, err := applymeta.NewUnstructuredExtractor(client)
	if err != nil {
		return err
	}
	own, err := extractor.Extract(object, "one")
	if err != nil {
		return err
	}
	if spec := fmt.Sprint(own.Object["spec"]); spec != "map[users:[ada]]" {
		return fmt.Errorf("what the first owns is %s", spec)
	}
	// Extract, change, apply: the loop of controllers.
	unstructured.RemoveNestedField(own.Object, "spec", "users")
	if err := unstructured.SetNestedField(own.Object, "A team", "spec", "description"); err != nil {
		return err
	}
	if object, err = api.Apply(ctx, "applied", own, one); err != nil {
		return err
	}
	spec, _ := json.Marshal(object.Object["spec"])
	wanted := `{"description":"A team","displayName":"Two","users":["bob"]}`
	if string(spec) != wanted {
		return fmt.Errorf("%s, not %s", spec, wanted)
	}
	_, err = api.ApplyStatus(ctx, "applied", own, one)
	return expect(apierrors.IsMethodNotSupported(err), "status, which only the daemon writes: %v", err)
}

func failures(ctx context.Context, api dynamic.ResourceInterface) error {
	_, missing := api.Get(ctx, "nobody", metav1.GetOptions{})
	_, again := api.Create(ctx, team("patched", map[string]any{}), metav1.CreateOptions{})
	_, invalid := api.Create(ctx, team("Not A Name", map[string]any{}), metav1.CreateOptions{})
	stale := team("patched", map[string]any{"displayName": "Stale"})
	stale.SetResourceVersion("1")
	_, conflict := api.Update(ctx, stale, metav1.UpdateOptions{})
	_, gone := api.List(ctx, metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	uid := types.UID("another")
	other := api.Delete(ctx, "patched", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	return errors.Join(
		expect(apierrors.IsNotFound(missing), "missing: %v", missing),
		expect(apierrors.IsAlreadyExists(again), "again: %v", again),
		expect(apierrors.IsInvalid(invalid), "invalid: %v", invalid),
		expect(apierrors.IsConflict(conflict), "conflict: %v", conflict),
		expect(apierrors.IsResourceExpired(gone), "gone: %v", gone),
		expect(apierrors.IsConflict(other), "another uid: %v", other),
	)
}

func pages(ctx context.Context, api dynamic.ResourceInterface) error {
	for i := range 7 {
		object := team(fmt.Sprintf("paged-%d", i), map[string]any{})
		object.SetLabels(map[string]string{"made": "here"})
		if _, err := api.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	asked, seen := 0, 0
	list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		asked++
		return api.List(ctx, options)
	}))
	list.PageSize = 2
	err := list.EachListItem(ctx, metav1.ListOptions{LabelSelector: "made=here"}, func(runtime.Object) error {
		seen++
		return nil
	})
	if err != nil {
		return err
	}
	return expect(seen == 8 && asked == 4, "%d objects in %d pages", seen, asked)
}

func watches(ctx context.Context, api dynamic.ResourceInterface) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "awaited").String()}
	first, err := api.List(ctx, options)
	if err != nil {
		return err
	}
	retrying, err := retryWatcher(ctx, api, options, first.GetResourceVersion())
	if err != nil {
		return err
	}
	if _, err := api.Create(ctx, team("awaited", map[string]any{}), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := api.Delete(ctx, "awaited", metav1.DeleteOptions{}); err != nil {
		return err
	}
	var kinds []watch.EventType
	_, err = clientwatch.UntilWithoutRetry(ctx, retrying, func(event watch.Event) (bool, error) {
		kinds = append(kinds, event.Type)
		return event.Type == watch.Deleted, nil
	})
	if err != nil {
		return err
	}
	return expect(fmt.Sprint(kinds) == "[ADDED DELETED]", "%v", kinds)
}
