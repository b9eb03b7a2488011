import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openLmdbEngine } from '../../src/state/engines/lmdb-engine.ts';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import { openStore } from '../../src/state/open-store.ts';
import { type RecordCodec, sealingCodec, strictCodec } from '../../src/state/records/codec.ts';
import { loadStateKey } from '../../src/state/records/state-key.ts';
import { StateError } from '../../src/state/state-error.ts';
import type { Store } from '../../src/state/store.ts';
import { keyOf, put, remove, TEAMS } from './builders.ts';
import { fail } from './harnesses.ts';

const CANARY = 'canary-4f1d0c';
const KEY = Buffer.alloc(32, 7);

const temporary = test.extend('root', async ({}, { onCleanup }) => {
  const root = fs.mkdtempSync(join(tmpdir(), 'gitplane-state-'));
  onCleanup(() => fs.rmSync(root, { recursive: true }));
  return root;
});

/** Seals SharedSecrets. */
function codec(key = KEY): RecordCodec {
  return sealingCodec(key, ({ kind }) => kind === 'SharedSecret');
}

async function openAt(directory: string, withCodec = codec()): Promise<Store> {
  const engine = await openLmdbEngine(directory, { onError: fail });
  return openStore({ engine, codec: withCodec, onError: fail });
}

function openOn(disk: Map<string, Buffer>, withCodec = codec()): Promise<Store> {
  return openStore({ engine: new MemoryEngine(disk), codec: withCodec, onError: fail });
}

function everythingIn(directory: string): Buffer {
  const files = fs.readdirSync(directory).map((file) => fs.readFileSync(join(directory, file)));
  return Buffer.concat(files);
}

async function thrownBy(opening: Promise<unknown>): Promise<Error> {
  return opening.then(
    () => new Error('it was opened'),
    (error: Error) => error,
  );
}

describe('state at rest', () => {
  temporary('no secret value, hidden value or note is in any file', async ({ root }) => {
    const store = await openAt(root);
    store.apply(
      [put('a/1', { data: { key: CANARY } }, { hash: CANARY }), put('ops', { open: 'plain-word' })],
      {
        base: { value: CANARY },
      },
    );
    store.apply([
      put('a/1', { data: { key: `${CANARY}2` } }),
      put('a/2', { data: CANARY }),
      remove('a/2'),
    ]);
    await store.flush();
    const whileOpen = everythingIn(root);
    await store.close();

    for (const bytes of [whileOpen, everythingIn(root)]) {
      expect(bytes.includes(CANARY)).toBe(false);
      expect(bytes.includes(Buffer.from(CANARY).toString('base64').slice(0, 16))).toBe(false);
      // The search can find: what needs no sealing is there in the clear.
      expect(bytes.includes('plain-word')).toBe(true);
    }
  });

  test('sealed objects and notes come back as they were', async () => {
    const disk = new Map<string, Buffer>();
    const first = await openOn(disk);
    first.apply([put('a/1', { data: 'ä'.repeat(10_000) }, { hash: 'h' })], { base: { n: 1 } });
    await first.close();

    const store = await openOn(disk);

    expect(store.get(keyOf('a/1'))?.object.spec).toEqual({ data: 'ä'.repeat(10_000) });
    expect(store.get(keyOf('a/1'))?.hidden).toEqual({ hash: 'h' });
    expect(store.document('base')).toEqual({ n: 1 });
    await store.close();
  });

  test('a kind that has become secret is sealed by the next start', async () => {
    const disk = new Map<string, Buffer>();
    const first = await openOn(
      disk,
      sealingCodec(KEY, () => false),
    );
    first.apply([put('a/1', { data: CANARY })]);
    await first.close();
    expect(Buffer.concat([...disk.values()]).includes(CANARY)).toBe(true);

    const store = await openOn(disk);

    expect(Buffer.concat([...disk.values()]).includes(CANARY)).toBe(false);
    expect(store.get(keyOf('a/1'))?.object.spec).toEqual({ data: CANARY });
    await store.close();
  });

  test('the same record is never sealed to the same bytes', () => {
    const one = codec();
    const sealed = [one, one, codec()].map((each) => each.encode('o/x', CANARY, true));

    expect(new Set(sealed.map((bytes) => bytes.toString('hex'))).size).toBe(3);
    for (const bytes of sealed) expect(codec().decode('o/x', bytes).toString()).toBe(CANARY);
  });
});

describe('records that cannot be read', () => {
  temporary('a wrong key is one clear error with the remedy', async ({ root }) => {
    const first = await openAt(root);
    first.apply([put('ops')]);
    await first.close();

    const error = await thrownBy(openAt(root, codec(Buffer.alloc(32, 8))));

    expect(error).toBeInstanceOf(StateError);
    expect(error.message).toBe(
      `the state in ${root} cannot be read: it was sealed with another state key (restore that key) or is damaged; delete it, it is rebuilt from git`,
    );
    const store = await openAt(root);
    expect(store.list(TEAMS).items).toHaveLength(1);
    await store.close();
  });

  const damages: { name: string; damage: (disk: Map<string, Buffer>) => void; why: string }[] = [
    {
      name: 'a sealed record with one bit turned',
      damage: (disk) => flip(disk, 'SharedSecret/a/1', -1),
      why: 'sealed with another state key',
    },
    {
      name: 'a sealed record that is cut short',
      damage: (disk) => change(disk, 'SharedSecret/a/1', (bytes) => bytes.subarray(0, 30)),
      why: 'sealed with another state key',
    },
    {
      name: 'a sealed record in the place of another',
      damage: (disk) =>
        change(disk, 'SharedSecret/a/1', () => recordOf(disk, 'SharedSecret/a/2')[1]),
      why: 'sealed with another state key',
    },
    {
      name: 'a plain record that is no JSON',
      damage: (disk) => change(disk, 'Team', () => Buffer.from(`{"key":${CANARY}`)),
      why: 'a record is invalid (SyntaxError)',
    },
    {
      name: 'a record that is gone',
      damage: (disk) => void disk.delete(recordOf(disk, 'SharedSecret/a/2')[0]),
      why: 'records are missing',
    },
    {
      name: 'the record of the versions is gone',
      damage: (disk) => void disk.delete(recordOf(disk, 'm/')[0]),
      why: 'records are missing',
    },
    {
      name: 'another format',
      damage: (disk) =>
        change(disk, 'm/', () => codec().encode('m/store', '{"format":3,"last":1}', true)),
      why: 'a record is invalid',
    },
  ];

  test.each(damages)('$name', async ({ damage, why }) => {
    const disk = new Map<string, Buffer>();
    const first = await openOn(disk);
    first.apply([put('a/1', { data: CANARY }), put('a/2'), put('ops')]);
    await first.close();
    damage(disk);

    const error = await thrownBy(openOn(disk));

    expect(error).toBeInstanceOf(StateError);
    expect(error.message).toContain(`the state in memory cannot be read: `);
    expect(error.message).toContain(why);
    expect(error.message).toContain('delete it, it is rebuilt from git');
    expect(inspected(error)).not.toContain(CANARY);
  });
});

describe('the key file', () => {
  temporary('is made on first use, for its owner alone, and is then used again', ({ root }) => {
    const path = join(root, 'state.key');

    const made = loadStateKey(path);
    const again = loadStateKey(path);

    expect(made).toHaveLength(32);
    expect(again.equals(made)).toBe(true);
    expect(fs.statSync(path).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(root)).toEqual(['state.key']);
  });

  temporary('two keys differ', ({ root }) => {
    const [one, two] = ['one.key', 'two.key'].map((name) => loadStateKey(join(root, name)));

    expect(one?.equals(two ?? Buffer.alloc(0))).toBe(false);
  });

  for (const content of ['', 'secret-but-short', `${'a'.repeat(64)}b`, 'Z'.repeat(64)]) {
    temporary(
      `with other content is refused and not replaced: ${content.length} characters`,
      ({ root }) => {
        const path = join(root, 'state.key');
        fs.writeFileSync(path, content);

        expect(() => loadStateKey(path)).toThrow(StateError);
        expect(() => loadStateKey(path)).toThrow(`the state key ${path} is not 32 bytes`);
        if (content !== '') expect(() => loadStateKey(path)).not.toThrow(content);
        expect(fs.readFileSync(path, 'utf8')).toBe(content);
      },
    );
  }

  temporary('that cannot be made is an error that names it', ({ root }) => {
    const path = join(root, 'no', 'such', 'state.key');

    expect(() => loadStateKey(path)).toThrow(StateError);
    expect(() => loadStateKey(path)).toThrow(path);
  });

  test('a store that others can write has no plain record, and none counts', async () => {
    const disk = new Map<string, Buffer>();
    const store = await openOn(disk, strictCodec(KEY));
    store.apply([put('ops', { open: 'plain-word' })]);
    await store.close();
    expect(Buffer.concat([...disk.values()]).includes('plain-word')).toBe(false);
    const again = await openOn(disk, strictCodec(KEY));
    expect(JSON.stringify(again.get(keyOf('ops'))?.object)).toContain('plain-word');
    await again.close();
    change(disk, 'ops', (bytes) => codec().decode(recordOf(disk, 'ops')[0], bytes));
    const error = await thrownBy(openOn(disk, strictCodec(KEY)));
    expect(error).toBeInstanceOf(StateError);
  });
});

function recordOf(disk: Map<string, Buffer>, part: string): [string, Buffer] {
  const found = [...disk].find(([key]) => key.includes(part));
  if (found === undefined) throw new Error(`no record with ${part} in its key`);
  return found;
}

function change(disk: Map<string, Buffer>, part: string, to: (bytes: Buffer) => Buffer): void {
  const [key, bytes] = recordOf(disk, part);
  disk.set(key, to(bytes));
}

function flip(disk: Map<string, Buffer>, part: string, at: number): void {
  change(disk, part, (bytes) => {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(copy.readUInt8(copy.length + at) ^ 1, copy.length + at);
    return copy;
  });
}

/** Everything a log could print of an error. */
function inspected(error: Error): string {
  return `${error.stack} ${String(error.cause)} ${JSON.stringify(error)}`;
}
