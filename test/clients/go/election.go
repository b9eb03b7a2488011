package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// witnessed teams are told about by whoever leads.
const witnessed = "witnessed"

// witness records in both APIs that it saw a team, and which process it is.
type witness struct {
	client.Client
	older record.EventRecorder
	newer events.EventRecorder
}

func (w *witness) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	team := &Team{}
	if err := w.Get(ctx, request.NamespacedName, team); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	w.older.Eventf(team, corev1.EventTypeNormal, "Seen", "seen by %d", os.Getpid())
	w.newer.Eventf(team, nil, corev1.EventTypeNormal, "Witnessed", "Look", "witnessed by %d", os.Getpid())
	return ctrl.Result{}, nil
}

// elected runs a manager that acts only while it leads, until it is told to end.
func elected(ctx context.Context, config *rest.Config) error {
	lease, deadline, retry := 6*time.Second, 5*time.Second, 500*time.Millisecond
	manager, err := newManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "witnesses", LeaderElectionNamespace: "default",
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease, RenewDeadline: &deadline, RetryPeriod: &retry,
	})
	if err != nil {
		return err
	}
	newer, err := newerRecorder(ctx, manager, config, "example.com/clients")
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).For(&Team{}, builder.WithPredicates(marked(witnessed))).Complete(&witness{
		manager.GetClient(),
		manager.GetEventRecorderFor("clients"), //nolint:staticcheck // Most controllers that there are use it.
		newer,
	})
	if err != nil {
		return err
	}
	go func() {
		<-manager.Elected()
		say(map[string]string{"leading": fmt.Sprint(os.Getpid())})
	}()
	return manager.Start(ctx)
}
