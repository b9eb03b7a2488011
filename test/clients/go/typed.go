package main

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	applyrbac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// typed does with the clientset what its Go types are for. It prefers protobuf, as clientsets do.
func typed(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	claim("roles are created, changed, patched, applied, listed and deleted", func() error { return roles(ctx, client) })
	claim("cluster roles and bindings keep every field of theirs", func() error { return bindings(ctx, client) })
	claim("typed informers are in step", func() error { return typedInformers(ctx, client) })
	claim("reviews say who asks and what they may do", func() error { return reviews(ctx, client) })
	claim("namespaces and events are listed", func() error {
		if _, err := client.CoreV1().Events("").List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
		namespace, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return expect(!namespace.CreationTimestamp.IsZero(), "no time: %v", namespace)
	})
	claim("discovery maps kinds, and OpenAPI has a document of every group", func() error { return documents(client) })
	claim("leases are made, taken, let go and fought about", func() error { return leases(ctx, client) })
	claim("somebody is elected by a lease, and lets go of it", func() error { return electedOnce(ctx, client) })
	claim("both recorders of events count what happens again", func() error { return recorded(ctx, client) })
	return nil
}

func rules(verbs ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{"teams"}, Verbs: verbs}}
}

func roles(ctx context.Context, client kubernetes.Interface) error {
	api := client.RbacV1().Roles("apps")
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "typed", Labels: map[string]string{"made": "here"}, Annotations: map[string]string{"note": "é"}},
		Rules:      rules("get"),
	}
	role, err := api.Create(ctx, role, metav1.CreateOptions{FieldManager: "typed"})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	role.Rules = append(rules("get", "list"), rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{group}, Resources: []string{"users"}, ResourceNames: []string{"ada"}})
	role.Finalizers = []string{"example.com/held"}
	if role, err = api.Update(ctx, role, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if len(role.Rules) != 2 || len(role.Rules[0].Verbs) != 2 || len(role.Finalizers) != 1 || role.Annotations["note"] != "é" {
		return fmt.Errorf("the update lost something: %v", role)
	}
	if role, err = api.Patch(ctx, "typed", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"patched":"yes"}}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	own, err := applyrbac.ExtractRole(role, "typed")
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	own.WithLabels(map[string]string{"applied": "yes"})
	if role, err = api.Apply(ctx, own, metav1.ApplyOptions{FieldManager: "typed", Force: true}); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if role.Labels["patched"] != "yes" || role.Labels["applied"] != "yes" {
		return fmt.Errorf("labels are %v", role.Labels)
	}
	background := metav1.DeletePropagationBackground
	if err := api.Delete(ctx, "typed", metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &role.UID}}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if role, err = api.Get(ctx, "typed", metav1.GetOptions{}); err != nil || role.DeletionTimestamp == nil {
		return fmt.Errorf("the finalizer holds nothing: %v, %v", err, role)
	}
	role.Finalizers = nil
	if _, err = api.Update(ctx, role, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("the last finalizer: %w", err)
	}
	return eventually(ctx, func() error {
		_, err := api.Get(ctx, "typed", metav1.GetOptions{})
		return expect(apierrors.IsNotFound(err), "it is still there: %v", err)
	})
}

func bindings(ctx context.Context, client kubernetes.Interface) error {
	api := client.RbacV1()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "typed"},
		Rules:      append(rules("get"), rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}),
	}
	role, err := api.ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	is := true
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "typed-", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: role.Name, UID: role.UID, Controller: &is, BlockOwnerDeletion: &is,
		}}},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "ada"}, {Kind: "Group", APIGroup: rbacv1.GroupName, Name: "readers"}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}
	made, err := api.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	owner := metav1.GetControllerOf(made)
	if len(made.Subjects) != 2 || made.RoleRef != binding.RoleRef || owner == nil || owner.UID != role.UID || len(role.Rules[1].NonResourceURLs) != 1 {
		return fmt.Errorf("something is lost: %v, %v", role, made)
	}
	if err := api.ClusterRoles().Delete(ctx, role.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		_, err := api.ClusterRoleBindings().Get(ctx, made.Name, metav1.GetOptions{})
		return expect(apierrors.IsNotFound(err), "the dependent is not collected: %v", err)
	})
}

func typedInformers(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	factory := informers.NewSharedInformerFactory(client, 0)
	lister := factory.Rbac().V1().ClusterRoles().Lister()
	factory.Core().V1().Namespaces().Informer()
	factory.Start(ctx.Done())
	for kind, isThere := range factory.WaitForCacheSync(ctx.Done()) {
		if !isThere {
			return fmt.Errorf("%v is not in step", kind)
		}
	}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "informed"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		_, err := lister.Get("informed")
		return err
	})
}

func reviews(ctx context.Context, client kubernetes.Interface) error {
	who, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: group, Resource: "teams", Verb: "create"},
	}}
	may, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, asked, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}
	all, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, rules, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	other := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "nobody", ResourceAttributes: &authorizationv1.ResourceAttributes{Group: group, Resource: "teams", Verb: "create"},
	}}
	theirs, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, other, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return expect(who.Status.UserInfo.Username == "admin" && may.Status.Allowed && len(all.Status.ResourceRules) > 0 && !theirs.Status.Allowed,
		"%v, %v, %v, %v", who.Status, may.Status, all.Status, theirs.Status)
}

func documents(client kubernetes.Interface) error {
	resources, err := restmapper.GetAPIGroupResources(client.Discovery())
	if err != nil {
		return err
	}
	mapping, err := restmapper.NewDiscoveryRESTMapper(resources).RESTMapping(rbacv1.SchemeGroupVersion.WithKind("Role").GroupKind())
	if err != nil || mapping.Resource.Resource != "roles" {
		return fmt.Errorf("%v, %v", mapping, err)
	}
	root := openapi3.NewRoot(client.Discovery().OpenAPIV3())
	versions, err := root.GroupVersions()
	if err != nil {
		return err
	}
	for _, version := range versions {
		if _, err := root.GVSpec(version); err != nil {
			return fmt.Errorf("%v: %w", version, err)
		}
	}
	_, err = client.Discovery().ServerVersion()
	return err
}

func leases(ctx context.Context, client kubernetes.Interface) error {
	api := client.CoordinationV1().Leases("default")
	holder, seconds := "one", int32(15)
	now := metav1.NewMicroTime(time.Now())
	lease, err := api.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "typed"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if !lease.Spec.RenewTime.Time.Equal(now.Truncate(time.Microsecond)) {
		return fmt.Errorf("it was renewed at %v, not at %v", lease.Spec.RenewTime, now)
	}
	late := lease.DeepCopy()
	*lease.Spec.HolderIdentity = ""
	if lease, err = api.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != "" {
		return fmt.Errorf("it is held by %v", lease.Spec.HolderIdentity)
	}
	if _, err = api.Update(ctx, late, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("a late update: %v", err)
	}
	late.ResourceVersion = ""
	if _, err = api.Update(ctx, late, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		return fmt.Errorf("an update of any version: %v", err)
	}
	return api.Delete(ctx, "typed", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}})
}

// electedOnce leads for a moment, by the lock that controllers use, and lets go.
func electedOnce(ctx context.Context, client kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "default", "clients", client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: "one"})
	if err != nil {
		return err
	}
	leader := ""
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: time.Second / 2, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { cancel() },
			OnStoppedLeading: func() {},
			OnNewLeader:      func(identity string) { leader = identity },
		},
	})
	lease, err := client.CoordinationV1().Leases("default").Get(context.WithoutCancel(ctx), "clients", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return expect(leader == "one" && *lease.Spec.HolderIdentity == "", "%q was elected, %v is left", leader, lease.Spec)
}

// recorded says the same thing three times with each of the two recorders that there are.
func recorded(ctx context.Context, client kubernetes.Interface) error {
	role, err := client.RbacV1().Roles("apps").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "recorded"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	older := record.NewBroadcaster()
	defer older.Shutdown()
	older.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	newer := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer newer.Shutdown()
	if err := startRecording(ctx, newer); err != nil {
		return err
	}
	ours := older.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "clients"})
	theirs := newer.NewRecorder(scheme.Scheme, "example.com/clients")
	for range 3 {
		ours.Event(role, corev1.EventTypeWarning, "Counted", "Again")
		theirs.Eventf(role, nil, corev1.EventTypeNormal, "Repeated", "Say", "Once more")
	}
	about := fields.OneTermEqualSelector("involvedObject.uid", string(role.UID)).String()
	return eventually(ctx, func() error {
		found, err := client.CoreV1().Events("apps").List(ctx, metav1.ListOptions{FieldSelector: about})
		if err != nil {
			return err
		}
		said := map[string]int32{}
		for _, event := range found.Items {
			said[event.Reason] = event.Count
			if event.Series != nil {
				said[event.Reason] = event.Series.Count
			}
		}
		return expect(len(found.Items) == 2 && said["Counted"] == 3 && said["Repeated"] >= 2, "%v", said)
	})
}
