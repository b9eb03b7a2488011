/**
 * `gitplane credential NAME`: the program that kubectl asks for the key of a login
 * (client.authentication.k8s.io/v1). It asks nobody, and gives the key for the server that it is of
 * and for no other: who can change a kubeconfig must not be handed the key of another server.
 */
import { isRecord, valueAt } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { LoginStore, type SavedLogin } from './login-store.ts';
import type { Output } from './print.ts';

export async function credential(
  options: ParsedOptions,
  { out, now }: { readonly out: Output; readonly now: number },
): Promise<number> {
  const [name, ...more] = options.operands;
  if (name === undefined || more.length > 0) {
    throw new UsageError('This is what kubectl runs; write: gitplane credential NAME');
  }
  const saved = await new LoginStore(options).find(name);
  if (saved === undefined)
    throw new Error(`There is no login "${name}"; run: gitplane login SERVER`);
  checkServer(saved, options.environment['KUBERNETES_EXEC_INFO']);
  const { expirationTimestamp: end } = saved;
  if (end !== undefined && Date.parse(end) <= now) {
    throw new Error(`The login ended at ${end}; run: gitplane login ${saved.server}`);
  }
  const answer = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: {
      token: saved.accessKey,
      ...(end === undefined ? {} : { expirationTimestamp: end }),
    },
  };
  out.write(`${JSON.stringify(answer)}\n`);
  return 0;
}

function checkServer(saved: SavedLogin, info: string | undefined): void {
  if (info === undefined) return;
  const asked: unknown = valueAt(parsed(info), ['spec', 'cluster', 'server']);
  // Clusters that the platform serves are beside its API.
  if (asked === undefined || `${String(asked)}/`.startsWith(`${saved.server}/`)) return;
  throw new Error(
    `The login is for ${saved.server} and not for ${String(asked)}; run: gitplane login SERVER`,
  );
}

function parsed(info: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(info);
    return isRecord(value) ? value : undefined;
  } catch (cause) {
    throw new Error('KUBERNETES_EXEC_INFO is not JSON', { cause });
  }
}
