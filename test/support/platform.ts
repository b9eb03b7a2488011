/**
 * A platform without a network, in this process: a real repository, a registry, and state in
 * memory that outlives a restart. What a test does to the branch with git is seen after `sync`.
 */
import { onTestFinished } from 'vitest';
import type { Authorizer, User } from '../../src/apimachinery/request.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { Branch } from '../../src/registry/branch.ts';
import type { Landed } from '../../src/registry/pushes/open-push.ts';
import type { PruneBudget } from '../../src/registry/pushes/prune-budget.ts';
import { PushJudge, type PushJudgeOptions } from '../../src/registry/pushes/push.ts';
import type { Verdict } from '../../src/registry/pushes/verdict.ts';
import { Registry } from '../../src/registry/registry.ts';
import { Sealer } from '../../src/registry/writes/sealer.ts';
import type { Guard, WriteOptions, WriteResult } from '../../src/registry/writes/write-context.ts';
import type { Keyring } from '../../src/sealing/data-keys.ts';
import type { PgpKeys } from '../../src/sealing/pgp.ts';
import type { StateEngine } from '../../src/state/engines/engine.ts';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import { openStore } from '../../src/state/open-store.ts';
import { sealingCodec } from '../../src/state/records/codec.ts';
import type { Store, StoredObject } from '../../src/state/store.ts';
import { commitOf, git, openForTest, publish } from './git.ts';

export const kinds = buildKindTable('management.gitplane.dev');

export const ann: User = { name: 'ann', groups: ['system:authenticated'] };

export const writeOptions: WriteOptions = {
  user: ann,
  dryRun: false,
  fieldValidation: 'Strict',
};

export function kindOf(plural: string): Kind {
  const kind = kinds.kinds.find((one) => one.plural === plural);
  if (kind === undefined) throw new Error(`There is no kind with the plural ${plural}`);
  return kind;
}

export const stateCodec = sealingCodec(Buffer.alloc(32, 7), () => false);

export interface PlatformSetup {
  readonly repository?: BareRepository;
  /** Keeps the state for others to follow; absent: `disk` does, for nobody. */
  readonly engine?: StateEngine;
  /** Stable storage of the state; a fresh one when absent. */
  readonly disk?: Map<string, Buffer>;
  readonly rules?: string;
  readonly under?: string;
  readonly guards?: readonly Guard[];
  readonly authorizer?: Authorizer;
  readonly clock?: { now(): number };
  /** Whatever the branch does is agreed to when absent. */
  readonly budget?: PruneBudget;
  /** What opens and seals secrets; absent: they are neither. */
  readonly keyring?: Keyring;
  readonly pgpKeys?: PgpKeys;
  /** Collects the reasons for reading the history from its start. */
  readonly replays?: string[];
}

interface OpenPushSetup {
  readonly user?: User;
  readonly lease?: string;
  readonly rewrites?: boolean;
}

const everything: Authorizer = { authorize: () => ({ allowed: true, reason: 'a test' }) };

export class TestPlatform {
  readonly repository: BareRepository;
  readonly store: Store;
  readonly branch: Branch;
  readonly registry: Registry;
  readonly judge: PushJudge;
  /** Another judge, which reads the repository in its own way. */
  readonly judgeOn: (
    source: BareRepository,
    limits?: Pick<PushJudgeOptions, 'mostFormerValues'>,
  ) => PushJudge;
  readonly #setup: PlatformSetup;

  constructor(of: {
    setup: PlatformSetup;
    repository: BareRepository;
    store: Store;
    branch: Branch;
  }) {
    const { setup, repository, store, branch } = of;
    const { under = '', guards = [], clock = Date, authorizer = everything } = setup;
    const parts = { kinds, store, clock, under, guards };
    this.repository = repository;
    this.store = store;
    this.branch = branch;
    this.registry = new Registry({ ...parts, branch, issuers: {} });
    this.judgeOn = (source, limits) =>
      new PushJudge({ ...parts, branch, repository: source, authorizer, ...limits });
    this.judge = this.judgeOn(repository);
    this.#setup = { ...setup, repository };
  }

  /** Commits files with git, and waits until readers see them. */
  async commit(files: Readonly<Record<string, string | Buffer | null>>): Promise<string> {
    const [id = ''] = await publish(this.repository, commitOf(files));
    await this.branch.sync();
    return id;
  }

  /** Judges a push of `newId`, which the repository has already, and moves the branch if it may. */
  async push(newId: string, user: User | undefined = ann): Promise<Verdict> {
    const { ref, gitDir } = this.repository;
    const oldId = await this.repository.head();
    const updates = [{ ref, oldId, newId }];
    const verdict = await this.judge.judge({ updates, user, source: this.repository });
    if (verdict.ok) git(gitDir, ['update-ref', ref, newId]);
    await this.branch.sync();
    return verdict;
  }

  /**
   * Pushes `newId`, which the repository has already, as over HTTP: the platform moves the branch,
   * and merges where the branch went on.
   */
  async pushOpenly(
    newId: string,
    { user = ann, lease, rewrites = false }: OpenPushSetup = {},
  ): Promise<Landed> {
    const updates = [{ ref: this.repository.ref, oldId: lease, newId }];
    const source = this.repository;
    const { verdict, open } = await this.judge.examine({
      updates,
      user,
      userNow: () => user,
      source,
      rewrites,
    });
    if (open === undefined) return { verdict, reason: 'pre-receive' };
    return await this.judge.land(open);
  }

  create(plural: string, body: object, namespace = ''): Promise<WriteResult> {
    const kind = kindOf(plural);
    return this.registry.create({ kind, namespace, body, duplicates: [], options: writeOptions });
  }

  /** Changes a copy of the object in place. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into objects of every kind
  patch(plural: string, name: string, change: (object: any) => void): Promise<WriteResult> {
    return this.registry.update({
      verb: 'patch',
      kind: kindOf(plural),
      namespace: '',
      name,
      duplicates: [],
      options: writeOptions,
      change: (current) => {
        const copy = structuredClone(current);
        change(copy);
        return copy;
      },
    });
  }

  delete(plural: string, name: string): ReturnType<Registry['delete']> {
    const kind = kindOf(plural);
    return this.registry.delete({ kind, namespace: '', name, delete: {}, options: writeOptions });
  }

  find(plural: string, name: string, namespace = ''): StoredObject | undefined {
    const { group, kind } = kindOf(plural);
    return this.store.get({ group, kind, namespace, name });
  }

  /** Names of the objects that readers see, in order. */
  names(plural: string): string[] {
    const { group, kind } = kindOf(plural);
    return this.store.list({ group, kind }).items.map(({ key }) => key.name);
  }

  /** The repository stays open. */
  async close(): Promise<void> {
    await this.branch.close();
    await this.store.close();
  }

  /** Ends this platform and opens another on the same repository and state. */
  async restart(changes: Partial<PlatformSetup> = {}): Promise<TestPlatform> {
    await this.close();
    return await openTestPlatform({ ...this.#setup, ...changes });
  }
}

export async function openTestPlatform(given: PlatformSetup = {}): Promise<TestPlatform> {
  const setup = { disk: new Map<string, Buffer>(), ...given };
  const { rules = 'rules', under = '', clock = Date, budget } = setup;
  const repository = setup.repository ?? (await openForTest());
  const store = await openStore({
    engine: setup.engine ?? new MemoryEngine(setup.disk),
    followed: setup.engine !== undefined,
    codec: stateCodec,
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => store.close());
  const { keyring, pgpKeys } = setup;
  const reader = fileReader(kinds, under, keyring && { keyring, mindsClear: true });
  const sealer = keyring && new Sealer({ keyring, kinds, clock, pgpKeys });
  const observer = {
    published: () => undefined,
    applied: () => undefined,
    replayed: (reason: string) => void setup.replays?.push(reason),
  };
  const parts = { repository, store, kinds, reader, under, clock, rules, observer, budget, sealer };
  const branch = await Branch.open(parts);
  return new TestPlatform({ setup, repository, store, branch });
}

/** The manifest of a team. */
export function team(name: string, spec: Readonly<Record<string, unknown>> = {}): string {
  const head = `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${name}\n`;
  return `${head}spec: ${JSON.stringify(spec)}\n`;
}
