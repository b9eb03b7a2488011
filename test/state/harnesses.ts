/** Places to keep state in, one an engine. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLmdbEngine } from '../../src/state/engines/lmdb-engine.ts';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import { openStore } from '../../src/state/open-store.ts';
import { sealingCodec } from '../../src/state/records/codec.ts';
import type { EngineHarness } from '../conformance/state-engine.ts';
import type { StoreHarness } from '../conformance/store/fixture.ts';

export function fail(error: unknown): never {
  throw error;
}

export async function memoryHarness(): Promise<EngineHarness> {
  const disk = new Map<string, Buffer>();
  return {
    open: async () => new MemoryEngine(disk),
    openCopy: async () => new MemoryEngine(new Map(disk)),
    dispose: async () => disk.clear(),
  };
}

export async function lmdbHarness(): Promise<EngineHarness> {
  const root = fs.mkdtempSync(join(tmpdir(), 'gitplane-state-'));
  const directory = join(root, 'state');
  let copies = 0;
  return {
    open: () => openLmdbEngine(directory, { onError: fail }),
    openCopy: () => {
      // Opening the original took its mark of a clean close away, so a copy counts as crashed.
      const copy = join(root, `copy-${copies++}`);
      fs.cpSync(directory, copy, { recursive: true });
      return openLmdbEngine(copy, { onError: fail });
    },
    dispose: async () => fs.rmSync(root, { recursive: true }),
  };
}

/** Objects of SharedSecret are sealed, those of other kinds are not. */
export const testCodec = sealingCodec(Buffer.alloc(32, 7), ({ kind }) => kind === 'SharedSecret');

const SETUP = { codec: testCodec, onError: fail };

export async function memoryStoreHarness(): Promise<StoreHarness> {
  let disk = new Map<string, Buffer>();
  return {
    open: (setup) => openStore({ ...SETUP, ...setup, engine: new MemoryEngine(disk) }),
    crash: () => {
      disk = new Map(disk);
    },
    dispose: async () => disk.clear(),
  };
}

export async function lmdbStoreHarness(): Promise<StoreHarness> {
  const root = fs.mkdtempSync(join(tmpdir(), 'gitplane-state-'));
  let crashes = 0;
  const directory = (): string => join(root, `state-${crashes}`);
  return {
    open: async (setup) => {
      const engine = await openLmdbEngine(directory(), { onError: fail });
      return openStore({ ...SETUP, ...setup, engine });
    },
    crash: () => {
      const left = directory();
      crashes++;
      fs.cpSync(left, directory(), { recursive: true });
    },
    dispose: async () => fs.rmSync(root, { recursive: true }),
  };
}
