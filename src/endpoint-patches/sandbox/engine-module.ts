/**
 * QuickJS, compiled to WebAssembly once a thread. Each instance has a linear memory of its own with
 * a hard end: an allocation beyond it fails inside, whatever the engine's own accounting says.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import releaseSync from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { engineTexts } from './engine-text.ts';

/** Its types describe its CommonJS form; an ES module gets the variant itself. */
const variant = releaseSync as unknown as QuickJSSyncVariant;

const PAGE_BYTES = 65_536;
/** Pages that the build declares: 5 MiB of stack and the initial size of its allocator. */
const FIRST_PAGES = 256;

export interface EngineInstance {
  readonly engine: QuickJSWASMModule;
  readonly memory: WebAssembly.Memory;
}

let compiled: WebAssembly.Module | undefined;

function compiledModule(): WebAssembly.Module {
  if (compiled !== undefined) return compiled;
  const file = fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm'));
  compiled = new WebAssembly.Module(readFileSync(file));
  return compiled;
}

/** `bytes`: what the heap may grow to, beside the stack and the engine's own data. */
export async function instantiate(bytes: number): Promise<EngineInstance> {
  const maximum = FIRST_PAGES + Math.ceil(bytes / PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum });
  const custom = newVariant(variant, { wasmModule: compiledModule(), wasmMemory: memory });
  const engine = await newQuickJSWASMModuleFromVariant(withTextsOf(custom, memory));
  return { engine, memory };
}

/** The way from a variant to its module, with texts that take a way of their own. */
function withTextsOf(custom: QuickJSSyncVariant, memory: WebAssembly.Memory): QuickJSSyncVariant {
  const importModuleLoader = async (): Promise<ModuleLoader> => {
    const load = (await custom.importModuleLoader()) as ModuleLoader;
    return async () => Object.assign(await load(), engineTexts(memory));
  };
  return { ...custom, importModuleLoader } as QuickJSSyncVariant;
}

type ModuleLoader = () => Promise<object>;
