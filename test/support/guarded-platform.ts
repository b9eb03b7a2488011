/**
 * A platform in this process with access control: every request carries a key, is authorized as the
 * server does it, and passes the guards. The operator writes by path, as an operator can.
 */
import { onTestFinished } from 'vitest';
import type { Authorizer, User } from '../../src/apimachinery/request.ts';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { forbidden } from '../../src/auth/rbac/forbidden.ts';
import { type AccessControl, startAccessControl } from '../../src/daemon/access/access-control.ts';
import { saveActivity } from '../../src/daemon/access/last-uses.ts';
import { writeGuards } from '../../src/daemon/guards/guards.ts';
import { concealAccessKey, mintAccessKey } from '../../src/kinds/credentials/access-key.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import type { Guard, PlannedChange, WriteResult } from '../../src/registry/writes/write-context.ts';
import { foreignCommit } from './git.ts';
import { kindOf, kinds, openTestPlatform, type TestPlatform } from './platform.ts';

/** 200, or the code and message of the refusal. */
export interface Outcome {
  readonly code: number;
  readonly text: string;
  readonly result?: WriteResult;
}

export class GuardedPlatform {
  readonly platform: TestPlatform;
  readonly access: AccessControl;
  readonly #guards: readonly Guard[];
  readonly #now: () => number;

  constructor(of: {
    platform: TestPlatform;
    access: AccessControl;
    guards: readonly Guard[];
    now: () => number;
  }) {
    this.platform = of.platform;
    this.access = of.access;
    this.#guards = of.guards;
    this.#now = of.now;
  }

  kindOf(plural: string): Kind {
    return kindOf(plural);
  }

  /** What the guards say about a change, without making it. */
  objection(change: PlannedChange): StatusError | undefined {
    return this.#guards.map((guard) => guard(change)).find((found) => found !== undefined);
  }

  /** Puts objects into git as the operator, by path. Each is one file of JSON. */
  async give(...objects: object[]): Promise<void> {
    await this.platform.commit(filesOf(objects));
  }

  /** Puts a key into git as the operator and returns its text. */
  async giveKey(name: string, spec: object): Promise<string> {
    const token = mintAccessKey('gpu');
    await this.give(
      object('OwnedAccessKey', name, { spec: { ...spec, key: concealAccessKey(token) } }),
    );
    return token;
  }

  /** Throws for a key that does not authenticate. */
  who(token: string): User {
    const found = this.access.authenticate(token);
    if ('user' in found) return found.user;
    throw new Error(found.message);
  }

  may(token: string, verb: string, plural: string, name = '', namespace = ''): boolean {
    const { group } = kindOf(plural);
    const attributes = { verb, group, resource: plural, namespace, name };
    return this.access.authorizer.authorize(this.who(token), attributes).allowed;
  }

  create(token: string, plural: string, body: object, namespace = ''): Promise<Outcome> {
    const { name = '' } = (body as { metadata?: { name?: string } }).metadata ?? {};
    return this.#ask(token, { verb: 'create', plural, name: '', namespace }, (user) =>
      this.platform.registry.create({
        kind: kindOf(plural),
        namespace,
        body: structuredClone(body),
        duplicates: [],
        options: { user, dryRun: false, fieldValidation: 'Strict', reason: name },
      }),
    );
  }

  patch(
    token: string,
    plural: string,
    name: string,
    // biome-ignore lint/suspicious/noExplicitAny: tests reach into objects of every kind
    change: (object: any) => void,
    namespace = '',
  ): Promise<Outcome> {
    return this.#ask(token, { verb: 'patch', plural, name, namespace }, (user) =>
      this.platform.registry.update({
        verb: 'patch',
        kind: kindOf(plural),
        namespace,
        name,
        duplicates: [],
        options: { user, dryRun: false, fieldValidation: 'Strict' },
        change: (current) => {
          const copy = structuredClone(current);
          change(copy);
          return copy;
        },
      }),
    );
  }

  delete(token: string, plural: string, name: string, namespace = ''): Promise<Outcome> {
    return this.#ask(token, { verb: 'delete', plural, name, namespace }, (user) =>
      this.platform.registry.delete({
        kind: kindOf(plural),
        namespace,
        name,
        delete: {},
        options: { user, dryRun: false, fieldValidation: 'Strict' },
      }),
    );
  }

  /** Pushes files, `null` to remove one, in a commit of a time (now when absent). */
  async push(
    token: string,
    files: Readonly<Record<string, string | null>>,
    time = this.#now(),
  ): Promise<Outcome> {
    const pushed = foreignCommit(this.platform.repository.gitDir, {
      files,
      time: Math.floor(time / 1000),
    });
    const verdict = await this.platform.push(pushed, this.who(token));
    return { code: verdict.ok ? 200 : 403, text: verdict.lines.join('\n') };
  }

  async #ask(
    token: string,
    of: { verb: string; plural: string; name: string; namespace: string },
    work: (user: User) => Promise<WriteResult>,
  ): Promise<Outcome> {
    const user = this.who(token);
    const { verb, plural, name, namespace } = of;
    const attributes = { verb, group: kindOf(plural).group, resource: plural, namespace, name };
    try {
      const { allowed, reason } = this.access.authorizer.authorize(user, attributes);
      if (!allowed) throw forbidden(user, attributes, reason);
      return { code: 200, text: '', result: await work(user) };
    } catch (error) {
      if (error instanceof StatusError) return { code: error.code, text: error.message };
      throw error;
    }
  }
}

export async function openGuardedPlatform(
  clock: { now(): number } = Date,
  limits: { accessKeyMaxTTLSeconds?: number } = {},
): Promise<GuardedPlatform> {
  let guards: readonly Guard[] = [];
  let rights: Authorizer | undefined;
  const platform = await openTestPlatform({
    clock,
    guards: [(change) => guards.map((guard) => guard(change)).find((found) => found !== undefined)],
    authorizer: {
      authorize: (user, attributes) =>
        rights?.authorize(user, attributes) ?? { allowed: false, reason: 'not yet' },
    },
  });
  const access = startAccessControl({
    kinds,
    store: platform.store,
    saveUses: (uses) =>
      saveActivity({ kinds, store: platform.store, branch: platform.branch }, uses),
    clock,
    limits: () => limits,
    projectPrefix: () => 'p-',
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => access.close());
  rights = access.authorizer;
  guards = writeGuards({ kinds, access, clock, store: platform.store, limits: () => limits });
  return new GuardedPlatform({ platform, access, guards, now: () => clock.now() });
}

export const MANAGEMENT = 'management.gitplane.dev';
export const RBAC = 'rbac.authorization.k8s.io';

/** An object of the management group, or of RBAC. */
export function object(kind: string, name: string, fields: object = {}, namespace = ''): object {
  const apiVersion = `${/Role/.test(kind) ? RBAC : MANAGEMENT}/v1`;
  const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
  return { apiVersion, kind, metadata, ...fields };
}

/** A role of one rule, such as `get,list teams` or `* *`, bound to a subject. */
export function grant(name: string, rule: string, subject: string): object[] {
  const [verbs = '', resources = '', names = ''] = rule.split(' ');
  const [kind, ...rest] = subject.split(':');
  const resourceNames = names === '' ? {} : { resourceNames: names.split(',') };
  const rules = [
    {
      apiGroups: ['*'],
      resources: resources.split(','),
      verbs: verbs.split(','),
      ...resourceNames,
    },
  ];
  return [
    object('ClusterRole', name, { rules }),
    object('ClusterRoleBinding', name, {
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
      subjects: [{ apiGroup: RBAC, kind, name: rest.join(':') }],
    }),
  ];
}

/** Where `give` and tests put an object. */
export function fileOf(of: object): string {
  const { kind, metadata } = of as { kind: string; metadata: { name: string } };
  return `${kind}-${metadata.name.replaceAll(':', '_')}.yaml`;
}

export function filesOf(objects: readonly object[]): Record<string, string> {
  return Object.fromEntries(objects.map((it) => [fileOf(it), JSON.stringify(it)]));
}
