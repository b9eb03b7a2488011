/** Loads the protocol library when the configuration first enables the provider. */
import type { errors, interactionPolicy, Provider } from 'oidc-provider';

export interface Library {
  readonly Provider: typeof Provider;
  readonly errors: typeof errors;
  readonly interactionPolicy: typeof interactionPolicy;
}

/** Suppresses its console warning about this release of Node, which our tests cover. */
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
