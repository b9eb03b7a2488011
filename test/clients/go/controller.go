package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	finalizer = "example.com/vault"
	watched   = "vaulted"
	namespace = "vaults"
	byTeam    = ".spec.owner.team"
)

// vaults gives each team with the label a shared secret of its own, and takes it away at the end.
type vaults struct {
	client.Client
}

func (v *vaults) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	team := &Team{}
	if err := v.Get(ctx, request.NamespacedName, team); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !team.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, v.end(ctx, team)
	}
	before := team.DeepCopyObject().(*Team)
	if controllerutil.AddFinalizer(team, finalizer) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := v.Patch(ctx, team, patch); err != nil {
			return ctrl.Result{}, retried(err)
		}
	}
	secret := &SharedSecret{}
	secret.Name, secret.Namespace = team.Name, namespace
	_, err := controllerutil.CreateOrUpdate(ctx, v.Client, secret, func() error {
		secret.Spec.DisplayName = "Of " + team.Spec.DisplayName
		secret.Spec.Owner.Team = team.Name
		if secret.Spec.Data == nil {
			secret.Spec.Data = map[string][]byte{"token": []byte("made once")}
		}
		return controllerutil.SetControllerReference(team, secret, v.Scheme())
	})
	return ctrl.Result{}, retried(err)
}

func (v *vaults) end(ctx context.Context, team *Team) error {
	if !controllerutil.ContainsFinalizer(team, finalizer) {
		return nil
	}
	owned := &SharedSecretList{}
	if err := v.List(ctx, owned, client.InNamespace(namespace), client.MatchingFields{byTeam: team.Name}); err != nil {
		return err
	}
	for i := range owned.Items {
		if err := v.Delete(ctx, &owned.Items[i], client.Preconditions{UID: &owned.Items[i].UID}); client.IgnoreNotFound(err) != nil {
			return retried(err)
		}
	}
	controllerutil.RemoveFinalizer(team, finalizer)
	return retried(client.IgnoreNotFound(v.Update(ctx, team)))
}

// retried leaves a conflict to the queue: the cache was behind.
func retried(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("again: %w", err)
	}
	return err
}

// controller runs a manager with one controller through two phases; between them it waits for a line
// of input, so that the server can be restarted below it.
func controller(ctx context.Context, config *rest.Config) error {
	manager, err := newManager(config, ctrl.Options{})
	if err != nil {
		return err
	}
	team := func(object client.Object) []string { return []string{object.(*SharedSecret).Spec.Owner.Team} }
	if err := manager.GetFieldIndexer().IndexField(ctx, &SharedSecret{}, byTeam, team); err != nil {
		return err
	}
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	err = ctrl.NewControllerManagedBy(manager).
		For(&Team{}, builder.WithPredicates(marked(watched), changed)).
		Owns(&SharedSecret{}).
		Complete(&vaults{manager.GetClient()})
	if err != nil {
		return err
	}
	// A kind that has Go types in client-go is asked for in protobuf.
	if _, err := manager.GetCache().GetInformer(ctx, &rbacv1.ClusterRole{}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache is not in step: %w", <-ended)
	}
	firstPhase(ctx, manager.GetClient(), manager.GetAPIReader())
	say(map[string]string{"waiting": "for a line"})
	bufio.NewScanner(os.Stdin).Scan()
	secondPhase(ctx, manager.GetClient(), manager.GetAPIReader())
	stop()
	claim("the manager ends as it should", func() error { return <-ended })
	return nil
}
