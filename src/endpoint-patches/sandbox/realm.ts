/**
 * The sandbox of one tenant: its expressions, compiled once, in a separate heap. Work that the
 * engine does not count is not limited here (see `Limits.timeMs`): that needs the end of the
 * thread.
 */
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core';
import type { JsonValue } from '../../apimachinery/index.ts';
import { type Evaluation, EvaluationError, type Evaluator } from '../evaluator.ts';
import { HEAD, TAIL } from '../expressions/syntax.ts';
import type { PatchProgram } from '../program.ts';
import type { Direction } from '../report.ts';
import type { TenantCluster } from '../tenant.ts';
import { translateServiceDns } from '../translate.ts';
import { instantiate } from './engine-module.ts';
import { decodeValue, encodeValue } from './engine-values.ts';
import { HOST_FUNCTIONS, type HostFunctionName, PRELUDE } from './guest.ts';
import { failureOf, type GuestError } from './guest-errors.ts';
import type { Limits } from './limits.ts';
import { MemoryImage } from './memory-image.ts';

/** JSON of `hostObject` and `virtualObject`, made for those who ask. */
export interface Ends {
  host(): string;
  virtual(): string;
}

const NO_ENDS: Ends = { host: () => 'null', virtual: () => 'null' };

/**
 * Interpreter steps per unit of fuel: the engine calls its interrupt handler once in so many steps.
 */
const STEPS = 10_000;

interface Compiled {
  readonly fn: QuickJSHandle;
  readonly usesContext: boolean;
  /** Objects may choose their JSON, so the engine has to write it. */
  readonly usesToJson: boolean;
  readonly body: string;
}

export class Realm implements Evaluator {
  readonly #context: QuickJSContext;
  readonly #limits: Limits;
  readonly #compiled = new Map<string, Compiled | EvaluationError>();
  readonly #evaluate: QuickJSHandle;
  readonly #position: QuickJSHandle;
  readonly #stringify: QuickJSHandle;
  readonly #cluster: string;
  readonly #image: MemoryImage;
  #ends: Ends = NO_ENDS;
  #endTexts: readonly string[] | undefined;
  #fuel = 0;
  #output = 0;
  #dirty = false;
  #broken = false;

  static async open(program: PatchProgram, limits: Limits): Promise<Realm> {
    const { engine, memory } = await instantiate(limits.memoryBytes);
    const runtime = engine.newRuntime();
    runtime.setMemoryLimit(limits.memoryBytes);
    runtime.setMaxStackSize(limits.stackBytes);
    const context = runtime.newContext();
    return new Realm({ program, limits, context, memory });
  }

  private constructor(parts: {
    program: PatchProgram;
    limits: Limits;
    context: QuickJSContext;
    memory: WebAssembly.Memory;
  }) {
    const { program, limits, context, memory } = parts;
    const { name, namespace, config } = program.tenant;
    this.#context = context;
    this.#limits = limits;
    this.#cluster = JSON.stringify({ name, namespace, config });
    context.runtime.setInterruptHandler(() => ++this.#fuel > limits.fuel);
    const prelude = context.unwrapResult(context.evalCode(PRELUDE, 'prelude'));
    const functions = HOST_FUNCTIONS.map((fn) => hostFunction(context, fn, program.tenant));
    const entry = context.unwrapResult(
      context.callFunction(prelude, context.undefined, ...functions),
    );
    this.#evaluate = context.getProp(entry, 0);
    this.#position = context.getProp(entry, 1);
    this.#stringify = context.getProp(entry, 2);
    for (const { index, expressions } of program.patches) {
      for (const direction of ['forward', 'reverse'] as const) {
        const body = expressions[direction];
        if (body === undefined) continue;
        this.#compiled.set(keyOf(index, direction), this.#compile(index, body));
      }
    }
    this.#image = new MemoryImage(memory);
  }

  /** True if the realm must be replaced: its memory has grown, or its engine failed. */
  get spent(): boolean {
    return this.#broken || this.#image.grown;
  }

  /** Bytes that are its own beside the engine's code. */
  get size(): number {
    return this.#image.size;
  }

  get fuel(): number {
    return Math.min(this.#fuel, this.#limits.fuel);
  }

  /** A new object: its budgets are full. */
  begin(ends: Ends = NO_ENDS): void {
    this.#ends = ends;
    this.#endTexts = undefined;
    this.#fuel = 0;
    this.#output = 0;
  }

  /** Null stands for undefined as well: both delete. */
  evaluate(evaluation: Evaluation): readonly JsonValue[] {
    const compiled = this.#compiled.get(keyOf(evaluation.patch, evaluation.direction));
    if (compiled === undefined) throw new Error(`Patch ${evaluation.patch} has no expression`);
    if (compiled instanceof EvaluationError) throw compiled;
    if (this.#dirty) this.#image.restore();
    this.#dirty = true;
    const { patch, paths, values } = evaluation;
    const where = { patch, paths, body: compiled.body };
    const results = this.#guarded(where, () => this.#results(evaluation, { where, compiled }));
    const late = this.#outOfFuel({ message: '', stack: '', file: fileOf(patch), body: where.body });
    if (late !== undefined) throw late;
    if (results.length !== values.length) throw new Error('The sandbox gave too few results');
    return results;
  }

  #compile(patch: number, body: string): Compiled | EvaluationError {
    const context = this.#context;
    const result = context.evalCode(`${HEAD}${body}${TAIL}`, fileOf(patch));
    if (result.error === undefined) {
      const usesContext = mentions('context', body);
      return { fn: result.value, usesContext, usesToJson: mentions('toJSON', body), body };
    }
    const thrown = { ...this.#thrown(result.error), file: fileOf(patch), body };
    result.error.dispose();
    return failureOf(thrown, 'syntax');
  }

  /** Evaluates inside of the guest, and reads the results from its memory. */
  #results({ values, paths }: Evaluation, { where, compiled }: Call): readonly JsonValue[] {
    const { fn, usesContext, usesToJson } = compiled;
    const bytes = encodeValue(values);
    const texts = usesContext ? [JSON.stringify(paths), this.#cluster, ...this.#endsAsText()] : [];
    const size = texts.reduce((sum, text) => sum + text.length, bytes.byteLength);
    // The engine does not refuse a document without room for it; an eighth leaves room for values.
    if (size > this.#limits.memoryBytes / 8) throw tooLarge();
    const context = this.#context;
    const list = context.decodeBinaryJSON(context.newArrayBuffer(bytes));
    if (context.getLength(list) !== values.length) throw tooLarge();
    this.#call(where, this.#evaluate, [fn, list, ...texts.map((text) => context.newString(text))]);
    const results = usesToJson ? undefined : this.#decoded(list);
    if (results !== undefined) return results;
    const json = this.#call(where, this.#stringify, [list]);
    this.#spend(Buffer.byteLength(json));
    return JSON.parse(`[${json}]`) as JsonValue[];
  }

  /** Undefined if the engine has to write the results as JSON: they hold more than plain values. */
  #decoded(list: QuickJSHandle): readonly JsonValue[] | undefined {
    const document = this.#context.encodeBinaryJSON(list);
    const bytes = this.#bytesOf(document);
    if (bytes === undefined) return undefined;
    this.#spend(bytes.length);
    const results = decodeValue(bytes) as JsonValue[] | undefined;
    if (results === undefined) this.#spend(-bytes.length);
    return results;
  }

  /** Undefined if the engine could not write the document. To ask for its type would cost more. */
  #bytesOf(document: QuickJSHandle): Uint8Array | undefined {
    try {
      return this.#context.getArrayBuffer(document).value;
    } catch {
      return undefined;
    }
  }

  #spend(bytes: number): void {
    this.#output += bytes;
    const limit = this.#limits.outputBytes;
    if (this.#output <= limit) return;
    const message = `the results take more than ${limit} bytes`;
    throw new EvaluationError(message, { reason: 'output' });
  }

  #endsAsText(): readonly string[] {
    this.#endTexts ??= [this.#ends.host(), this.#ends.virtual()];
    return this.#endTexts;
  }

  /** Calls a function of the guest; see `PRELUDE` for its answers. */
  #call(where: Where, guest: QuickJSHandle, args: readonly QuickJSHandle[]): string {
    const context = this.#context;
    const result = context.callFunction(guest, context.undefined, ...args);
    if (result.error !== undefined) throw this.#stopped(result.error, where);
    if (context.sameValue(result.value, context.undefined)) return '';
    const answer = context.getString(result.value);
    if (answer.startsWith(FAILED)) throw this.#failed(answer.slice(FAILED.length), where);
    return answer;
  }

  /** Marks the realm as broken if `steps` fail in another way than by what an expression did. */
  #guarded<T>({ body }: Where, steps: () => T): T {
    try {
      return steps();
    } catch (error) {
      if (error instanceof EvaluationError) throw error;
      this.#broken = true;
      // The thread's own stack ended before that of the engine.
      if (error instanceof RangeError) {
        const message = `RangeError: ${error.message}`;
        throw failureOf({ message, stack: '', file: '', body }, 'stack');
      }
      const message = 'the sandbox broke, and was replaced';
      throw new EvaluationError(message, { reason: 'crash', cause: error });
    }
  }

  /** The guest could not catch it: a limit was reached. */
  #stopped(error: QuickJSHandle, { patch, paths, body }: Where): EvaluationError {
    const index = this.#context.callFunction(this.#position, this.#context.undefined);
    const at = index.error === undefined ? this.#context.getNumber(index.value) : -1;
    const path = paths[at];
    const thrown = { ...this.#thrown(error), file: fileOf(patch), body, path };
    return this.#outOfFuel(thrown) ?? failureOf(thrown, 'exception');
  }

  /** The engine lets some interruptions be caught; the fuel is gone all the same. */
  #outOfFuel(error: GuestError): EvaluationError | undefined {
    if (this.#fuel <= this.#limits.fuel) return undefined;
    const message = `the expressions took more than ${this.#limits.fuel * STEPS} steps`;
    return failureOf({ ...error, message }, 'fuel');
  }

  #thrown(error: QuickJSHandle): { message: string; stack: string } {
    const text = (name: string): string => {
      const value = this.#context.getProp(error, name);
      return this.#context.typeof(value) === 'string' ? this.#context.getString(value) : '';
    };
    return { message: `${text('name')}: ${text('message')}`.slice(0, 300), stack: text('stack') };
  }

  /** An error that the guest has caught. */
  #failed(json: string, { patch, paths, body }: Where): EvaluationError {
    const { message: words, index, stack } = JSON.parse(json) as GuestFailure;
    // The engine throws null when it has no memory left for an error.
    const exhausted = words === 'threw null' && this.#image.grown;
    const message = exhausted ? 'InternalError: out of memory' : words;
    const error = { message, stack, file: fileOf(patch), body, path: paths[index] };
    return this.#outOfFuel(error) ?? failureOf(error, 'exception');
  }
}

/**
 * True if an expression may use `name`: it has the name, an escape in a name or a direct eval. Where
 * none mentions `context`, the sandbox creates none.
 */
function mentions(name: string, body: string): boolean {
  return body.includes(name) || /\\u|eval/.test(body);
}

function tooLarge(): EvaluationError {
  const message = 'the object is too large or too deep for the sandbox';
  return new EvaluationError(message, { reason: 'memory' });
}

/** First character of an answer that reports an error: no JSON text begins with it. */
const FAILED = '!';

interface Call {
  readonly where: Where;
  readonly compiled: Compiled;
}

interface Where {
  readonly patch: number;
  readonly paths: readonly string[];
  readonly body: string;
}

interface GuestFailure {
  readonly message: string;
  readonly stack: string;
  readonly index: number;
}

function keyOf(patch: number, direction: Direction): string {
  return `${patch}/${direction}`;
}

function fileOf(patch: number): string {
  return `patch-${patch}`;
}

/** Texts cross the border as JSON: the engine's own way ends them at a zero byte. */
function hostFunction(
  context: QuickJSContext,
  name: HostFunctionName,
  tenant: TenantCluster,
): QuickJSHandle {
  const play = {
    atob: (text: string) => atob(text),
    btoa: (text: string) => btoa(text),
    virtualToHostDNS: (text: string) => translateServiceDns(text, tenant),
  }[name];
  return context.newFunction(name, (argument) => {
    const text = JSON.parse(context.getString(argument)) as string;
    return context.newString(JSON.stringify(play(text)));
  });
}
