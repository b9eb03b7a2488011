/**
 * `gitplane token verify`: what a connected cluster checks of an endpoint token, with the published
 * keys alone. Revocations and the owner are known to the platform only; TokenReview asks it.
 */
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { decodeJwt, type JSONWebKeySet } from 'jose';
import { terminalJson } from '../apimachinery/index.ts';
import { verifyEndpointToken } from '../auth/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { getJson } from './https-client.ts';
import type { Output } from './print.ts';

export interface TokenInput {
  readonly stdin: NodeJS.ReadableStream;
  readonly out: Output;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Resolves to the exit status: 1 for a token that does not hold, with the reason on the output. */
export async function token(options: ParsedOptions, input: TokenInput): Promise<number> {
  const [action, operand = '-', ...more] = options.operands;
  if (action !== 'verify' || more.length > 0) {
    throw new UsageError('Write: gitplane token verify [TOKEN]; without it, it is read from stdin');
  }
  const given = (operand === '-' ? await readAll(input.stdin) : operand).trim();
  const issuer = options.text('issuer') ?? issuerOf(given);
  const jwks = await keySet(options, issuer);
  const audience = options.all('audience');
  try {
    const claims = await verifyEndpointToken(given, {
      jwks,
      issuer,
      now: input.now,
      audience: audience.length === 0 ? undefined : [...audience],
    });
    input.out.write(`${terminalJson(claims)}\n`);
    return 0;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    input.out.write(`${terminalJson({ valid: false, error: why })}\n`);
    return 1;
  }
}

/** Only to know whom to ask for keys: whether it is true is what the keys tell. */
function issuerOf(given: string): string {
  try {
    const { iss } = decodeJwt(given);
    if (iss !== undefined) return iss;
  } catch {
    // Said below.
  }
  throw new UsageError('This is not an endpoint token: it is not a JWT that names its issuer');
}

async function keySet(options: ParsedOptions, issuer: string): Promise<JSONWebKeySet> {
  const file = options.text('jwks');
  if (file !== undefined) return JSON.parse(await readFile(file, 'utf8')) as JSONWebKeySet;
  // A token can name any issuer: keys are fetched only from the one that the caller names.
  if (options.text('issuer') === undefined) {
    throw new UsageError(`Give --jwks FILE, or --issuer ${issuer} to fetch the keys from there`);
  }
  const caFile = options.text('ca-file');
  const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
  return (await getJson(`${issuer}/.well-known/jwks.json`, { ca })) as JSONWebKeySet;
}
