/**
 * The platform without a network: repository, state, branch, registry and access control, put
 * together in the order in which they need each other.
 */
import { createHash } from 'node:crypto';
import type { FileReader } from '../catalog/index.ts';
import type { KeyExpiry } from '../controllers/index.ts';
import type { BareRepository, CommitSignature, Following } from '../git/index.ts';
import { History, Planner } from '../history/index.ts';
import { buildKindTable, type KindTable, schemaDocument, schemaNames } from '../kinds/index.ts';
import {
  type Advice,
  Branch,
  type BranchOptions,
  type ObjectRegistry,
  type PendingWrites,
  PushJudge,
  ReadableStore,
  Registry,
  type Sealer,
  type WriteParts,
} from '../registry/index.ts';
import type { LedRepository } from '../replication/index.ts';
import type { Store } from '../state/index.ts';
import { VERSION } from '../version.ts';
import { type AccessControl, startAccessControl } from './access/access-control.ts';
import { openTokenService, type TokenService } from './access/endpoint-token-issuer.ts';
import { saveActivity } from './access/last-uses.ts';
import { startControllers } from './background/controllers.ts';
import type { SecretStore } from './background/secret-store-sync.ts';
import { type ConfigService, openConfig } from './config/config-service.ts';
import { type CoreObjects, openCoreObjects } from './core/core-objects.ts';
import { writeGuards } from './guards/guards.ts';
import { storeLinkAdvice } from './guards/store-link-guard.ts';
import { uniqueNameAdvice } from './guards/unique-name-advice.ts';
import { type Observation, observeBranch } from './observability/branch-observation.ts';
import type { DaemonOptions } from './options.ts';
import type { Opened, PlatformContext } from './platform-context.ts';
import { explainDamage } from './repository/explain-damage.ts';
import { openPendingWrites } from './repository/pending-writes.ts';
import { observeRemote } from './repository/remote-observation.ts';
import { openSecrets } from './repository/secrets.ts';
import { openSignatures } from './repository/signatures.ts';
import { openSource } from './repository/source.ts';
import { openState } from './state/open-state.ts';

export interface Platform {
  readonly kinds: KindTable;
  readonly repository: BareRepository;
  /** Absent: the repository is hosted here. */
  readonly following: Following | undefined;
  readonly store: Store;
  readonly branch: Branch;
  readonly registry: ObjectRegistry;
  /** Writes to the branch that is served, and to the state, wherever those of others go. */
  readonly served: Registry;
  /** Absent: writes go to the branch that is served. */
  readonly pending: PendingWrites | undefined;
  readonly history: History;
  readonly planner: Planner;
  readonly judge: PushJudge;
  readonly access: AccessControl;
  readonly config: ConfigService;
  readonly tokens: TokenService;
  readonly observation: Observation;
  readonly core: CoreObjects;
  readonly secretStore: SecretStore;
  readonly keyExpiry: KeyExpiry;
  /** Absent: nobody shares it, or a branch elsewhere is followed. */
  readonly led: LedRepository | undefined;
  close(): Promise<void>;
}

/** Throws with one line that names the place and the remedy when something cannot be opened. */
export async function openPlatform(parts: PlatformContext): Promise<Platform> {
  const opened: Opened = [];
  try {
    return await openParts(parts, opened);
  } catch (error) {
    for (const part of opened.reverse()) await part.close().catch(() => undefined);
    throw error;
  }
}

function writeAdvice(config: ConfigService, { directory }: AccessControl): Advice {
  const advices = [storeLinkAdvice(() => config.secretStores), uniqueNameAdvice(directory)];
  return (...change) => advices.flatMap((one) => one(...change));
}

async function openParts(parts: PlatformContext, opened: Opened): Promise<Platform> {
  const { options, data, logger, clock } = parts;
  const kinds = buildKindTable(options.apiGroup);
  const onError = (error: unknown): void => logger.error({ err: error }, 'Background work failed');
  const remote = options.remote && observeRemote({ clock, logger });
  const signatures = await openSignatures({ options, dataDir: data.root, clock, logger });
  opened.push(signatures);
  const secrets = await openSecrets({ ...parts, kinds });
  opened.push(secrets);
  const { reader, sealer } = secrets;
  const source = { ...parts, ...secrets, kinds, opened, remote, signatures };
  const { repository, following } = await openSource(source);
  const onRecovered = (): void => logger.info('The state can be kept again');
  const { store, loss } = await openState(parts, kinds, { onError, onRecovered });
  opened.push(store);
  const observation = observeBranch({ ...parts, kinds, store, remote, loss });
  const { observer, metrics } = observation;
  const rules = rulesFingerprint(options, secrets.fingerprint);
  const ground = { repository, store, kinds, reader, clock, observer, sealer, rules };
  const branch = await openBranch(parts, { ...ground, onError });
  opened.push(branch);
  await secrets.report(branch, observation);
  observation.follow(branch);
  const config = openConfig({ options, kinds, store, branch, clock, logger, metrics });
  opened.push(config);
  const saveUses: SaveUses = (uses) => saveActivity({ kinds, store, branch }, uses);
  const access = openAccess({ kinds, store, saveUses, clock, onError }, config);
  const guards = writeGuards({ kinds, access, clock, limits: () => config.current.auth });
  // Readers see what follows from owners and access rules; whatever writes does not.
  const readable = new ReadableStore(store, kinds);
  const advice = writeAdvice(config, access);
  const checks = { guards, advice, authorizer: access.authorizer };
  const shared: WriteParts = { kinds, store, clock, under: options.under, ...checks };
  const tokens = await openTokens(parts, { store, kinds, access });
  const served = new Registry({
    ...shared,
    store: readable,
    branch,
    issuers: { [tokens.plural]: tokens.issue },
    release: (owner) => controllers.release(owner),
  });
  const { sign } = signatures;
  const own = { branch, reader, sealer, rules, sign, registry: served };
  const pending = await openPending(parts, opened, { ...shared, ...own });
  const registry = pending ?? served;
  const history = new History({ repository, branch, kinds, reader, under: options.under });
  const judge = new PushJudge({
    ...shared,
    ...{ branch, repository, authorizer: access.authorizer, signatures: signatures.judge },
    refusePlaintext: options.refusePlaintext,
  });
  const grounds = [store, following, repository, signatures];
  const reading = { store, readable, history, config, observation };
  const core = await openCoreObjects({ kinds, store, branch, clock, onError });
  opened.push(core);
  const writing = { branch, access, registry, served, onError, events: core.events };
  const caretakers = { ...parts, kinds, ...reading, ...writing };
  const controllers = startControllers({ ...caretakers, isReviewed: pending !== undefined });
  return {
    kinds,
    repository,
    following,
    store: readable,
    branch,
    registry,
    served,
    pending,
    history,
    planner: new Planner({ repository, judge, kinds }),
    judge,
    access,
    config,
    tokens,
    observation,
    core,
    secretStore: controllers.secretStore,
    keyExpiry: controllers.keyExpiry,
    led: parts.replicated?.repository,
    close: async () => {
      await controllers.stop();
      history.close();
      await access.close().catch(onError);
      await closeAll([core, config, pending, branch, secrets, ...grounds]);
    },
  };
}

type SaveUses = Parameters<typeof startAccessControl>[0]['saveUses'];

function openAccess(
  of: Omit<Parameters<typeof startAccessControl>[0], 'limits' | 'projectPrefix'>,
  config: Pick<ConfigService, 'current'>,
): ReturnType<typeof startAccessControl> {
  return startAccessControl({
    ...of,
    limits: () => config.current.auth,
    projectPrefix: () => config.current.projectNamespacePrefix,
  });
}

type TokenParts = Parameters<typeof openTokenService>[0];

async function openTokens(
  { options, data, clock, issuer }: PlatformContext,
  of: Pick<TokenParts, 'store' | 'kinds' | 'access'>,
): Promise<TokenService> {
  const keyFile = data.signingKey;
  const maxTtlSeconds = options.endpointTokenMaxTtl;
  return await openTokenService({ ...of, keyFile, maxTtlSeconds, issuer, clock });
}

async function openBranch(
  { options, steps }: PlatformContext,
  parts: Omit<BranchOptions, 'under' | 'budget'> & {
    repository: BareRepository;
    onError(error: unknown): void;
  },
): Promise<Branch> {
  const { under, pruneBudget: budget } = options;
  steps.begin('the branch');
  const branch = await Branch.open({ ...parts, under, budget }).catch(async (error: unknown) => {
    throw await explainDamage(parts.repository, error);
  });
  branch.runExclusive(async (state) => state.repairDerivedSecrets()).catch(parts.onError);
  return branch;
}

/** One that fails, such as state that a full disk does not take, keeps no other one open. */
async function closeAll(parts: readonly ({ close(): Promise<void> } | undefined)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts) {
    await part?.close().catch((error: unknown) => void failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

interface ServedParts extends WriteParts {
  readonly branch: Branch;
  readonly reader: FileReader;
  readonly sealer: Sealer;
  readonly rules: string;
  readonly registry: Registry;
  readonly sign: CommitSignature | undefined;
}

/** Writes for review, where they are asked for. */
async function openPending(
  { options, data, logger, replicated }: PlatformContext,
  opened: Opened,
  shared: ServedParts,
): Promise<PendingWrites | undefined> {
  const { remote } = options;
  if (remote?.writeBranch === undefined) return undefined;
  const pending = await openPendingWrites({
    ...shared,
    source: remote,
    writeBranch: remote.writeBranch,
    gitDir: data.repository,
    maxPaths: options.maxPaths,
    logger,
    term: replicated?.term,
  });
  opened.push(pending);
  return pending;
}

/** Changes when the verdict on a manifest may change although the manifest did not. */
function rulesFingerprint(options: DaemonOptions, keys: string): string {
  const { apiGroup, under, allowPlaintextSecrets, maxPaths } = options;
  const digest = createHash('sha256');
  digest.update(JSON.stringify([VERSION, apiGroup, under, allowPlaintextSecrets, maxPaths, keys]));
  for (const name of schemaNames()) digest.update(JSON.stringify(schemaDocument(name)));
  return digest.digest('hex');
}
