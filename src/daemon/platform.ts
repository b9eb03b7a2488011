/**
 * The platform without a network: repository, state, branch, registry, access control and
 * controllers.
 */
import { createHash } from 'node:crypto';
import type { KubeObject } from '../apimachinery/index.ts';
import type { KeyExpiry } from '../controllers/index.ts';
import type { BareRepository, Following } from '../git/index.ts';
import { History, Planner } from '../history/index.ts';
import { buildKindTable, type KindTable, schemaDocument, schemaNames } from '../kinds/index.ts';
import {
  Branch,
  type BranchOptions,
  type Guard,
  type ObjectRegistry,
  type PendingWrites,
  PushJudge,
  ReadableStore,
  Registry,
  Suspensions,
  type WriteParts,
} from '../registry/index.ts';
import type { LedRepository } from '../replication/index.ts';
import type { CommitSignature } from '../signatures/index.ts';
import type { Store } from '../state/index.ts';
import { VERSION } from '../version.ts';
import { type AccessControl, startAccessControl } from './access/access-control.ts';
import { openTokenService, type TokenService } from './access/endpoint-token-issuer.ts';
import { saveActivity } from './access/last-uses.ts';
import { startControllers } from './background/controllers.ts';
import type { SecretStore } from './background/secret-store-sync.ts';
import { type ConfigService, openConfig } from './config/config-service.ts';
import { type CoreObjects, openCoreObjects } from './core/core-objects.ts';
import { type GuardParts, writeGuards } from './guards/guards.ts';
import { storeLinkAdvice } from './guards/store-link-guard.ts';
import { uniqueNameAdvice } from './guards/unique-name-advice.ts';
import { type Observation, observeBranch } from './observability/branch-observation.ts';
import { observeSuspensions } from './observability/suspension-observation.ts';
import type { DaemonOptions } from './options.ts';
import type { PlatformContext } from './platform-context.ts';
import { explainDamage } from './repository/explain-damage.ts';
import { openPendingWrites } from './repository/pending-writes.ts';
import { observeRemote } from './repository/remote-observation.ts';
import { openSecrets, type Secrets } from './repository/secrets.ts';
import { openSignatures } from './repository/signatures.ts';
import { makeFirstCommit, openSource } from './repository/source.ts';
import { StartOrder } from './start-order.ts';
import { openState } from './state/open-state.ts';

export interface Platform {
  readonly kinds: KindTable;
  readonly repository: BareRepository;
  /** Undefined: the repository is hosted here. */
  readonly following: Following | undefined;
  readonly store: Store;
  readonly branch: Branch;
  /** Writes of clients, for review if a review branch is configured. */
  readonly registry: ObjectRegistry;
  /** Writes to the served branch and to the state, without review. */
  readonly served: Registry;
  /** Undefined: writes of clients go to the served branch. */
  readonly pending: PendingWrites | undefined;
  readonly history: History;
  /** Signatures of commits, in the order of the ids. */
  readonly signatures: { of(ids: readonly string[]): Promise<readonly CommitSignature[]> };
  readonly planner: Planner;
  readonly judge: PushJudge;
  readonly access: AccessControl;
  readonly config: ConfigService;
  readonly tokens: TokenService;
  readonly observation: Observation;
  readonly core: CoreObjects;
  readonly secretStore: SecretStore;
  readonly suspensions: Suspensions;
  /** Set once the clusters of tenants are open. */
  readonly formerClusters: Required<GuardParts>['formerClusters'];
  readonly keyExpiry: KeyExpiry;
  /** Undefined: a single daemon, or a followed repository. */
  readonly led: LedRepository | undefined;
  close(): Promise<void>;
}

const PARTS = StartOrder.with<PlatformContext>()
  .make('kinds', ({ options }) => buildKindTable(options.apiGroup))
  .make('onError', ({ logger }) => (error: unknown): void => {
    logger.error({ err: error }, 'Background work failed');
  })
  .make('remote', (given) => given.options.remote && observeRemote(given))
  .open('signatures', openSignatures)
  .open('secrets', openSecrets)
  .open('state', openState)
  .make('store', ({ state }) => state.store)
  .open('suspensions', (given) => new Suspensions(given))
  .open('source', openSource)
  .make('firstCommit', makeFirstCommit)
  .make('observation', (given) => observeBranch({ ...given, loss: given.state.loss }))
  .make('rules', ({ options, secrets }) => rulesFingerprint(options, secrets.fingerprint))
  .open('branch', openBranch)
  .make('metrics', ({ observation }) => observation.metrics)
  .open('config', openConfig)
  .open('access', openAccess)
  .make('tokens', openTokens)
  .make('readable', ({ store, kinds }) => new ReadableStore(store, kinds))
  .make('formerClusters', (): Required<GuardParts>['formerClusters'] => ({ current: undefined }))
  .make('checks', writeChecks)
  .make('owners', (): OwnerRelease => ({ release: () => Promise.resolve() }))
  .make('served', makeRegistry)
  .open('pending', openPending)
  .make('judge', makePushJudge)
  .open('core', openCoreObjects)
  .open('history', ({ source, branch, kinds, secrets: { reader }, options }) => {
    const { repository, following } = source;
    const isFollowed = following !== undefined;
    return new History({ repository, branch, kinds, reader, under: options.under, isFollowed });
  })
  .open('suspensionsObserved', (given) => observeSuspensions({ ...given, store: given.readable }))
  .open('controllers', (given) =>
    startControllers({
      ...given,
      registry: given.pending ?? given.served,
      events: given.core.events,
      isReviewed: given.pending !== undefined,
    }),
  );

/** Throws an error whose one line names the place and the remedy when a part cannot be opened. */
export async function openPlatform(context: PlatformContext): Promise<Platform> {
  const { parts, close } = await PARTS.start(context);
  const { source, kinds, judge, served, pending, controllers } = parts;
  const { repository, following } = source;
  parts.owners.release = controllers.release;
  return {
    kinds,
    repository,
    following,
    store: parts.readable,
    branch: parts.branch,
    registry: pending ?? served,
    served,
    pending,
    history: parts.history,
    signatures: { of: (ids) => parts.signatures.inspector.inspect(repository, ids) },
    planner: new Planner({ repository, judge, kinds }),
    judge,
    access: parts.access,
    config: parts.config,
    tokens: parts.tokens,
    observation: parts.observation,
    core: parts.core,
    secretStore: controllers.secretStore,
    suspensions: parts.suspensions,
    formerClusters: parts.formerClusters,
    keyExpiry: controllers.keyExpiry,
    led: context.replicated?.repository,
    close,
  };
}

/** Of the garbage collector, which writes through the registry that calls it. */
interface OwnerRelease {
  release(owner: KubeObject): Promise<void>;
}

type OnError = (error: unknown) => void;

interface BranchContext extends PlatformContext {
  readonly source: { readonly repository: BareRepository };
  readonly store: BranchOptions['store'];
  readonly kinds: KindTable;
  readonly secrets: Secrets;
  readonly observation: Observation;
  readonly rules: string;
  readonly onError: OnError;
}

async function openBranch(given: BranchContext): Promise<Branch> {
  const { source, options, steps, store, kinds, clock, secrets, observation, rules } = given;
  const { repository } = source;
  const { reader, sealer } = secrets;
  const { observer } = observation;
  const { under, pruneBudget: budget } = options;
  steps.begin('reading the branch', { unit: 'files', counter: secrets.counter });
  const context = { repository, store, kinds, reader, clock, observer, sealer, rules };
  const branch = await Branch.open({ ...context, under, budget }).catch(async (error: unknown) => {
    throw await explainDamage(repository, error);
  });
  branch.runExclusive(async (state) => state.repairDerivedSecrets()).catch(given.onError);
  await secrets.report(branch, observation);
  observation.follow(branch);
  return branch;
}

interface AccessContext {
  readonly kinds: KindTable;
  readonly store: Store;
  readonly branch: Branch;
  readonly clock: PlatformContext['clock'];
  readonly config: Pick<ConfigService, 'current'>;
  readonly onError: OnError;
}

function openAccess(given: AccessContext): AccessControl {
  const access = accessOf(given);
  return { ...access, close: () => access.close().catch(given.onError) };
}

/** Rights of the objects in a store. */
function accessOf(given: AccessContext): AccessControl {
  const { config } = given;
  return startAccessControl({
    ...given,
    saveUses: (uses) => saveActivity(given, uses),
    limits: () => config.current.auth,
    projectPrefix: () => config.current.projectNamespacePrefix,
  });
}

type TokenContext = PlatformContext & Pick<AccessContext, 'kinds' | 'store'> & AccessPart;

interface AccessPart {
  readonly access: AccessControl;
}

async function openTokens(given: TokenContext): Promise<TokenService> {
  const { options, data, clock, issuer, store, kinds, access } = given;
  const maxTtlSeconds = options.endpointTokenMaxTtl;
  const keyFile = data.signingKey;
  return await openTokenService({ store, kinds, access, keyFile, maxTtlSeconds, issuer, clock });
}

function writeChecks(
  given: Omit<TokenContext, 'issuer'> &
    Pick<GuardParts, 'formerClusters'> & { readonly config: ConfigService },
): WriteChecks {
  const { kinds, store, clock, options, access, config } = given;
  const guards = makeGuards(given);
  const advice = [storeLinkAdvice(() => config.secretStores), uniqueNameAdvice(access.directory)];
  return {
    kinds,
    store,
    clock,
    under: options.under,
    guards,
    advice: (...change) => advice.flatMap((one) => one(...change)),
    authorizer: access.authorizer,
  };
}

function makeGuards(
  given: Pick<AccessContext, 'kinds' | 'clock' | 'config' | 'store'> &
    Pick<GuardParts, 'formerClusters'> &
    AccessPart,
): readonly Guard[] {
  return writeGuards({ ...given, limits: () => given.config.current.auth });
}

type WriteChecks = WriteParts & Pick<AccessControl, 'authorizer'>;

interface WriteContext {
  readonly checks: WriteChecks;
  readonly branch: Branch;
}

/** Readers see derived objects; guards and writes see the store without them. */
function makeRegistry(
  given: WriteContext & {
    readonly readable: ReadableStore;
    readonly tokens: TokenService;
    readonly owners: OwnerRelease;
  },
): Registry {
  const { checks, branch, readable, tokens, owners } = given;
  return new Registry({
    ...checks,
    store: readable,
    branch,
    issuers: { [tokens.plural]: tokens.issue },
    release: (owner) => owners.release(owner),
  });
}

/** Opens the review branch, if one is configured. */
async function openPending(
  given: BranchContext &
    SigningContext &
    WriteContext & { readonly served: Registry; readonly config: ConfigService },
): Promise<PendingWrites | undefined> {
  const { options, data, logger, replicated, checks, branch, secrets, rules, signatures } = given;
  const { remote, maxPaths } = options;
  if (remote?.writeBranch === undefined) return undefined;
  const { reader, sealer } = secrets;
  return await openPendingWrites({
    ...checks,
    branch,
    reader,
    sealer,
    rules,
    sign: signatures.sign,
    mayCopy: signatures.mayCopy,
    registry: given.served,
    guardsOn: (store) => makeGuards({ ...given, access: accessOf({ ...given, store }) }),
    source: remote,
    writeBranch: remote.writeBranch,
    gitDir: data.repository,
    maxPaths,
    logger,
    term: replicated?.term,
  });
}

interface SigningContext {
  readonly signatures: Awaited<ReturnType<typeof openSignatures>>;
}

function makePushJudge(given: BranchContext & SigningContext & WriteContext): PushJudge {
  const { checks, branch, source, signatures, options } = given;
  return new PushJudge({
    ...checks,
    branch,
    repository: source.repository,
    signatures: signatures.judge,
    refusePlaintext: options.refusePlaintext,
  });
}

/** Fingerprint of everything beside a manifest that its verdict depends on. */
function rulesFingerprint(options: DaemonOptions, keys: string): string {
  const { apiGroup, under, allowPlaintextSecrets, maxPaths } = options;
  const digest = createHash('sha256');
  digest.update(JSON.stringify([VERSION, apiGroup, under, allowPlaintextSecrets, maxPaths, keys]));
  for (const name of schemaNames()) digest.update(JSON.stringify(schemaDocument(name)));
  return digest.digest('hex');
}
