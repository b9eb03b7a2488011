// Command flux reads a repository with the git client of Flux's source-controller. Each line of output is a
// claim in JSON, with an error where it does not hold. The token is in GITPLANE_TOKEN.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/git"
	"github.com/fluxcd/pkg/git/gogit"
	"github.com/fluxcd/pkg/git/repository"
	extgogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
)

const limit = 5 * time.Minute

// source is a GitRepository of Flux, as far as its client takes it.
type source struct {
	url    string
	ca     []byte
	folder string
	data   map[string][]byte
	clones int
}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: flux URL CA-FILE FOLDER PUBLIC-KEY-FILE OTHER-PUBLIC-KEY-FILE")
		os.Exit(2)
	}
	files := [][]byte{}
	for _, name := range []string{os.Args[2], os.Args[4], os.Args[5]} {
		content, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		files = append(files, content)
	}
	token := []byte(os.Getenv("GITPLANE_TOKEN"))
	s := &source{url: os.Args[1], ca: files[0], folder: os.Args[3]}
	s.data = map[string][]byte{"username": []byte("admin"), "password": token, "ca.crt": s.ca}
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	claim("the branch is cloned whole", func() error { return s.whole(ctx) })
	claim("the branch is cloned shallow, with a bearer token", func() error { return s.shallow(ctx, token) })
	claim("what did not change is not fetched", func() error { return s.unchanged(ctx) })
	claim("an older commit is checked out", func() error { return s.older(ctx) })
	claim("the highest tag of a range is checked out", func() error { return s.ranges(ctx) })
	claim("one folder alone is checked out", func() error { return s.sparse(ctx) })
	claim("the signature of the daemon is good, and only with its key", func() error { return s.signed(ctx, string(files[1]), string(files[2])) })
	claim("a wrong token and a branch that is not there are refused", func() error { return s.refused(ctx) })
	claim("clones and fetches are whole while the daemon writes", func() error { return s.whileWritten(ctx) })
}

// clone clones with the credentials of a secret into a fresh folder, and returns the folder too.
func (s *source) clone(ctx context.Context, data map[string][]byte, config repository.CloneConfig) (*git.Commit, string, error) {
	url, err := neturl.Parse(s.url)
	if err != nil {
		return nil, "", err
	}
	options, err := git.NewAuthOptions(*url, data)
	if err != nil {
		return nil, "", err
	}
	s.clones++
	folder := filepath.Join(s.folder, fmt.Sprint(s.clones))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, "", err
	}
	client, err := gogit.NewClient(folder, options, gogit.WithDiskStorage(), gogit.WithSingleBranch(true))
	if err != nil {
		return nil, "", err
	}
	defer client.Close()
	commit, err := client.Clone(ctx, s.url, config)
	return commit, folder, err
}

func onBranch(name string) repository.CloneConfig {
	return repository.CloneConfig{CheckoutStrategy: repository.CheckoutStrategy{Branch: name}}
}

func (s *source) whole(ctx context.Context) error {
	commit, folder, err := s.clone(ctx, s.data, onBranch("main"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "teams/flux.yaml")); err != nil {
		return err
	}
	count, err := verifyAll(folder)
	return errors.Join(err, expect(git.IsConcreteCommit(*commit) && count >= 4, "%d commits at %v", count, commit))
}

// verifyAll reads every object of every commit, and compares the files with the commit that is checked out.
func verifyAll(folder string) (int, error) {
	repo, err := extgogit.PlainOpen(folder)
	if err != nil {
		return 0, err
	}
	commits, err := repo.Log(&extgogit.LogOptions{})
	if err != nil {
		return 0, err
	}
	shallow, err := repo.Storer.Shallow()
	if err != nil {
		return 0, err
	}
	count := 0
	err = commits.ForEach(func(commit *object.Commit) error {
		count++
		files, err := commit.Files()
		if err != nil {
			return err
		}
		err = files.ForEach(func(file *object.File) error {
			_, err := file.Contents()
			return err
		})
		if err == nil && slices.Contains(shallow, commit.Hash) {
			return storer.ErrStop
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("after %d commits: %w", count, err)
	}
	tree, err := repo.Worktree()
	if err != nil {
		return 0, err
	}
	status, err := tree.Status()
	return count, errors.Join(err, expect(status.IsClean(), "%v", status))
}

func (s *source) shallow(ctx context.Context, token []byte) error {
	config := onBranch("main")
	config.ShallowClone = true
	commit, folder, err := s.clone(ctx, map[string][]byte{"bearerToken": token, "ca.crt": s.ca}, config)
	if err != nil {
		return err
	}
	count, err := verifyAll(folder)
	return errors.Join(err, expect(count == 1, "%d commits at %v", count, commit))
}

func (s *source) unchanged(ctx context.Context) error {
	first, _, err := s.clone(ctx, s.data, onBranch("main"))
	if err != nil {
		return err
	}
	config := onBranch("main")
	config.LastObservedCommit = first.String()
	again, _, err := s.clone(ctx, s.data, config)
	return errors.Join(err, expect(again != nil && !git.IsConcreteCommit(*again) && again.String() == first.String(), "%v after %v", again, first))
}

func (s *source) older(ctx context.Context) error {
	_, folder, err := s.clone(ctx, s.data, onBranch("main"))
	if err != nil {
		return err
	}
	repo, err := extgogit.PlainOpen(folder)
	if err != nil {
		return err
	}
	parent, err := repo.ResolveRevision("HEAD~1")
	if err != nil {
		return err
	}
	config := onBranch("main")
	config.Commit = parent.String()
	commit, folder, err := s.clone(ctx, s.data, config)
	if err != nil {
		return err
	}
	_, err = verifyAll(folder)
	return errors.Join(err, expect(commit.Hash.String() == parent.String(), "%v instead of %v", commit, parent))
}

// The test made v1.0.0, an annotated v1.2.0 and v2.0.0, in this order.
func (s *source) ranges(ctx context.Context) error {
	for wanted, tag := range map[string]string{"1.x": "v1.2.0", ">=1.0.0": "v2.0.0", "~1.0": "v1.0.0"} {
		config := repository.CloneConfig{CheckoutStrategy: repository.CheckoutStrategy{SemVer: wanted}}
		commit, folder, err := s.clone(ctx, s.data, config)
		if err != nil {
			return fmt.Errorf("%s: %w", wanted, err)
		}
		_, err = verifyAll(folder)
		if err := errors.Join(err, expect(strings.HasSuffix(commit.Reference, "/"+tag), "%s is %v", wanted, commit)); err != nil {
			return err
		}
		if tag == "v1.2.0" && (commit.ReferencingTag == nil || commit.ReferencingTag.Name != tag) {
			return fmt.Errorf("its tag is %v", commit.ReferencingTag)
		}
	}
	return nil
}

func (s *source) sparse(ctx context.Context) error {
	config := onBranch("main")
	config.SparseCheckoutDirectories = []string{"teams"}
	_, folder, err := s.clone(ctx, s.data, config)
	if err != nil {
		return err
	}
	found := []string{}
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return errors.Join(err, expect(strings.Join(found, " ") == ".git teams", "%v", found))
}

func (s *source) signed(ctx context.Context, daemon, other string) error {
	commit, _, err := s.clone(ctx, s.data, onBranch("main"))
	if err != nil {
		return err
	}
	if _, err := commit.VerifySSH(daemon); err != nil {
		return fmt.Errorf("%s: %w", commit.SignatureType(), err)
	}
	_, err = commit.VerifySSH(other)
	return expect(err != nil, "it is good with another key")
}

func (s *source) refused(ctx context.Context) error {
	wrong := map[string][]byte{"username": []byte("admin"), "password": []byte("wrong"), "ca.crt": s.ca}
	_, _, err := s.clone(ctx, wrong, onBranch("main"))
	if err == nil || !strings.Contains(err.Error(), "authentication") {
		return fmt.Errorf("a wrong token: %w", err)
	}
	_, _, err = s.clone(ctx, s.data, onBranch("nowhere"))
	return expect(err != nil && strings.Contains(err.Error(), "couldn't find remote ref"), "a branch that is not there: %v", err)
}

// whileWritten ends when it has fetched and cloned the commit that a line of input names.
func (s *source) whileWritten(ctx context.Context) error {
	_, kept, err := s.clone(ctx, s.data, onBranch("main"))
	if err != nil {
		return err
	}
	last := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		last <- strings.TrimSpace(line)
	}()
	say(map[string]string{"waiting": "for writes"})
	for wanted := ""; ; {
		cloned, folder, err := s.clone(ctx, s.data, onBranch("main"))
		if err != nil {
			return fmt.Errorf("clone %d: %w", s.clones, err)
		}
		if _, err := verifyAll(folder); err != nil {
			return fmt.Errorf("clone %d: %w", s.clones, err)
		}
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		pulled, err := s.pull(ctx, kept)
		if err != nil {
			return fmt.Errorf("fetch after clone %d: %w", s.clones, err)
		}
		say(map[string]string{"read": pulled})
		if cloned.Hash.String() == wanted && pulled == wanted {
			return nil
		}
		select {
		case wanted = <-last:
		default:
		}
	}
}

// pull fetches what is new into a clone, and returns the commit that is checked out then.
func (s *source) pull(ctx context.Context, folder string) (string, error) {
	repo, err := extgogit.PlainOpen(folder)
	if err != nil {
		return "", err
	}
	tree, err := repo.Worktree()
	if err != nil {
		return "", err
	}
	err = tree.PullContext(ctx, &extgogit.PullOptions{
		RemoteName: "origin", ReferenceName: "refs/heads/main", SingleBranch: true, CABundle: s.ca,
		Auth: &http.BasicAuth{Username: "admin", Password: string(s.data["password"])},
	})
	if err != nil && !errors.Is(err, extgogit.NoErrAlreadyUpToDate) {
		return "", err
	}
	if _, err := verifyAll(folder); err != nil {
		return "", err
	}
	head, err := repo.Head()
	if err != nil {
		return "", err
	}
	return head.Hash().String(), nil
}

func claim(words string, judge func() error) {
	found := map[string]string{"claim": words}
	if err := judge(); err != nil {
		found["error"] = err.Error()
	}
	say(found)
}

func say(what any) {
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	if _, err := io.WriteString(os.Stdout, string(line)+"\n"); err != nil {
		panic(err)
	}
}

func expect(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}
