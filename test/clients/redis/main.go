// Command redis is a Redis in memory, as far as Argo CD needs one. It says where it listens, and ends
// with its input.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/alicebob/miniredis/v2"
)

func main() {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"listening\":%q}\n", server.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}
