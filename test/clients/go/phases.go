package main

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

func vaulted(name string) *Team {
	team := &Team{Spec: TeamSpec{DisplayName: name}}
	team.Name, team.Labels = name, map[string]string{watched: "yes"}
	return team
}

func firstPhase(ctx context.Context, api client.Client, live client.Reader) {
	claim("each marked team gets a secret, which it owns, and a finalizer", func() error {
		for i := range 10 {
			if err := api.Create(ctx, vaulted(fmt.Sprintf("vault-%d", i))); err != nil {
				return err
			}
		}
		plain := &Team{}
		plain.Name = "plain"
		if err := api.Create(ctx, plain); err != nil {
			return err
		}
		return eventually(ctx, func() error { return errors.Join(owned(ctx, api, 10), owned(ctx, live, 10)) })
	})
	claim("a change is reconciled, and what is as it should be is not written again", func() error {
		team := &Team{}
		if err := api.Get(ctx, client.ObjectKey{Name: "vault-1"}, team); err != nil {
			return err
		}
		if err := api.Patch(ctx, team, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/displayName","value":"New"}]`))); err != nil {
			return err
		}
		secret := &SharedSecret{}
		if err := eventually(ctx, func() error {
			err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "vault-1"}, secret)
			return errors.Join(err, expect(secret.Spec.DisplayName == "Of New", "it is %q", secret.Spec.DisplayName))
		}); err != nil {
			return err
		}
		result, err := controllerutil.CreateOrUpdate(ctx, api, secret, func() error { return nil })
		return errors.Join(err, expect(result == controllerutil.OperationResultNone && string(secret.Spec.Data["token"]) == "made once", "%v of %v", result, secret.Spec))
	})
	claim("a secret that somebody deletes is made again", func() error {
		secret := &SharedSecret{}
		key := client.ObjectKey{Namespace: namespace, Name: "vault-2"}
		if err := api.Get(ctx, key, secret); err != nil {
			return err
		}
		first := secret.UID
		if err := api.Delete(ctx, secret); err != nil {
			return err
		}
		return eventually(ctx, func() error {
			err := live.Get(ctx, key, secret)
			return errors.Join(err, expect(secret.UID != first, "it is still the first"))
		})
	})
	claim("apply, dry runs and what is not allowed are as in a cluster", func() error { return special(ctx, api, live) })
	claim("a deleted team goes when its secrets are gone", func() error {
		return gone(ctx, api, live, "vault-3")
	})
	claim("typed kinds of Kubernetes are written and cached", func() error { return kubernetesKinds(ctx, api) })
}

// owned expects as many secrets as there are marked teams, each held and owned by its own.
func owned(ctx context.Context, from client.Reader, count int) error {
	teams, secrets := &TeamList{}, &SharedSecretList{}
	if err := from.List(ctx, teams, client.MatchingLabels{watched: "yes"}); err != nil {
		return err
	}
	if err := from.List(ctx, secrets, client.InNamespace(namespace)); err != nil {
		return err
	}
	uids := map[string]types.UID{}
	for _, team := range teams.Items {
		if controllerutil.ContainsFinalizer(&team, finalizer) {
			uids[team.Name] = team.UID
		}
	}
	for _, secret := range secrets.Items {
		owner := metav1.GetControllerOf(&secret)
		if owner == nil || owner.UID != uids[secret.Name] {
			return fmt.Errorf("%s is owned by %v", secret.Name, owner)
		}
	}
	return expect(len(uids) == count && len(secrets.Items) == count, "%d teams have %d secrets", len(uids), len(secrets.Items))
}

func special(ctx context.Context, api client.Client, live client.Reader) error {
	applied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Team",
		"metadata": map[string]any{"name": "vault-4"},
		"spec":     map[string]any{"description": "applied"},
	}}
	if err := apply(ctx, api, applied); err != nil {
		return err
	}
	team := &Team{}
	if err := live.Get(ctx, client.ObjectKey{Name: "vault-4"}, team); err != nil {
		return err
	}
	if team.Spec.Description != "applied" || team.Spec.DisplayName != "vault-4" {
		return fmt.Errorf("an apply made %v", team.Spec)
	}
	if err := api.Create(ctx, vaulted("dry"), client.DryRunAll); err != nil {
		return err
	}
	if err := live.Get(ctx, client.ObjectKey{Name: "dry"}, &Team{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("a dry run left something: %v", err)
	}
	secret := &SharedSecret{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "vault-4"}, secret); err != nil {
		return err
	}
	read := &SharedSecret{}
	if err := api.SubResource("status").Get(ctx, secret, read); err != nil {
		return fmt.Errorf("its status: %w", err)
	}
	meta.SetStatusCondition(&secret.Status.Conditions, metav1.Condition{Type: "Mine", Status: metav1.ConditionTrue, Reason: "Asked"})
	if err := api.Status().Update(ctx, secret); !apierrors.IsMethodNotSupported(err) {
		return fmt.Errorf("status, which only the daemon writes: %v", err)
	}
	parts := &metav1.PartialObjectMetadata{}
	parts.SetGroupVersionKind(applied.GroupVersionKind())
	if err := api.Get(ctx, client.ObjectKey{Name: "vault-4"}, parts); err != nil {
		return fmt.Errorf("by metadata: %w", err)
	}
	return expect(parts.UID == team.UID, "%v", parts)
}

func gone(ctx context.Context, api client.Client, live client.Reader, name string) error {
	team := &Team{}
	team.Name = name
	if err := api.Delete(ctx, team, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		err := live.Get(ctx, client.ObjectKey{Name: name}, &Team{})
		other := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &SharedSecret{})
		return expect(apierrors.IsNotFound(err) && apierrors.IsNotFound(other), "%v, %v", err, other)
	})
}

func kubernetesKinds(ctx context.Context, api client.Client) error {
	role := &rbacv1.ClusterRole{}
	role.Name = "from-controller"
	result, err := controllerutil.CreateOrPatch(ctx, api, role, func() error {
		role.Rules = rules("get", "list", "watch")
		return nil
	})
	if err != nil || result != controllerutil.OperationResultCreated {
		return fmt.Errorf("%v: %w", result, err)
	}
	return eventually(ctx, func() error {
		cached := &rbacv1.ClusterRole{}
		err := api.Get(ctx, client.ObjectKeyFromObject(role), cached)
		return errors.Join(err, expect(cached.UID == role.UID, "%v", cached))
	})
}

// secondPhase is after a restart: the caches have to have come back by themselves.
func secondPhase(ctx context.Context, api client.Client, live client.Reader) {
	claim("after a restart the controller goes on", func() error {
		if err := eventually(ctx, func() error { return client.IgnoreAlreadyExists(api.Create(ctx, vaulted("vault-late"))) }); err != nil {
			return err
		}
		return eventually(ctx, func() error { return errors.Join(owned(ctx, api, 10), owned(ctx, live, 10)) })
	})
	claim("all marked teams are deleted by one request, and nothing is left", func() error {
		if err := api.DeleteAllOf(ctx, &Team{}, client.MatchingLabels{watched: "yes"}); err != nil {
			return err
		}
		return eventually(ctx, func() error { return errors.Join(owned(ctx, api, 0), none(ctx, live)) })
	})
}

func none(ctx context.Context, live client.Reader) error {
	teams := &TeamList{}
	err := live.List(ctx, teams, client.MatchingLabels{watched: "yes"})
	return errors.Join(err, expect(len(teams.Items) == 0, "%d teams are left", len(teams.Items)))
}
