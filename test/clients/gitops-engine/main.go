// Command gitops-engine does with the library of Argo CD what Argo CD does: it keeps a cache of all that
// is served, compares it with what is wanted, and brings the one to the other. Each line of its output
// says whether a claim holds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2/textlogger"
)

const (
	group    = "management.gitplane.dev"
	tracking = "example.com/app"
)

var (
	teams   = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "teams"}
	secrets = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "sharedsecrets"}
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gitops-engine KUBECONFIG")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func claim(words string, judge func() error) {
	found := map[string]string{"claim": words}
	if err := judge(); err != nil {
		found["error"] = err.Error()
	}
	line, _ := json.Marshal(found)
	fmt.Println(string(line))
}

func expect(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// app brings about what an application wants.
type app struct {
	cluster cache.ClusterCache
	config  *rest.Config
	client  dynamic.Interface
	log     logr.Logger
}

func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	log := textlogger.NewLogger(textlogger.NewConfig())
	cluster := cache.NewClusterCache(config,
		cache.SetLogr(log),
		cache.SetPopulateResourceInfoHandler(func(object *unstructured.Unstructured, _ bool) (any, bool) {
			app := object.GetAnnotations()[tracking]
			return app, app != ""
		}),
	)
	if err := cluster.EnsureSynced(); err != nil {
		return err
	}
	defer cluster.Invalidate()
	one := &app{cluster, config, client, log}
	claim("the cache has all that is served, and the schema", func() error {
		info := cluster.GetClusterInfo()
		if info.SyncError != nil {
			return info.SyncError
		}
		return expect(info.ResourcesCount > 10 && info.APIsCount > 5 && cluster.GetGVKParser().Type(teams.GroupVersion().WithKind("Team")) != nil,
			"%+v", info)
	})
	for _, serverSide := range []bool{false, true} {
		name := map[bool]string{false: "client", true: "server"}[serverSide]
		claim("a sync creates, in waves and with a hook before ("+name+" side)", func() error { return one.creates(ctx, name, serverSide) })
		claim("what is in sync has no difference ("+name+" side)", func() error { return one.settled(name) })
		claim("drift is seen, and healed ("+name+" side)", func() error { return one.heals(ctx, name, serverSide) })
		claim("what is wanted no more is pruned ("+name+" side)", func() error { return one.prunes(ctx, name, serverSide) })
	}
	return nil
}

func object(kind, namespace, name string, annotations map[string]string, spec map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": kind, "spec": spec}}
	made.SetName(name)
	made.SetNamespace(namespace)
	all := map[string]string{}
	for key, value := range annotations {
		all[key] = value
	}
	made.SetAnnotations(all)
	return made
}

func wanted(app string) []*unstructured.Unstructured {
	mine := map[string]string{tracking: app}
	later := map[string]string{tracking: app, "argocd.argoproj.io/sync-wave": "1"}
	hook := map[string]string{tracking: app, "argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "HookSucceeded"}
	return []*unstructured.Unstructured{
		object("Team", "", app+"-team", mine, map[string]any{"displayName": "Synced", "users": []any{"ada"}}),
		object("SharedSecret", "apps", app+"-secret", later, map[string]any{"displayName": "Synced", "owner": map[string]any{"team": app + "-team"}, "data": map[string]any{"token": "aGVsbG8="}}),
		object("Team", "", app+"-hook", hook, map[string]any{"displayName": "Before"}),
	}
}

// sync looks anew at what is there after each step, and takes what came of the last one along, as Argo CD
// does: waves and hooks end when the cache has seen them.
func (a *app) sync(ctx context.Context, app string, objects []*unstructured.Unstructured, serverSide bool) error {
	started := metav1.Now()
	phase, message := common.OperationRunning, ""
	var results []common.ResourceSyncResult
	for !phase.Completed() {
		managed, err := a.cluster.GetManagedLiveObjs(objects, func(resource *cache.Resource) bool { return resource.Info == app })
		if err != nil {
			return err
		}
		found := sync.Reconcile(objects, managed, "apps", a.cluster)
		step, cleanup, err := sync.NewSyncContext("v1", found, a.config, a.config, &kube.KubectlCmd{Log: a.log, Tracer: tracing.NopTracer{}}, "apps", a.cluster.GetOpenAPISchema(),
			sync.WithInitialState(phase, message, results, started), sync.WithPrune(true),
			sync.WithServerSideApply(serverSide), sync.WithServerSideApplyManager("gitops"), sync.WithLogr(a.log))
		if err != nil {
			return err
		}
		step.Sync()
		phase, message, results = step.GetState()
		cleanup()
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %s, %v", phase, message, results)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return expect(phase == common.OperationSucceeded, "%s: %s, %v", phase, message, results)
}

func (a *app) creates(ctx context.Context, app string, serverSide bool) error {
	if err := a.sync(ctx, app, wanted(app), serverSide); err != nil {
		return err
	}
	team, err := a.client.Resource(teams).Get(ctx, app+"-team", metav1.GetOptions{})
	if err != nil {
		return err
	}
	secret, err := a.client.Resource(secrets).Namespace("apps").Get(ctx, app+"-secret", metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = a.client.Resource(teams).Get(ctx, app+"-hook", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("the hook is still there: %v", err)
	}
	manager := ""
	for _, entry := range team.GetManagedFields() {
		manager += entry.Manager + "/" + string(entry.Operation) + " "
	}
	return expect(secret.GetCreationTimestamp().Compare(team.GetCreationTimestamp().Time) >= 0 && manager != "", "%s: %v, %v", manager, team, secret)
}

// differs tells which of the wanted objects are not as they should be; the cache follows in its own time.
func (a *app) differs(app string) (map[string]bool, error) {
	objects := wanted(app)[:2]
	managed, err := a.cluster.GetManagedLiveObjs(objects, func(resource *cache.Resource) bool { return resource.Info == app })
	if err != nil {
		return nil, err
	}
	found := sync.Reconcile(objects, managed, "apps", a.cluster)
	modified := map[string]bool{}
	for i, target := range found.Target {
		one, err := diff.Diff(target, found.Live[i], diff.WithLogr(a.log), diff.WithStructuredMergeDiff(true),
			diff.WithGVKParser(a.cluster.GetGVKParser()), diff.WithManager("gitops"))
		if err != nil {
			return nil, err
		}
		modified[target.GetName()] = one.Modified
	}
	return modified, nil
}

func (a *app) eventually(app string, team bool) error {
	end := time.Now().Add(time.Minute)
	for {
		found, err := a.differs(app)
		if err == nil && len(found) == 2 && found[app+"-team"] == team && !found[app+"-secret"] {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%v, %w", found, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (a *app) settled(app string) error { return a.eventually(app, false) }

func (a *app) heals(ctx context.Context, app string, serverSide bool) error {
	drift := []byte(`{"spec":{"displayName":"Drifted"}}`)
	if _, err := a.client.Resource(teams).Patch(ctx, app+"-team", types.MergePatchType, drift, metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		return err
	}
	if err := a.eventually(app, true); err != nil {
		return fmt.Errorf("unseen: %w", err)
	}
	if err := a.sync(ctx, app, wanted(app)[:2], serverSide); err != nil {
		return err
	}
	team, err := a.client.Resource(teams).Get(ctx, app+"-team", metav1.GetOptions{})
	if err != nil {
		return err
	}
	name, _, _ := unstructured.NestedString(team.Object, "spec", "displayName")
	return expect(name == "Synced", "it is %s", name)
}

func (a *app) prunes(ctx context.Context, app string, serverSide bool) error {
	if err := a.settled(app); err != nil {
		return err
	}
	if err := a.sync(ctx, app, wanted(app)[:1], serverSide); err != nil {
		return err
	}
	_, err := a.client.Resource(secrets).Namespace("apps").Get(ctx, app+"-secret", metav1.GetOptions{})
	_, kept := a.client.Resource(teams).Get(ctx, app+"-team", metav1.GetOptions{})
	return errors.Join(kept, expect(apierrors.IsNotFound(err), "it is still there: %v", err))
}
