// The Java client of fabric8 against an API server: each line of output is a claim in JSON, with an error where it does not hold.
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.DeletionPropagation;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceList;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ListOptionsBuilder;
import io.fabric8.kubernetes.api.model.authorization.v1.SelfSubjectAccessReviewBuilder;
import io.fabric8.kubernetes.api.model.rbac.ClusterRole;
import io.fabric8.kubernetes.api.model.rbac.ClusterRoleBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.MixedOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.ConfigMapLock;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaderElectionRecord;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.Lock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

public final class Clients {
  private static final String GROUP = "management.gitplane.dev";
  private static final ResourceDefinitionContext TEAMS = new ResourceDefinitionContext.Builder()
      .withGroup(GROUP).withVersion("v1").withKind("Team").withPlural("teams").withNamespaced(false).build();
  private static final ResourceDefinitionContext SECRETS = new ResourceDefinitionContext.Builder()
      .withGroup(GROUP).withVersion("v1").withKind("SharedSecret").withPlural("sharedsecrets").withNamespaced(true).build();
  private static final long PATIENCE_SECONDS = 120;

  private final KubernetesClient client;
  private final MixedOperation<GenericKubernetesResource, GenericKubernetesResourceList, Resource<GenericKubernetesResource>> teams;

  private Clients(KubernetesClient client) {
    this.client = client;
    this.teams = client.genericKubernetesResources(TEAMS);
  }

  public static void main(String[] args) throws Exception {
    Config config = Config.fromKubeconfig(new File(args[0]));
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
      Clients clients = new Clients(client);
      claim("discovery and the version are read", clients::discovers);
      claim("watches and informers see every change", clients::watches);
      claim("objects are created, read, replaced and deleted", clients::writes);
      claim("JSON patches, merge patches and edits are applied", clients::patches);
      claim("server-side apply owns fields, and conflicts are 409", clients::applies);
      claim("manifests of several kinds are loaded and applied", clients::loads);
      claim("lists are paged and selected", clients::lists);
      claim("status is not a client's to write", clients::status);
      claim("typed kinds and reviews work", clients::types);
      claim("one after the other leads by a Lease", () -> clients.leads(who -> new LeaseLock("default", "fabric8-lease", who)));
      claim("one after the other leads by a ConfigMap", () -> clients.leads(who -> new ConfigMapLock("default", "fabric8-map", who)));
    }
  }

  interface Judge {
    void judge() throws Exception;
  }

  private static void claim(String words, Judge judge) {
    String error = "";
    try {
      judge.judge();
    } catch (Exception | AssertionError failure) {
      failure.printStackTrace();
      error = ",\"error\":\"" + failure.toString().replaceAll("[\\\\\"\\p{Cntrl}]", " ") + "\"";
    }
    System.out.println("{\"claim\":\"" + words + "\"" + error + "}");
  }

  private static void expect(boolean holds, Object seen) {
    if (!holds) throw new AssertionError("seen: " + seen);
  }

  private static void expectStatus(int code, Judge judge) throws Exception {
    try {
      judge.judge();
    } catch (KubernetesClientException error) {
      expect(error.getCode() == code && error.getStatus() != null, error);
      return;
    }
    throw new AssertionError("no " + code);
  }

  private static void eventually(BooleanSupplier holds, Object seen) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!holds.getAsBoolean()) {
      expect(System.nanoTime() < end, seen);
      Thread.sleep(20);
    }
  }

  private static GenericKubernetesResource team(String name, Map<String, Object> spec) {
    return new GenericKubernetesResourceBuilder().withApiVersion(GROUP + "/v1").withKind("Team")
        .withNewMetadata().withName(name).addToLabels("made", "fabric8").endMetadata()
        .addToAdditionalProperties("spec", spec).build();
  }

  private static String displayName(GenericKubernetesResource object) {
    return object.get("spec", "displayName");
  }

  private void discovers() {
    expect(client.getKubernetesVersion().getMajor().equals("1"), client.getKubernetesVersion());
    expect(client.hasApiGroup(GROUP, true), client.getApiGroups());
    List<String> kinds = client.getApiResources(GROUP + "/v1").getResources().stream().map(one -> one.getKind()).toList();
    expect(kinds.contains("Team"), kinds);
    expect(client.supports(GROUP + "/v1", "SharedSecret"), kinds);
    int definitions = client.apiextensions().v1().customResourceDefinitions().list().getItems().size();
    expect(definitions >= 7, definitions);
  }

  private void watches() throws Exception {
    List<String> watched = new CopyOnWriteArrayList<>();
    List<String> informed = new CopyOnWriteArrayList<>();
    Map<String, String> cache = new ConcurrentHashMap<>();
    CompletableFuture<String> closed = new CompletableFuture<>();
    ResourceEventHandler<GenericKubernetesResource> handler = new ResourceEventHandler<>() {
      @Override
      public void onAdd(GenericKubernetesResource object) {
        informed.add("ADDED");
      }

      @Override
      public void onUpdate(GenericKubernetesResource before, GenericKubernetesResource after) {
        informed.add("MODIFIED");
      }

      @Override
      public void onDelete(GenericKubernetesResource object, boolean unknown) {
        informed.add("DELETED");
      }
    };
    Watcher<GenericKubernetesResource> watcher = new Watcher<>() {
      @Override
      public void eventReceived(Action action, GenericKubernetesResource object) {
        watched.add(action.name());
      }

      @Override
      public void onClose(WatcherException cause) {
        closed.complete(cause.toString());
      }

      @Override
      public void onClose() {
        closed.complete("by the client");
      }
    };
    try (var informer = teams.withLabel("followed").inform(handler); var watch = teams.withLabel("followed").watch(watcher)) {
      eventually(informer::hasSynced, "the informer is not in step");
      GenericKubernetesResource followed = team("fabric8-followed", Map.of("displayName", "One"));
      followed.getMetadata().getLabels().put("followed", "yes");
      teams.resource(followed).create();
      for (int i = 0; i < 20; i++) {
        String name = "Number " + i;
        teams.withName("fabric8-followed").edit(object -> {
          object.setAdditionalProperty("spec", Map.of("displayName", name));
          return object;
        });
      }
      eventually(() -> informer.getStore().list().stream().anyMatch(one -> "Number 19".equals(displayName(one))), informed);
      teams.withName("fabric8-followed").delete();
      eventually(() -> watched.contains("DELETED") && informed.contains("DELETED"), List.of(watched, informed));
      expect(watched.size() == 22 && watched.get(0).equals("ADDED"), watched);
      expect(informed.size() == 22 && informer.getStore().list().isEmpty(), informed);
      expect(informer.isWatching() && !closed.isDone(), closed);
    }
    expect(closed.get(PATIENCE_SECONDS, TimeUnit.SECONDS).equals("by the client"), closed);
  }

  private void writes() throws Exception {
    GenericKubernetesResource made = teams.resource(team("fabric8", Map.of("displayName", "One"))).create();
    expect(made.getMetadata().getUid() != null && made.getMetadata().getGeneration() == 1, made);
    expectStatus(409, () -> teams.resource(team("fabric8", Map.of())).create());
    expectStatus(422, () -> teams.resource(team("fabric8-bad", Map.of("displayName", 7))).create());
    teams.resource(team("fabric8-dry", Map.of())).dryRun().create();
    expect(teams.withName("fabric8-dry").get() == null, "a dry run left an object");
    GenericKubernetesResource changed = new GenericKubernetesResourceBuilder(made).addToAdditionalProperties("spec", Map.of("displayName", "Two")).build();
    expect(displayName(teams.resource(changed).update()).equals("Two"), "no update");
    expectStatus(409, () -> teams.resource(changed).lockResourceVersion(made.getMetadata().getResourceVersion()).update());
    GenericKubernetesResource seen = teams.withName("fabric8").waitUntilCondition(one -> "Two".equals(displayName(one)), PATIENCE_SECONDS, TimeUnit.SECONDS);
    expect(seen.getMetadata().getGeneration() == 2, seen);
    teams.withName("fabric8").withPropagationPolicy(DeletionPropagation.FOREGROUND).delete();
    teams.withName("fabric8").waitUntilCondition(one -> one == null, PATIENCE_SECONDS, TimeUnit.SECONDS);
    expect(teams.withName("fabric8").delete().isEmpty(), "what is not there was deleted");
  }

  private void patches() {
    Resource<GenericKubernetesResource> one = teams.resource(team("fabric8-patched", Map.of("displayName", "One", "users", List.of("ada"))));
    one.create();
    PatchContext merge = PatchContext.of(PatchType.JSON_MERGE);
    GenericKubernetesResource merged = teams.withName("fabric8-patched").patch(merge, "{\"spec\":{\"displayName\":null,\"description\":\"merged\"}}");
    expect(merged.getAdditionalProperties().get("spec").equals(Map.of("description", "merged", "users", List.of("ada"))), merged);
    PatchContext json = PatchContext.of(PatchType.JSON);
    GenericKubernetesResource patched = teams.withName("fabric8-patched").patch(json, "[{\"op\":\"add\",\"path\":\"/spec/users/-\",\"value\":\"bob\"}]");
    expect(patched.get("spec", "users").equals(List.of("ada", "bob")), patched);
    GenericKubernetesResource edited = teams.withName("fabric8-patched").edit(object -> {
      object.getMetadata().getLabels().put("edited", "yes");
      return object;
    });
    expect(edited.getMetadata().getLabels().get("edited").equals("yes"), edited);
    teams.withName("fabric8-patched").delete();
  }

  private void applies() throws Exception {
    GenericKubernetesResource first = teams.resource(team("fabric8-applied", Map.of("displayName", "One", "users", List.of("ada")))).serverSideApply();
    expect(first.getMetadata().getManagedFields().get(0).getOperation().equals("Apply"), first.getMetadata());
    PatchContext other = new PatchContext.Builder().withPatchType(PatchType.SERVER_SIDE_APPLY).withFieldManager("other").withForce(false).build();
    GenericKubernetesResource wanted = team("fabric8-applied", Map.of("displayName", "Two"));
    expectStatus(409, () -> teams.resource(wanted).patch(other, wanted));
    GenericKubernetesResource forced = teams.resource(wanted).fieldManager("other").forceConflicts().serverSideApply();
    expect(displayName(forced).equals("Two") && forced.getMetadata().getManagedFields().size() == 2, forced);
    GenericKubernetesResource left = teams.resource(team("fabric8-applied", Map.of())).serverSideApply();
    expect(left.getAdditionalProperties().get("spec").equals(Map.of("displayName", "Two")), left);
    teams.withName("fabric8-applied").delete();
  }

  private void loads() throws Exception {
    String manifests = """
        apiVersion: management.gitplane.dev/v1
        kind: Team
        metadata: {name: fabric8-loaded}
        spec: {displayName: Loaded}
        ---
        apiVersion: management.gitplane.dev/v1
        kind: SharedSecret
        metadata: {name: fabric8-loaded, namespace: fabric8}
        spec: {owner: {team: fabric8-loaded}, data: {token: eA==}}
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: {name: fabric8-loaded, namespace: fabric8}
        rules: [{apiGroups: [management.gitplane.dev], resources: [sharedsecrets], verbs: [get]}]
        """;
    var loaded = client.load(new ByteArrayInputStream(manifests.getBytes(StandardCharsets.UTF_8)));
    for (int times = 0; times < 2; times++) {
      List<HasMetadata> applied = loaded.serverSideApply();
      expect(applied.size() == 3 && applied.stream().allMatch(one -> one.getMetadata().getGeneration() == null || one.getMetadata().getGeneration() == 1), applied);
    }
    var secret = client.genericKubernetesResources(SECRETS).inNamespace("fabric8").withName("fabric8-loaded");
    expect(secret.get().get("spec", "owner", "team").equals("fabric8-loaded"), secret.get());
    loaded.delete();
    eventually(() -> loaded.get().stream().allMatch(one -> one == null), "something is left");
  }

  private void lists() {
    for (int i = 0; i < 5; i++) teams.resource(team("fabric8-" + i, Map.of())).create();
    List<String> names = teams.withLabel("made", "fabric8").list().getItems().stream().map(one -> one.getMetadata().getName()).toList();
    expect(names.equals(List.of("fabric8-0", "fabric8-1", "fabric8-2", "fabric8-3", "fabric8-4")), names);
    var page = teams.withLabel("made").list(new ListOptionsBuilder().withLimit(2L).build());
    var next = teams.withLabel("made").list(new ListOptionsBuilder().withLimit(9L).withContinue(page.getMetadata().getContinue()).build());
    expect(page.getItems().size() == 2 && next.getItems().size() == 3, next);
    expect(teams.withField("metadata.name", "fabric8-3").list().getItems().size() == 1, "by field");
    expect(teams.withLabelNotIn("made", "fabric8").withLabel("made").list().getItems().isEmpty(), "by selector");
    teams.withLabel("made", "fabric8").delete();
    expect(teams.withLabel("made", "fabric8").list().getItems().isEmpty(), "the collection is not empty");
  }

  private void status() throws Exception {
    GenericKubernetesResource made = teams.resource(team("fabric8-status", Map.of())).create();
    made.setAdditionalProperty("status", Map.of("conditions", List.of()));
    expectStatus(405, () -> teams.resource(made).updateStatus());
    teams.withName("fabric8-status").delete();
  }

  private void types() {
    ClusterRole role = new ClusterRoleBuilder().withNewMetadata().withName("fabric8").endMetadata()
        .addNewRule().withApiGroups(GROUP).withResources("teams").withVerbs("get").endRule().build();
    ClusterRole made = client.rbac().clusterRoles().resource(role).create();
    ClusterRole edited = client.rbac().clusterRoles().withName("fabric8").edit(one -> new ClusterRoleBuilder(one).editFirstRule().addToVerbs("list").endRule().build());
    expect(edited.getRules().get(0).getVerbs().equals(List.of("get", "list")), made);
    client.rbac().clusterRoles().withName("fabric8").delete();
    var review = new SelfSubjectAccessReviewBuilder().withNewSpec().withNewResourceAttributes()
        .withGroup(GROUP).withResource("teams").withVerb("get").endResourceAttributes().endSpec().build();
    expect(client.authorization().v1().selfSubjectAccessReview().create(review).getStatus().getAllowed(), review);
    ConfigMap map = client.configMaps().inNamespace("default").resource(new ConfigMapBuilder()
        .withNewMetadata().withName("fabric8").endMetadata().addToData("a", "b").build()).create();
    expect(map.getData().equals(Map.of("a", "b")), map);
    client.configMaps().inNamespace("default").withName("fabric8").delete();
    List<String> namespaces = client.namespaces().list().getItems().stream().map(one -> one.getMetadata().getName()).toList();
    expect(namespaces.contains("default"), namespaces);
  }

  /** Letting go leaves a lease of one second: the other does not wait for the thirty. */
  private void leads(Function<String, Lock> lockOf) throws Exception {
    for (String identity : List.of("one", "two")) {
      Lock lock = lockOf.apply(identity);
      CompletableFuture<Void> leading = new CompletableFuture<>();
      CompletableFuture<Void> stopped = new CompletableFuture<>();
      LeaderCallbacks callbacks = new LeaderCallbacks(() -> leading.complete(null), () -> stopped.complete(null), who -> {});
      CompletableFuture<?> elector = client.leaderElector().withConfig(new LeaderElectionConfigBuilder()
          .withName("fabric8").withLock(lock).withLeaderCallbacks(callbacks).withReleaseOnCancel(true)
          .withLeaseDuration(Duration.ofSeconds(30)).withRenewDeadline(Duration.ofSeconds(20)).withRetryPeriod(Duration.ofMillis(200)).build()).build().start();
      leading.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      LeaderElectionRecord first = lock.get(client);
      expect(first.getHolderIdentity().equals(identity) && first.getLeaseDuration().toSeconds() == 30, first);
      eventually(() -> lock.get(client).getRenewTime().isAfter(first.getRenewTime()), "it is not renewed");
      elector.cancel(true);
      stopped.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      eventually(() -> lock.get(client).getLeaseDuration().toSeconds() == 1, "it is still held");
    }
  }
}
