// Command clients runs the libraries that Kubernetes' own programs are made of against an API server:
// client-go and controller-runtime, as they are. Each subcommand prints a line of JSON for what it
// claims, with an error where the claim does not hold.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var commands = map[string]func(context.Context, *rest.Config) error{
	"informers":  follows(followObjects),
	"metadata":   follows(followMetadata),
	"writes":     writes,
	"typed":      typed,
	"controller": controller,
	"elected":    elected,
}

func main() {
	if len(os.Args) != 3 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: clients informers|metadata|writes|typed|controller|elected KUBECONFIG")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	if err == nil {
		// Nothing is held back on this side: what is slow is the server.
		config.QPS, config.Burst = -1, -1
		err = commands[os.Args[1]](ctx, config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type verdict struct {
	Claim string `json:"claim"`
	Error string `json:"error,omitempty"`
}

// claim prints whether what the words say is so. Claims are judged in their order.
func claim(words string, judge func() error) {
	found := verdict{Claim: words}
	if err := judge(); err != nil {
		found.Error = err.Error()
	}
	say(found)
}

func say(what any) {
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

const patience = 120 * time.Second

// eventually asks until there is no error, or returns the last one.
func eventually(ctx context.Context, judge func() error) error {
	end := time.Now().Add(patience)
	for {
		err := judge()
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func expect(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}
