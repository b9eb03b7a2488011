package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Go types of two kinds, as far as the controller needs them, in the form that generators give them.

type TeamSpec struct {
	DisplayName string   `json:"displayName,omitempty"`
	Description string   `json:"description,omitempty"`
	Users       []string `json:"users,omitempty"`
}

type Team struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TeamSpec `json:"spec,omitempty"`
}

type TeamList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Team `json:"items"`
}

type Owner struct {
	Team string `json:"team,omitempty"`
	User string `json:"user,omitempty"`
}

type SharedSecretSpec struct {
	DisplayName string            `json:"displayName,omitempty"`
	Owner       Owner             `json:"owner,omitempty"`
	Data        map[string][]byte `json:"data,omitempty"`
}

type SharedSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SharedSecretSpec   `json:"spec,omitempty"`
	Status            SharedSecretStatus `json:"status,omitempty"`
}

type SharedSecretStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type SharedSecretList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SharedSecret `json:"items"`
}

func (in *Team) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Users = append([]string(nil), in.Spec.Users...)
	return &out
}

func (in *TeamList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = make([]Team, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Team)
	}
	return &out
}

func (in *SharedSecret) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Data = map[string][]byte{}
	for key, value := range in.Spec.Data {
		out.Spec.Data[key] = append([]byte(nil), value...)
	}
	out.Status.Conditions = append([]metav1.Condition(nil), in.Status.Conditions...)
	return &out
}

func (in *SharedSecretList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = make([]SharedSecret, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*SharedSecret)
	}
	return &out
}

func addTypes(scheme *runtime.Scheme) {
	version := schema.GroupVersion{Group: group, Version: "v1"}
	scheme.AddKnownTypes(version, &Team{}, &TeamList{}, &SharedSecret{}, &SharedSecretList{})
	metav1.AddToGroupVersion(scheme, version)
}
