/** The library that speaks the protocol, loaded when the configuration first wants it. */
import type { Configuration, errors, interactionPolicy, Provider } from 'oidc-provider';

export interface Library {
  readonly Provider: typeof Provider;
  readonly errors: typeof errors;
  readonly interactionPolicy: typeof interactionPolicy;
}

export type ProviderConfiguration = Configuration;

/** It says on the console that it was not tried with this release of Node; our tests did that. */
export async function loadLibrary(): Promise<Library> {
  const { warn } = console;
  console.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes('Unsupported runtime')) warn(...words);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}
