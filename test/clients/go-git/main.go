// Command go-git pushes to a repository whose branch has gone on since the clone. Each line of output is a claim in
// JSON, with an error where it does not hold. The token is in GITPLANE_TOKEN, the certificate authority in
// GITPLANE_CA.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
)

const manifest = "apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: %s\nspec:\n  displayName: %s\n"

type clone struct {
	repository *git.Repository
	folder     string
	auth       *http.BasicAuth
	ca         []byte
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go-git URL FOLDER")
		os.Exit(2)
	}
	ca, err := os.ReadFile(os.Getenv("GITPLANE_CA"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c := &clone{folder: os.Args[2], auth: &http.BasicAuth{Username: "admin", Password: os.Getenv("GITPLANE_TOKEN")}, ca: ca}
	claim("it clones", func() error {
		c.repository, err = git.PlainClone(c.folder, false, &git.CloneOptions{URL: os.Args[1], Auth: c.auth, CABundle: ca})
		return err
	})
	print(map[string]string{"waiting": "for the branch to go on"})
	bufio.NewReader(os.Stdin).ReadString('\n')
	claim("a plain push with an older base lands", func() error { return c.push("go-git", "one") })
	claim("a second push without a pull lands", func() error { return c.push("go-git", "two") })
	claim("a push of the branch and a tag lands", func() error {
		if err := c.commit("go-git", "three"); err != nil {
			return err
		}
		head, err := c.repository.Head()
		if err != nil {
			return err
		}
		if _, err := c.repository.CreateTag("go-git", head.Hash(), nil); err != nil {
			return err
		}
		return c.send("refs/heads/main:refs/heads/main", "refs/tags/go-git:refs/tags/go-git")
	})
	claim("a pull fast-forwards", func() error {
		tree, err := c.repository.Worktree()
		if err != nil {
			return err
		}
		return tree.Pull(&git.PullOptions{Auth: c.auth, CABundle: c.ca})
	})
}

func (c *clone) push(name, text string) error {
	if err := c.commit(name, text); err != nil {
		return err
	}
	return c.send()
}

func (c *clone) send(refs ...config.RefSpec) error {
	return c.repository.Push(&git.PushOptions{Auth: c.auth, CABundle: c.ca, RefSpecs: refs})
}

func (c *clone) commit(name, text string) error {
	tree, err := c.repository.Worktree()
	if err != nil {
		return err
	}
	path := filepath.Join("teams", name+".yaml")
	if err := os.WriteFile(filepath.Join(c.folder, path), fmt.Appendf(nil, manifest, name, text), 0o644); err != nil {
		return err
	}
	if _, err := tree.Add(path); err != nil {
		return err
	}
	author := &object.Signature{Name: "Go", Email: "go@example.com", When: time.Now()}
	_, err = tree.Commit("Team "+text, &git.CommitOptions{Author: author})
	return err
}

func claim(text string, check func() error) {
	verdict := map[string]string{"claim": text}
	if err := check(); err != nil {
		verdict["error"] = err.Error()
	}
	print(verdict)
}

func print(verdict map[string]string) {
	line, _ := json.Marshal(verdict)
	fmt.Println(string(line))
}
