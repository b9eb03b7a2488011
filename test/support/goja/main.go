// Evaluates one expression again and again in goja, the JavaScript engine in Go that vCluster patches
// objects with. Reads a request from the standard input; answers how many evaluations a second of
// processor time it makes with JSON texts both ways, and with Go values both ways.
package main

import (
	"encoding/json"
	"log"
	"os"
	"syscall"
	"time"

	"github.com/dop251/goja"
)

type request struct {
	// A function of the value.
	Function string          `json:"function"`
	Value    json.RawMessage `json:"value"`
	WarmUpMs int             `json:"warmUpMs"`
	// Time for each of both ways.
	MeasuredMs int `json:"measuredMs"`
}

type answer struct {
	JSON   float64 `json:"json"`
	Values float64 `json:"values"`
	// Of both ways, for a comparison.
	Results []any `json:"results"`
}

const jsonBothWays = `(() => {
  const { parse, stringify } = JSON;
  return (evaluate, text) => stringify(evaluate(parse(text), true));
})()`

func main() {
	var asked request
	must(json.NewDecoder(os.Stdin).Decode(&asked))
	var value any
	must(json.Unmarshal(asked.Value, &value))
	runtime := goja.New()
	compiled, err := goja.Compile("expression", asked.Function, true)
	must(err)
	function, err := runtime.RunProgram(compiled)
	must(err)
	evaluate, _ := goja.AssertFunction(function)
	onText, err := runtime.RunString(jsonBothWays)
	must(err)
	evaluateText, _ := goja.AssertFunction(onText)

	text := string(asked.Value)
	texts := func() string {
		result, err := evaluateText(goja.Undefined(), function, runtime.ToValue(text))
		must(err)
		return result.String()
	}
	values := func() any {
		result, err := evaluate(goja.Undefined(), runtime.ToValue(value), runtime.ToValue(true))
		must(err)
		return result.Export()
	}
	must(json.NewEncoder(os.Stdout).Encode(answer{
		JSON:    rate(asked, func() { texts() }),
		Values:  rate(asked, func() { values() }),
		Results: []any{json.RawMessage(texts()), values()},
	}))
}

func rate(asked request, work func()) float64 {
	during(asked.WarmUpMs, work)
	before := processorSeconds()
	count := during(asked.MeasuredMs, work)
	return float64(count) / (processorSeconds() - before)
}

func during(milliseconds int, work func()) (count int) {
	end := time.Now().Add(time.Duration(milliseconds) * time.Millisecond)
	for ; time.Now().Before(end); count++ {
		work()
	}
	return count
}

// Of all threads: the garbage collector has threads of its own.
func processorSeconds() float64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
