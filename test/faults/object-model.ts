/** What one object of the API may answer, for the check of linearizability. */
import type { Model } from '../support/linearizability.ts';

export type Input =
  | { readonly op: 'read' }
  | { readonly op: 'create' | 'patch'; readonly value: string }
  /** Succeeds on exactly one version. */
  | { readonly op: 'update'; readonly value: string; readonly version: string }
  | { readonly op: 'delete' }
  /** By git; null removes the manifest. */
  | { readonly op: 'push'; readonly value: string | null };

export type Output =
  /** `version` is unknown for pushes, and both are for deletions. */
  | { readonly ok: true; readonly value?: string; readonly version?: string }
  | { readonly ok: false; readonly reason: 'NotFound' | 'AlreadyExists' | 'Conflict' };

interface Present {
  readonly value: string;
  /** Undefined until a client read it. */
  readonly version: string | undefined;
}

export type State = Present | null;

export const objectModel: Model<State, Input, Output> = {
  initial: null,
  key: (state) => (state === null ? '-' : `${state.value} ${state.version ?? '?'}`),
  step: (state, input, output) => {
    if (output === undefined) return effect(state, input);
    if (!output.ok) return refuses(state, input, output.reason) ? state : undefined;
    switch (input.op) {
      case 'read':
        return seen(state, output);
      case 'create':
        return state === null ? written(input.value, output) : undefined;
      case 'patch':
        return state === null ? undefined : written(input.value, output);
      case 'update':
        return state !== null && mayBe(state, input.version)
          ? written(input.value, output)
          : undefined;
      case 'delete':
        return state === null ? undefined : null;
      case 'push':
        return effect(state, input);
    }
  },
};

function refuses(state: State, input: Input, reason: string): boolean {
  if (reason === 'NotFound') return state === null;
  if (state === null) return false;
  if (reason === 'AlreadyExists') return input.op === 'create';
  return input.op === 'update' && state.version !== input.version;
}

function mayBe(state: Present, version: string): boolean {
  return state.version === undefined || state.version === version;
}

function seen(
  state: State,
  { value, version }: { value?: string; version?: string },
): State | undefined {
  if (state === null || version === undefined) return undefined;
  return state.value === value && mayBe(state, version) ? { value, version } : undefined;
}

function written(value: string, answer: { value?: string; version?: string }): State | undefined {
  if (answer.value !== undefined && answer.value !== value) return undefined;
  return { value, version: answer.version };
}

/** What an operation does if it takes effect, whatever it answered. */
function effect(state: State, input: Input): State | undefined {
  switch (input.op) {
    case 'read':
      return state;
    case 'delete':
      return null;
    case 'push':
      return input.value === null ? null : { value: input.value, version: undefined };
    case 'create':
      return state === null ? { value: input.value, version: undefined } : state;
    case 'patch':
      return state === null ? state : { value: input.value, version: undefined };
    case 'update':
      return state !== null && mayBe(state, input.version)
        ? { value: input.value, version: undefined }
        : state;
  }
}
