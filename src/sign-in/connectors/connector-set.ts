/**
 * The connectors of the configuration in force. A change of one block replaces one connector; what
 * cannot be built now is tried again in the background, and nobody else waits for it.
 */

import type { PlatformConfig, PlatformConfigSource } from '../../config/index.ts';
import type { AnyConnector, ConnectorContext } from '../connector.ts';
import { SignInError } from '../sign-in-error.ts';
import { type ConnectorSlot, type ConnectorUse, openSlot } from './connector-slot.ts';
import { type BlockName, type ConnectorFactories, FACTORIES } from './factories.ts';

export interface ConnectorSetOptions {
  readonly config: PlatformConfigSource;
  readonly clock: { now(): number };
  /** Base URL for a configuration: callbacks are below it. */
  baseUrl(config: PlatformConfig): string;
  /** What an operator should know of a connector; never a secret. */
  warn(id: string, message: string): void;
  /** Ours when absent. */
  readonly factories?: ConnectorFactories;
  /** Between tries to build one; the default when absent. */
  readonly retryMs?: (tries: number) => number;
}

export interface ConnectorState {
  readonly id: string;
  readonly type: BlockName;
  /** Why it does not work now; undefined: it does, or is being built. */
  readonly problem: string | undefined;
}

/** A block with what it becomes. */
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

export class ConnectorSet {
  readonly #options: ConnectorSetOptions;
  readonly #slots = new Map<string, ConnectorSlot>();
  readonly #closing = new Set<Promise<void>>();
  #stop: () => void = () => undefined;
  #generation = 0;

  constructor(options: ConnectorSetOptions) {
    this.#options = options;
  }

  /** To be called when it is known where the platform is reached. */
  start(): void {
    const { config } = this.#options;
    this.#follow(config.current);
    this.#stop = config.subscribe((now) => this.#follow(now));
  }

  /** Whether the configuration has a connector of that id. */
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
   * Waits for one that is being built. Throws SignInError: 404 for an id that nobody configured,
   * 503 while it cannot be built. Whoever has it releases it.
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
    await Promise.all(this.#closing);
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

  /** What is under way ends with it; nothing new begins. */
  #retire(slot: ConnectorSlot): void {
    const closing = slot.close().finally(() => this.#closing.delete(closing));
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
