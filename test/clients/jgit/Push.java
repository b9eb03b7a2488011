// JGit pushes to a repository whose branch has gone on since the clone: each line of output is a claim in JSON, with an
// error where it does not hold. The token is in GITPLANE_TOKEN; the certificate authority is a trust store of Java.
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.eclipse.jgit.api.Git;
import org.eclipse.jgit.api.MergeCommand.FastForwardMode;
import org.eclipse.jgit.api.PullResult;
import org.eclipse.jgit.transport.PushResult;
import org.eclipse.jgit.transport.RefSpec;
import org.eclipse.jgit.transport.RemoteRefUpdate;
import org.eclipse.jgit.transport.UsernamePasswordCredentialsProvider;

public final class Push {
  private static final String MANIFEST =
      "apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: jgit\nspec:\n  displayName: %s\n";

  private static Git git;
  private static UsernamePasswordCredentialsProvider credentials;

  private Push() {}

  public static void main(String[] args) throws Exception {
    credentials = new UsernamePasswordCredentialsProvider("admin", System.getenv("GITPLANE_TOKEN"));
    claim("it clones", () -> {
      git = Git.cloneRepository().setURI(args[0]).setDirectory(new File(args[1]))
          .setCredentialsProvider(credentials).call();
      return null;
    });
    System.out.println("{\"waiting\":\"for the branch to go on\"}");
    System.in.read();
    claim("a plain push with an older base lands", () -> push("one", false));
    claim("a second push without a pull lands", () -> push("two", false));
    claim("an atomic push of the branch and a tag lands", () -> {
      commit("three");
      git.tag().setName("jgit").setAnnotated(false).call();
      return send(true, new RefSpec("refs/heads/main:refs/heads/main"), new RefSpec("refs/tags/jgit:refs/tags/jgit"));
    });
    claim("a pull fast-forwards", () -> {
      PullResult pulled = git.pull().setCredentialsProvider(credentials).setFastForward(FastForwardMode.FF_ONLY).call();
      return pulled.isSuccessful() ? null : pulled.toString();
    });
  }

  private static String push(String text, boolean atomic) throws Exception {
    commit(text);
    return send(atomic);
  }

  private static void commit(String text) throws Exception {
    Path file = git.getRepository().getWorkTree().toPath().resolve("teams/jgit.yaml");
    Files.writeString(file, String.format(MANIFEST, text));
    git.add().addFilepattern("teams/jgit.yaml").call();
    git.commit().setMessage("Team " + text).setAuthor("Java", "java@example.com").setSign(false).call();
  }

  /** Returns what was refused. */
  private static String send(boolean atomic, RefSpec... refs) throws Exception {
    StringBuilder refused = new StringBuilder();
    for (PushResult result : git.push().setCredentialsProvider(credentials).setAtomic(atomic)
        .setRefSpecs(List.of(refs)).call()) {
      for (RemoteRefUpdate update : result.getRemoteUpdates()) {
        if (update.getStatus() != RemoteRefUpdate.Status.OK) {
          refused.append(update).append(' ').append(result.getMessages());
        }
      }
    }
    return refused.length() == 0 ? null : refused.toString();
  }

  private static void claim(String text, Callable<String> check) {
    String error;
    try {
      error = check.call();
    } catch (Exception thrown) {
      error = thrown.toString();
    }
    String end = error == null ? "" : ",\"error\":\"" + error.replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"";
    System.out.println("{\"claim\":\"" + text + "\"" + end + "}");
  }
}
