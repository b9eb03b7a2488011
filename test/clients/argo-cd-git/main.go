// Command argo-cd-git reads a repository with the git client of Argo CD's repository server. Each line of output is
// a claim in JSON, with an error where it does not hold. The token is in GITPLANE_TOKEN, and the folder with the
// certificate of the server in ARGOCD_TLS_DATA_PATH, as Argo CD mounts it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/util/git"
	"github.com/sirupsen/logrus"
)

type source struct {
	url    string
	folder string
	token  string
	clones int
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: argo-cd-git URL FOLDER")
		os.Exit(2)
	}
	logrus.SetLevel(logrus.WarnLevel)
	s := &source{url: os.Args[1], folder: os.Args[2], token: os.Getenv("GITPLANE_TOKEN")}
	basic := git.NewHTTPSCreds("admin", s.token, "", "", "", false, git.NoopCredsStore{}, true)
	bearer := git.NewHTTPSCreds("", "", s.token, "", "", false, git.NoopCredsStore{}, false)
	claim("refs are listed and resolved, with basic authentication and a bearer token", func() error {
		return errors.Join(s.resolves(basic), s.resolves(bearer))
	})
	claim("a revision is fetched and checked out, whole and shallow", func() error {
		return errors.Join(s.checksOut(basic, 0), s.checksOut(bearer, 0), s.checksOut(basic, 1))
	})
	claim("a commit is described, and the files that it changed", func() error { return s.describes(basic) })
	claim("a wrong token and a revision that is not there are refused", func() error { return s.refused(basic) })
	claim("every fetch is whole while the daemon writes", func() error { return s.whileWritten(basic) })
}

// client is that of a fresh folder.
func (s *source) client(creds git.Creds) (git.Client, error) {
	s.clones++
	client, err := git.NewClientExt(s.url, filepath.Join(s.folder, fmt.Sprint(s.clones)), creds, false, false, "", "")
	if err != nil {
		return nil, err
	}
	return client, client.Init()
}

// resolves expects what the test made: v1.0.0, an annotated v1.2.0 and v2.0.0, in this order.
func (s *source) resolves(creds git.Creds) error {
	client, err := s.client(creds)
	if err != nil {
		return err
	}
	refs, err := client.LsRefs()
	if err != nil {
		return err
	}
	if !slices.Equal(refs.Branches, []string{"main"}) || !slices.Equal(refs.Tags, []string{"v1.0.0", "v1.2.0", "v2.0.0"}) {
		return fmt.Errorf("%v", refs)
	}
	head, err := client.LsRemote("")
	if err != nil {
		return err
	}
	for revision, same := range map[string]string{"main": head, "HEAD": head, "refs/heads/main": head, "1.x": "v1.2.0", ">=1.0.0": "v2.0.0", "~1.0": "v1.0.0"} {
		if !git.IsCommitSHA(same) {
			if same, err = client.LsRemote(same); err != nil {
				return err
			}
		}
		found, err := client.LsRemote(revision)
		if err := errors.Join(err, expect(found == same, "%s is %s instead of %s", revision, found, same)); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) checksOut(creds git.Creds, depth int64) error {
	client, err := s.client(creds)
	if err != nil {
		return err
	}
	head, err := fetchAndCheckOut(client, "main", depth)
	if err != nil {
		return err
	}
	files, err := client.LsFiles("teams/*.yaml", true)
	if err != nil {
		return err
	}
	present := client.IsRevisionPresent(head)
	return expect(present && slices.Contains(files, "teams/argo.yaml"), "%v, %v", present, files)
}

// fetchAndCheckOut does what the repository server does for a revision, and lets git check every object.
func fetchAndCheckOut(client git.Client, revision string, depth int64) (string, error) {
	wanted, err := client.LsRemote(revision)
	if err != nil {
		return "", err
	}
	if !client.IsRevisionPresent(wanted) {
		if err := client.Fetch(wanted, depth); err != nil {
			return "", err
		}
	}
	if _, err := client.Checkout(wanted, true, true); err != nil {
		return "", err
	}
	seen, err := client.CommitSHA()
	if err := errors.Join(err, expect(seen == wanted, "%s instead of %s", seen, wanted)); err != nil {
		return "", err
	}
	check := exec.Command("git", "-C", client.Root(), "fsck", "--strict", "--no-dangling")
	if output, err := check.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return wanted, nil
}

func (s *source) describes(creds git.Creds) error {
	client, err := s.client(creds)
	if err != nil {
		return err
	}
	head, err := fetchAndCheckOut(client, "main", 0)
	if err != nil {
		return err
	}
	about, err := client.RevisionMetadata(head)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(about.Author, "admin <") || !strings.Contains(about.Message, `Team "argo"`) {
		return fmt.Errorf("%v", about)
	}
	tagged, err := client.LsRemote("v2.0.0")
	if err != nil {
		return err
	}
	changed, err := client.ChangedFiles(tagged, head)
	return errors.Join(err, expect(slices.Equal(changed, []string{"teams/argo.yaml"}), "%v", changed))
}

func (s *source) refused(creds git.Creds) error {
	stranger, err := s.client(git.NewHTTPSCreds("admin", "wrong", "", "", "", false, git.NoopCredsStore{}, true))
	if err != nil {
		return err
	}
	_, listed := stranger.LsRefs()
	fetched := stranger.Fetch("main", 0)
	if listed == nil || fetched == nil || !strings.Contains(listed.Error(), "authentication required") {
		return fmt.Errorf("a wrong token: %v, %v", listed, fetched)
	}
	client, err := s.client(creds)
	if err != nil {
		return err
	}
	_, err = client.LsRemote("nowhere")
	return expect(err != nil, "a branch that is not there was resolved")
}

// whileWritten ends when it has checked out the commit that a line of input names.
func (s *source) whileWritten(creds git.Creds) error {
	client, err := s.client(creds)
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
		head, err := fetchAndCheckOut(client, "main", 0)
		if err != nil {
			return err
		}
		say(map[string]string{"read": head})
		if head == wanted {
			return nil
		}
		select {
		case wanted = <-last:
		default:
		}
	}
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
