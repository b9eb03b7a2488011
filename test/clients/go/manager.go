package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// newManager makes a manager that knows our kinds, logs to stderr and listens nowhere.
func newManager(config *rest.Config, options ctrl.Options) (manager.Manager, error) {
	klog.LogToStderr(true)
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(0))))
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addTypes(scheme)
	options.Scheme, options.Metrics = scheme, server.Options{BindAddress: "0"}
	return ctrl.NewManager(config, options)
}

// marked lets only objects with the label through.
func marked(label string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetLabels()[label] == "yes" })
}
