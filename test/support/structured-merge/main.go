// Applies and updates objects with the library that every Kubernetes API server uses. Reads one
// JSON history a line: the operations on an object that is empty at first; answers with a line that
// says what the object and its managers are after each of them.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

const version = fieldpath.APIVersion("v1")

// What ManagedFieldsUpdater of the API server calls the manager of an update while it runs.
const self = "current-operation"

type history struct {
	Schema     string      `json:"schema"`
	Operations []operation `json:"operations"`
}

type operation struct {
	Apply   bool           `json:"apply"`
	Force   bool           `json:"force"`
	Manager string         `json:"manager"`
	Object  map[string]any `json:"object"`
}

type result struct {
	Object    any                        `json:"object"`
	Managers  map[string]json.RawMessage `json:"managers"`
	Conflicts map[string]json.RawMessage `json:"conflicts,omitempty"`
	Error     string                     `json:"error,omitempty"`
}

type sameVersion struct{}

func (sameVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (sameVersion) IsMissingVersionError(error) bool { return false }

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var asked history
		check(json.Unmarshal(in.Bytes(), &asked))
		check(out.Encode(run(asked)))
	}
	check(in.Err())
}

func run(asked history) []result {
	parser, err := typed.NewParser(typed.YAMLObject(asked.Schema))
	check(err)
	kind := parser.Type("object")
	builder := merge.UpdaterBuilder{Converter: sameVersion{}, ReturnInputOnNoop: true}
	updater := builder.BuildUpdater()
	live, err := kind.FromUnstructured(map[string]any{})
	check(err)
	managers := fieldpath.ManagedFields{}
	results := []result{}
	for _, operation := range asked.Operations {
		object, err := kind.FromUnstructured(operation.Object)
		check(err)
		var conflicts merge.Conflicts
		failed := ""
		next, left, err := do(updater, operation, live, object, managers.Copy())
		if errors.As(err, &conflicts) {
			failed = "conflict"
		} else if err != nil {
			failed = err.Error()
		} else {
			live, managers = next, left
		}
		results = append(results, result{
			Object:    live.AsValue().Unstructured(),
			Managers:  setsOf(managers),
			Conflicts: setsOf(managersOf(conflicts)),
			Error:     failed,
		})
	}
	return results
}

func do(
	updater *merge.Updater, asked operation, live, object *typed.TypedValue, managers fieldpath.ManagedFields,
) (*typed.TypedValue, fieldpath.ManagedFields, error) {
	if asked.Apply {
		return updater.Apply(live, object, version, managers, asked.Manager, asked.Force)
	}
	updated, left, err := updater.Update(live, object, version, managers, self)
	if err != nil {
		return nil, nil, err
	}
	if taken, ok := left[self]; ok {
		delete(left, self)
		set := taken.Set()
		if before, ok := left[asked.Manager]; ok {
			set = set.Union(before.Set())
		}
		left[asked.Manager] = fieldpath.NewVersionedSet(set, version, false)
	}
	return updated, left, nil
}

func managersOf(conflicts merge.Conflicts) fieldpath.ManagedFields {
	sets := fieldpath.ManagedFields{}
	for _, conflict := range conflicts {
		set := fieldpath.NewSet(conflict.Path)
		if before, ok := sets[conflict.Manager]; ok {
			set = set.Union(before.Set())
		}
		sets[conflict.Manager] = fieldpath.NewVersionedSet(set, version, false)
	}
	return sets
}

func setsOf(managers fieldpath.ManagedFields) map[string]json.RawMessage {
	sets := map[string]json.RawMessage{}
	for name, managed := range managers {
		text, err := managed.Set().ToJSON()
		check(err)
		sets[name] = text
	}
	return sets
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
