/**
 * Connectors of the configuration in force. A changed block replaces its connector. A connector that cannot
 * be built is retried in the background, and does not delay others.
 */

import type { PlatformConfig, PlatformConfigSource } from '../../config/index.ts';
import type { AnyConnector, ConnectorContext } from '../connector.ts';
import { SignInError } from '../sign-in-error.ts';
import { type ConnectorSlot, type ConnectorUse, openSlot } from './connector-slot.ts';
import { type BlockName, type ConnectorFactories, FACTORIES } from './factories.ts';

export interface ConnectorSetOptions {
  readonly config: PlatformConfigSource;
  readonly clock: { now(): number };
  /** Base URL of a configuration, for callbacks. */
  baseUrl(config: PlatformConfig): string;
  /** Warns the operator about a connector; never with a secret. */
  warn(id: string, message: string): void;
  /** Absent: the built-in connectors. */
  readonly factories?: ConnectorFactories;
  /** Retry interval; absent: the default. */
  readonly retryMs?: (tries: number) => number;
}

export interface ConnectorState {
  readonly id: string;
  readonly type: BlockName;
  /** Reason why it does not work; undefined: it works, or is being built. */
  readonly problem: string | undefined;
}

/** A block with its connector. */
interface Wanted {
  readonly id: string;
  readonly type: BlockName;
  readonly block: object;
}

const BLOCKS: readonly BlockName[] = [
  'oidc',
  'providerA',
  'providerB',
  'providerC',
  'providerD',
  'providerE',
  'saml',
];

/** A provider that hangs keeps the daemon from its end no longer. */
const CLOSE_WITHIN_MS = 2000;

export class ConnectorSet {
  readonly #options: ConnectorSetOptions;
  readonly #slots = new Map<string, ConnectorSlot>();
  readonly #late = new AbortController();
  readonly #closing = new Set<Promise<void>>();
  #stop: () => void = () => undefined;
  #generation = 0;

  constructor(options: ConnectorSetOptions) {
    this.#options = options;
  }

  /** Call when the base URL of the platform is known. */
  start(): void {
    const { config } = this.#options;
    this.#follow(config.current);
    this.#stop = config.subscribe((now) => this.#follow(now));
  }

  /** True if the configuration has the connector. */
  has(id: string): boolean {
    return this.#slots.has(id);
  }

  states(): ConnectorState[] {
    return [...this.#slots.values()].map(({ id, type, problem }) => ({
      id,
      type: type as BlockName,
      problem,
    }));
  }

  /**
   * Returns a connector, waiting while it is built. Throws SignInError: 404 if it is not configured, 503
   * while it cannot be built. The caller must release it.
   */
  async use(id: string): Promise<ConnectorUse> {
    const slot = this.#slots.get(id);
    if (slot === undefined) {
      throw new SignInError(`there is no connector ${id}`, { reason: 'no-connector', code: 404 });
    }
    return await slot.use();
  }

  async close(): Promise<void> {
    this.#stop();
    for (const slot of this.#slots.values()) this.#retire(slot);
    this.#slots.clear();
    const late = setTimeout(() => this.#late.abort(), CLOSE_WITHIN_MS);
    await Promise.all(this.#closing);
    clearTimeout(late);
  }

  #follow(config: PlatformConfig): void {
    const baseUrl = this.#options.baseUrl(config);
    const wanted = new Map(wantedOf(config).map((one) => [one.id, one]));
    for (const [id, slot] of this.#slots) {
      const one = wanted.get(id);
      if (one !== undefined && slot.madeFrom === fingerprint(one, baseUrl)) continue;
      this.#slots.delete(id);
      this.#retire(slot);
    }
    for (const [id, one] of wanted) {
      if (!this.#slots.has(id)) this.#slots.set(id, this.#open(one, baseUrl));
    }
  }

  #open(wanted: Wanted, baseUrl: string): ConnectorSlot {
    const { clock, warn, factories = FACTORIES, retryMs } = this.#options;
    const { id, type, block } = wanted;
    const context: ConnectorContext = { baseUrl, clock, warn: (message) => warn(id, message) };
    const factory = factories[type] as
      | ((id: string, block: object, context: ConnectorContext) => Promise<AnyConnector>)
      | undefined;
    this.#generation += 1;
    return openSlot({
      id,
      type,
      madeFrom: fingerprint(wanted, baseUrl),
      generation: this.#generation,
      redirectUri: redirectUriOf(block) ?? `${baseUrl}/auth/${id}/callback`,
      build: async () => {
        if (factory !== undefined) return await factory(id, block, context);
        throw new Error(`connectors of type ${type} are not part of this version`);
      },
      warn: context.warn,
      ...(retryMs === undefined ? {} : { retryMs }),
    });
  }

  /** Starts nothing new. */
  #retire(slot: ConnectorSlot): void {
    const closing = slot.close(this.#late.signal).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

function wantedOf({ auth }: PlatformConfig): Wanted[] {
  const own = BLOCKS.flatMap((type) => {
    const block = auth[type];
    return block === undefined ? [] : [{ id: type, type, block }];
  });
  const further = (auth.connectors ?? []).flatMap((connector) => {
    const type = BLOCKS.find((name) => name !== 'providerE' && connector[name] !== undefined);
    const block = type === undefined || type === 'providerE' ? undefined : connector[type];
    return type === undefined || block === undefined ? [] : [{ id: connector.id, type, block }];
  });
  return [...own, ...further];
}

function redirectUriOf(block: { readonly redirectURI?: string }): string | undefined {
  return block.redirectURI || undefined;
}

function fingerprint({ type, block }: Wanted, baseUrl: string): string {
  return JSON.stringify([type, block, baseUrl]);
}
