/**
 * Feeds the platform configuration from the first Config in git by name, or from the file of
 * `--config`. A configuration that cannot be applied is reported in the log, in a metric and in the
 * status of its object; the configuration before it stays in force.
 */
import { type Clock, formatPath, type JsonObject, valueAt } from '../../apimachinery/index.ts';
import { StartError } from '../../bootstrap/index.ts';
import {
  ConfigFeed,
  ConfigFileError,
  type ConfigListener,
  type MissingVariable,
  type PlatformConfig,
  readConfigFile,
  type SecretStoreBlock,
  secretStoreAt,
  secretStoreBlocks,
  uncheckedProviders,
} from '../../config/index.ts';
import { type WatchTimes, watchFiles } from '../../files/index.ts';
import { configDefaults, type KindTable, placeInRaw } from '../../kinds/index.ts';
import type { ConditionProblem } from '../../registry/index.ts';
import { type Branch, conditionsOf, DEGRADED, reportProblems } from '../../registry/index.ts';
import type { ServedConfig } from '../../server/index.ts';
import type { Collection, Store, StoredObject } from '../../state/index.ts';
import {
  type ConfigMetrics,
  createConfigMetrics,
  type Logger,
  type Metrics,
} from '../../telemetry/index.ts';
import type { DaemonOptions } from '../options.ts';

/** Conditions in the status of a Config. */
interface ConfigProblem extends ConditionProblem {
  readonly reason:
    | 'AnotherConfig'
    | 'ReadFromFile'
    | 'VariableMissing'
    | 'ChecksTurnedOff'
    | 'AuditLogFails'
    | 'SecretStoreNotInUse'
    | 'SecretsLeftOut';
}

type ConfigProblems = Readonly<
  Record<'InForce' | 'SignInVerified' | 'AuditWritten' | 'SecretsPulled', ConfigProblem | undefined>
>;

export interface ConfigParts {
  readonly options: Pick<DaemonOptions, 'configFile' | 'environment'>;
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get' | 'list' | 'observe'>;
  /** Writes problems into the status. Absent: another replica writes them. */
  readonly branch?: Pick<Branch, 'submit'> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'registry'>;
  /** Intervals of the file watch; absent: the defaults. */
  readonly times?: WatchTimes;
}

/** Throws StartError for a file that cannot be used: no earlier configuration exists yet. */
export function openConfig(parts: ConfigParts): ConfigService {
  return new ConfigService(parts);
}

/** The configuration to apply. */
interface Wanted {
  readonly status: JsonObject;
  /** Text of the configuration; positions in messages refer to it. */
  readonly raw: string;
  /** Origin for the log: `Config platform` or the file. */
  readonly from: string;
}

interface Offer {
  readonly json: string;
  readonly words: string | undefined;
  /** The part of `words` about each secret store, by name of the store. */
  readonly stores: ReadonlyMap<string, string>;
}

export class ConfigService implements ServedConfig {
  readonly #parts: ConfigParts;
  readonly #feed: ConfigFeed;
  readonly #metrics: ConfigMetrics;
  readonly #collection: Collection;
  readonly #stops: (() => void)[] = [];
  readonly #reporting = new Set<Promise<void>>();
  /** The last configuration that was offered to the feed, with its problem. */
  #lastOffer: Offer | undefined;
  #problem: string | undefined;
  #audit: ConfigProblem | undefined;
  #secretStore: ConfigProblem | undefined;
  #pulls: ConfigProblem | undefined;
  #missingChanged: () => void = () => {};
  #isOpen = false;

  constructor(parts: ConfigParts) {
    this.#parts = parts;
    const { options, kinds, store, metrics, logger } = parts;
    this.#feed = new ConfigFeed({
      environment: options.environment,
      onError: (err) => logger.error({ err }, 'A component did not apply the new configuration'),
    });
    const [group = ''] = kinds.groups;
    this.#collection = { group, kind: kinds.byPlural(group, 'config')?.kind ?? '' };
    this.#metrics = createConfigMetrics(metrics.registry, () => this.problem);
    this.#read();
    this.#isOpen = true;
    this.#stops.push(store.observe(this.#collection, () => this.#read()));
    const { configFile } = options;
    if (configFile !== undefined) {
      this.#stops.push(watchFiles([configFile], () => this.#read(), parts.times));
    }
  }

  get current(): PlatformConfig {
    return this.#feed.current;
  }

  get fromFile(): boolean {
    return this.#parts.options.configFile !== undefined;
  }

  /** Reason why the newest configuration is not in force as written; undefined: it is. */
  get problem(): string | undefined {
    return this.#problem ?? this.#secretStore?.message;
  }

  /** Configured secret stores by name. */
  get secretStores(): ReadonlyMap<string, SecretStoreBlock> {
    return secretStoreBlocks(this.current, this.#lastOffer?.stores);
  }

  subscribe(listener: ConfigListener): () => void {
    return this.#feed.subscribe(listener);
  }

  /** Problem of the audit log for the status; undefined clears it. */
  reportAudit(message: string | undefined): void {
    this.#audit = message === undefined ? undefined : { reason: 'AuditLogFails', message };
    this.#read();
  }

  /** Sets the listener that is called after each change of the variables that secret stores lack. */
  onMissingVariables(listener: () => void): void {
    this.#missingChanged = listener;
  }

  /** Reason why the configured secret store is not in use, for the status; undefined clears it. */
  reportSecretStore(message: string | undefined): void {
    const reason = 'SecretStoreNotInUse';
    this.#secretStore = message === undefined ? undefined : { reason, message };
    this.#read();
  }

  /** Reason why pulls from secret stores left secrets out, for the status; undefined clears it. */
  reportPulls(message: string | undefined): void {
    if (this.#pulls?.message === message) return;
    this.#pulls = message === undefined ? undefined : { reason: 'SecretsLeftOut', message };
    this.#read();
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    await Promise.all(this.#reporting);
  }

  #read(): void {
    const configs = this.#parts.store.list(this.#collection).items;
    const missing = this.#apply(configs);
    for (const [index, stored] of configs.entries()) {
      const InForce = this.#outOfForce(configs, { index, missing });
      const counts = index === 0 && !this.fromFile;
      const SignInVerified = counts ? uncheckedSignIn(this.#feed.current) : undefined;
      const AuditWritten = counts ? this.#audit : undefined;
      const SecretsPulled = counts ? this.#pulls : undefined;
      this.#report(stored, { InForce, SignInVerified, AuditWritten, SecretsPulled });
    }
  }

  /** Applies the wanted configuration. Returns the message about its missing variables. */
  #apply(configs: readonly StoredObject[]): string | undefined {
    const wanted = this.#wanted(configs);
    if (wanted === undefined) return undefined;
    const before = this.#feed.current;
    const words = this.#offer(wanted);
    const degraded = this.fromFile ? undefined : degradedWords(configs[0]);
    if (before !== this.#feed.current || !this.#isOpen) {
      this.#metrics.changes.inc({ result: 'applied' });
      this.#parts.logger.info({ from: wanted.from }, 'The configuration is in force');
    }
    this.#reportProblem(words ?? degraded, wanted.from);
    return words;
  }

  /** Offers a configuration to the feed. An unchanged one returns the earlier result. */
  #offer(wanted: Wanted): string | undefined {
    const { conditions: _observed, ...written } = wanted.status;
    const json = JSON.stringify(written);
    const before = this.#lastOffer;
    if (before?.json === json) return before.words;
    const { taken, missing } = this.#feed.offer(written, !this.#isOpen);
    const words = missing.length === 0 ? undefined : missingWords(wanted, missing, taken);
    const stores = missingForStores(wanted, written, missing);
    this.#lastOffer = { json, words, stores };
    const [was, is] = [before?.stores ?? [], stores].map((one) => JSON.stringify([...one]));
    if (was !== is) this.#missingChanged();
    return words;
  }

  /** Undefined: the file cannot be read now, and the configuration in force stays. */
  #wanted(configs: readonly StoredObject[]): Wanted | undefined {
    const { configFile } = this.#parts.options;
    if (configFile === undefined) {
      const [first] = configs;
      if (first === undefined) {
        return { status: configDefaults(), raw: '', from: 'defaults' };
      }
      const { object, key } = first;
      const raw = String(valueAt(object, ['spec', 'raw']) ?? '');
      return { status: object.status ?? {}, raw, from: `${key.kind} ${key.name}` };
    }
    try {
      const { status, raw } = readConfigFile(configFile);
      return { status, raw, from: configFile };
    } catch (error) {
      if (!(error instanceof ConfigFileError)) throw error;
      if (!this.#isOpen) {
        throw new StartError(`Cannot use --config: ${error.message}`, { cause: error });
      }
      this.#reportProblem(error.message, configFile);
      return undefined;
    }
  }

  /** Reports a problem once, not at each read. */
  #reportProblem(problem: string | undefined, from: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem === undefined) return;
    this.#metrics.changes.inc({ result: 'refused' });
    this.#parts.logger.warn(
      { from, problem },
      'The newest configuration is not in force as written',
    );
  }

  #outOfForce(
    configs: readonly StoredObject[],
    { index, missing }: { index: number; missing: string | undefined },
  ): ConfigProblem | undefined {
    if (this.fromFile) {
      const message = 'The configuration is read from the file of --config.';
      return { reason: 'ReadFromFile', message };
    }
    if (index > 0) {
      const message = `Only the first by name counts: ${configs[0]?.key.name}.`;
      return { reason: 'AnotherConfig', message };
    }
    return missing === undefined
      ? this.#secretStore
      : { reason: 'VariableMissing', message: missing };
  }

  #report(stored: StoredObject, problems: ConfigProblems): void {
    const { logger, branch } = this.#parts;
    if (branch === undefined) return;
    const onError = (err: unknown): void =>
      logger.warn({ err, config: stored.key.name }, 'The status of a Config cannot be written');
    const reported = reportProblems({ ...this.#parts, branch, onError }, stored, problems);
    this.#reporting.add(reported);
    void reported.then(() => this.#reporting.delete(reported));
  }
}

function listOf({ raw }: Wanted, missing: readonly MissingVariable[]): string {
  const list = missing.map(
    ({ path, variable }) =>
      `${formatPath(path)} (${placeInRaw(raw, path)}) names $${variable}, which is not in the environment`,
  );
  return list.join('; ');
}

function missingForStores(
  wanted: Wanted,
  written: JsonObject,
  missing: readonly MissingVariable[],
): ReadonlyMap<string, string> {
  const stores = new Map<string, MissingVariable[]>();
  for (const one of missing) {
    const name = secretStoreAt(written, one.path);
    if (name !== undefined) stores.set(name, [...(stores.get(name) ?? []), one]);
  }
  return new Map([...stores].map(([name, ofStore]) => [name, listOf(wanted, ofStore)]));
}

function missingWords(wanted: Wanted, missing: readonly MissingVariable[], taken: boolean): string {
  const end = taken
    ? 'The rest is in force without the blocks that need it.'
    : 'What was in force before stays.';
  return `${wanted.from}: ${listOf(wanted, missing)}. ${end}`;
}

function degradedWords(stored: StoredObject | undefined): string | undefined {
  const found = conditionsOf(stored?.object.status).find(({ type }) => type === DEGRADED);
  return found && `The newest manifest is not valid, the last good one counts: ${found.message}`;
}

/** Reported while it lasts: without these checks anyone could sign in as another user. */
function uncheckedSignIn({ auth }: PlatformConfig): ConfigProblem | undefined {
  const settings = uncheckedProviders(auth);
  if (settings.length === 0) return undefined;
  const message = `Sign-in does not verify the identity provider: ${settings.join(', ')}.`;
  return { reason: 'ChecksTurnedOff', message };
}
