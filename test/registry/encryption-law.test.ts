/**
 * The law of encryption: whatever is pushed by whomever, no key but those that `.sops.yaml` names at
 * a commit opens what the daemon encrypts in it. The oracle knows every data key that anybody outside
 * could learn from the commits.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { User } from '../../src/apimachinery/request.ts';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { type FileKey, Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf, openStream } from '../../src/sealing/open.ts';
import { documentsOf, sealText } from '../../src/sealing/seal.ts';
import { SealingError } from '../../src/sealing/sealing-error.ts';
import {
  creationRuleFor,
  formatSopsConfig,
  parseSopsConfig,
  ruleOfKeys,
} from '../../src/sealing/sops-config.ts';
import { foreignCommit, git } from '../support/git.ts';
import {
  kindOf,
  openTestPlatform,
  type PlatformSetup,
  type TestPlatform,
  writeOptions,
} from '../support/platform.ts';
import { runs } from '../support/properties.ts';

const RIGHTS = [
  'create sharedsecrets',
  'update sharedsecrets',
  'delete sharedsecrets',
  'get sharedsecrets',
  'update repository/controlfiles',
];
const PEOPLE = ['pat', 'quinn', 'robin'];
const NAMES = ['one', 'two', 'three'];
const PLACES = NAMES.map((name) => `namespaces/web/sharedsecrets/${name}.yaml`);
const RULE = ruleOfKeys(['data']);

const person = fc.constantFrom(...PEOPLE);
const name = fc.constantFrom(...NAMES);
const place = fc.constantFrom(...PLACES);
const people = fc.subarray(PEOPLE);
const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), name }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('patch' as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
  fc.record({ do: fc.constant('config' as const), by: person, people, us: fc.boolean() }),
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('encrypt' as const),
      by: person,
      place,
      names: fc.subarray(NAMES, { minLength: 1 }),
      people,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wrap' as const), by: person, place, people }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('restore' as const),
      by: person,
      place,
      age: fc.nat(5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('copy' as const),
      by: person,
      from: place,
      to: place,
      name,
    }),
  },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

interface Person {
  readonly keyring: Keyring;
  readonly recipient: string;
  readonly own: FileKey;
  /** Data keys that they could read in some commit, or made. */
  readonly learned: Map<string, Buffer>;
}

class World {
  readonly platform: TestPlatform;
  readonly us: { keyring: Keyring; recipient: string };
  readonly people: ReadonlyMap<string, Person>;
  readonly rights: Readonly<Record<string, readonly string[]>>;
  counter = 0;

  constructor(of: Pick<World, 'platform' | 'us' | 'people' | 'rights'>) {
    this.platform = of.platform;
    this.us = of.us;
    this.people = of.people;
    this.rights = of.rights;
  }

  static async open(rights: World['rights']): Promise<World> {
    const { identity, recipient } = await makeIdentity();
    const keyring = await Keyring.open([identity], { marks: true });
    const people = new Map<string, Person>();
    for (const one of PEOPLE) people.set(one, await newPerson(recipient));
    const authorizer: PlatformSetup['authorizer'] = {
      authorize: (user, attributes) => {
        const { resource = '', subresource } =
          'resource' in attributes ? attributes : { resource: '' };
        const asked = `${attributes.verb} ${resource}${subresource ? `/${subresource}` : ''}`;
        return { allowed: rights[user.name]?.includes(asked) === true, reason: '' };
      },
    };
    const platform = await openTestPlatform({ keyring, authorizer });
    await platform.commit({ '.sops.yaml': configFor([recipient]) });
    return new World({ platform, us: { keyring, recipient }, people, rights });
  }

  git(...args: string[]): string {
    return git(this.platform.repository.gitDir, args);
  }

  show(path: string, revision = 'main'): string | undefined {
    const isThere = this.git('ls-tree', revision, '--', path) !== '';
    return isThere ? `${this.git('show', `${revision}:${path}`)}\n` : undefined;
  }

  person(called: string): Person {
    const found = this.people.get(called);
    if (found === undefined) throw new Error(`nobody is called ${called}`);
    return found;
  }

  recipients(called: readonly string[]): string[] {
    return called.map((one) => this.person(one).recipient);
  }

  async push(by: string, files: Readonly<Record<string, string | null>>): Promise<boolean> {
    const time = 1_800_000_000 + this.counter++;
    const id = foreignCommit(this.platform.repository.gitDir, { files, time });
    const user: User = { name: by, groups: ['system:authenticated'] };
    const { ok } = await this.platform.push(id, user);
    if (ok) await this.learn();
    return ok;
  }

  /** Reads the newest commit as a person with its keys. */
  async learn(): Promise<void> {
    for (const text of this.#changed().values()) {
      const age = metadataIn(text)?.age;
      if (age === undefined) continue;
      for (const { keyring, learned } of this.people.values()) {
        const key = await keyring.dataKey(age);
        if (key !== undefined) learned.set(key.toString('hex'), key);
      }
    }
  }

  #changed(): Map<string, string> {
    const paths = this.git('diff-tree', '--root', '--no-commit-id', '--name-only', '-r', 'main');
    return new Map(
      paths.split('\n').flatMap((path) => {
        const text = path.endsWith('.yaml') ? this.show(path) : undefined;
        return text === undefined ? [] : [[path, text] as const];
      }),
    );
  }

  /** Runs a write of the API, and judges what it committed. */
  async write(work: Promise<unknown>): Promise<void> {
    const before = this.git('rev-parse', 'main');
    await work.catch((error: unknown) => {
      if (!(error instanceof StatusError)) throw error;
    });
    if (this.git('rev-parse', 'main') === before) return;
    const config = this.show('.sops.yaml');
    const rules = config === undefined ? { rules: [] } : parseSopsConfig(config);
    for (const [path, text] of this.#changed()) {
      const named = creationRuleFor(rules, path)?.recipients ?? [];
      for (const [called, { recipient, learned, keyring }] of this.people) {
        if (named.includes(recipient)) continue;
        const wrapped = await keyring.dataKey(metadataIn(text)?.age ?? []);
        expect(wrapped, `${called} opens ${path}:\n${text}`).toBeUndefined();
        for (const key of learned.values()) {
          const { sealed } = openStream({ text, documents: documentsOf(text) }, key);
          expect(sealed, `${called} knows the data key of ${path}`).toEqual([]);
        }
      }
    }
    await this.learn();
  }

  value(): string {
    return Buffer.from(`value ${this.counter++}`).toString('base64');
  }
}

async function newPerson(us: string): Promise<Person> {
  const { identity, recipient } = await makeIdentity();
  const keyring = await Keyring.open([identity], { marks: true });
  const own = await keyring.make([us]);
  return {
    keyring,
    recipient,
    own,
    learned: new Map([[own.dataKey.toString('hex'), own.dataKey]]),
  };
}

const configFor = (recipients: readonly string[]): string =>
  formatSopsConfig([{ folder: 'sharedsecrets', keys: ['data'] }], recipients);

function metadataIn(text: string): ReturnType<typeof metadataOf> {
  try {
    return metadataOf(documentsOf(text));
  } catch (error) {
    if (error instanceof SealingError) return undefined;
    throw error;
  }
}

function manifest(called: string, value: string): string {
  return `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: ${called}\nspec:\n  data:\n    key: ${value}\n`;
}

async function act(world: World, step: Action): Promise<void> {
  const { platform, us } = world;
  const kind = kindOf('sharedsecrets');
  const at = { kind, namespace: 'web', options: writeOptions };
  switch (step.do) {
    case 'create': {
      const spec = { data: { key: world.value() } };
      return world.write(
        platform.create('sharedsecrets', { metadata: { name: step.name }, spec }, 'web'),
      );
    }
    case 'patch': {
      const data = { key: world.value() };
      const change = (current: object) => ({ ...current, spec: { data } });
      const { name: called } = step;
      return world.write(
        platform.registry.update({ ...at, verb: 'patch', name: called, duplicates: [], change }),
      );
    }
    case 'delete':
      return world.write(platform.registry.delete({ ...at, name: step.name, delete: {} }));
    case 'config': {
      const names = [...(step.us ? [us.recipient] : []), ...world.recipients(step.people)];
      const before = world.show('.sops.yaml');
      await world.push(step.by, { '.sops.yaml': configFor(names) });
      const may = world.rights[step.by]?.includes('update repository/controlfiles') === true;
      if (!may) expect(world.show('.sops.yaml'), `${step.by} changed it`).toBe(before);
      return;
    }
    case 'encrypt': {
      const { own, keyring } = world.person(step.by);
      const { age } = await keyring.wrap(own.dataKey, [
        us.recipient,
        ...world.recipients(step.people),
      ]);
      const stolen = metadataIn(world.show(step.place) ?? '')?.mark;
      const key = { dataKey: own.dataKey, age, mark: stolen ?? own.mark };
      const texts = step.names.map((called) => manifest(called, world.value()));
      await world.push(step.by, {
        [step.place]: sealText(texts.join('---\n'), { key, rule: RULE, now: 0 }),
      });
      return;
    }
    case 'wrap': {
      const text = world.show(step.place);
      const metadata = text === undefined ? undefined : metadataIn(text);
      if (text === undefined || metadata === undefined) return;
      const { keyring } = world.person(step.by);
      const dataKey = await keyring.dataKey(metadata.age);
      if (dataKey === undefined) return;
      const { age } = await keyring.wrap(dataKey, world.recipients(step.people));
      // Said to be for those who are named already.
      const lies = age.map(({ enc }) => ({ recipient: us.recipient, enc }));
      const key = { dataKey, age: [...metadata.age, ...lies], mark: metadata.mark };
      await world.push(step.by, { [step.place]: sealText(text, { key, rule: RULE, now: 0 }) });
      return;
    }
    case 'restore': {
      const history = world.git('log', '--format=%H', 'main', '--', step.place).split('\n');
      const revision = history[step.age];
      const text = revision ? world.show(step.place, revision) : undefined;
      if (text !== undefined) await world.push(step.by, { [step.place]: text });
      return;
    }
    case 'copy': {
      const text = world.show(step.from)?.replaceAll(/name: \w+/g, `name: ${step.name}`);
      if (text !== undefined) await world.push(step.by, { [step.to]: text });
    }
  }
}

describe('no key but those of .sops.yaml at that commit', () => {
  const rights = fc.record(
    Object.fromEntries(PEOPLE.map((one) => [one, fc.subarray(RIGHTS)] as const)),
  );

  test('opens values that the daemon encrypted, after any pushes', async () => {
    const steps = fc.array(action, { minLength: 6, maxLength: 14 });
    await fc.assert(
      fc.asyncProperty(rights, steps, async (granted, sequence) => {
        const world = await World.open(granted);
        for (const step of sequence) await act(world, step);
      }),
      { numRuns: runs(8) },
    );
  });
});
