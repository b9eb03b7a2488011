/** A case: requests in order, of which every one that is not a preparation has a verdict. */

import { type Answered, type Asked, type Client, clientOf, type Target } from './target.ts';
import { bodyOf, Namer, type Verdict, verdictOf } from './verdict.ts';

export interface Case {
  /** A claim about what is asked, unique among all. */
  readonly name: string;
  run(api: Api): Promise<void>;
}

/** The verdicts of a case by what was asked. */
export type Verdicts = Readonly<Record<string, Verdict>>;

type Options = Omit<Asked, 'method' | 'path' | 'body'>;

// biome-ignore lint/suspicious/noExplicitAny: cases reach into answers of every shape
type Body = any;

export interface WatchOptions extends Options {
  /** How many events are waited for; absent: until the server ends the stream. */
  readonly events?: number;
  /** What happens once the stream is open. */
  readonly during?: () => Promise<unknown>;
  /** Of each event. */
  readonly show?: (event: Body) => unknown;
}

const GROUP = 'management.gitplane.dev';
export const API_VERSION = `${GROUP}/v1`;
export const TEAMS = `/apis/${GROUP}/v1/teams`;
export const USERS = `/apis/${GROUP}/v1/users`;
export const SECRETS = `/apis/${GROUP}/v1/namespaces/default/sharedsecrets`;
export const ALL_SECRETS = `/apis/${GROUP}/v1/sharedsecrets`;
export const SECRETS_OF = (namespace: string): string =>
  `/apis/${GROUP}/v1/namespaces/${namespace}/sharedsecrets`;

interface ShownRequest extends Asked {
  show(body: Body): unknown;
}

export class Api {
  readonly #client: Client;
  readonly #namer = new Namer();
  readonly #verdicts: Record<string, Verdict> = {};

  constructor(client: Client) {
    this.#client = client;
  }

  get verdicts(): Verdicts {
    return this.#verdicts;
  }

  get(path: string, options: Options = {}): Promise<Body> {
    return this.ask({ method: 'GET', path, ...options });
  }

  post(path: string, body: unknown, options: Options = {}): Promise<Body> {
    return this.ask({ method: 'POST', path, body, ...options });
  }

  put(path: string, body: unknown, options: Options = {}): Promise<Body> {
    return this.ask({ method: 'PUT', path, body, ...options });
  }

  delete(path: string, body?: unknown, options: Options = {}): Promise<Body> {
    const sent = body === undefined ? {} : { body };
    return this.ask({ method: 'DELETE', path, ...sent, ...options });
  }

  merge(path: string, body: unknown, options: Options = {}): Promise<Body> {
    return this.ask({ method: 'PATCH', path, body, type: MERGE, ...options });
  }

  json(path: string, body: unknown, options: Options = {}): Promise<Body> {
    return this.ask({ method: 'PATCH', path, body, type: JSON_PATCH, ...options });
  }

  apply(path: string, body: unknown, options: Options = {}): Promise<Body> {
    return this.ask({ method: 'PATCH', path, body, type: APPLY, ...options });
  }

  /** Notes the verdict, and returns the body as it came. */
  async ask(asked: Asked): Promise<Body> {
    const answer = await this.#client.call(asked);
    // The identity of an object that never was is like no other.
    const isDryCreate = asked.method === 'POST' && asked.path.includes('dryRun=');
    const namer = isDryCreate ? new Namer() : this.#namer;
    this.note(labelOf(asked), verdictOf(answer, namer));
    return parsed(answer);
  }

  /** A preparation: it has to work, and nobody compares how. */
  async quietly(method: string, path: string, body?: unknown, type?: string): Promise<Body> {
    const sent = body === undefined ? {} : { body };
    const asked = { method, path, ...sent, ...(type === undefined ? {} : { type }) };
    const answer = await this.#client.call(asked);
    if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.code} ${answer.text}`);
    return parsed(answer);
  }

  /** A preparation that asks for another form. */
  async quietlyAs(path: string, accept: string): Promise<Body> {
    return parsed(await this.#client.call({ method: 'GET', path, accept }));
  }

  async text(asked: Asked): Promise<string> {
    return (await this.#client.call(asked)).text;
  }

  async contentTypes(paths: readonly string[], accept: string): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const path of paths) {
      const { headers } = await this.#client.call({ method: 'GET', path, accept });
      found.push(headers['content-type']);
    }
    return found;
  }

  /** Notes what `show` makes of a body that came with success, and other answers as they are. */
  async quietlyNoted(label: string, { show, ...asked }: ShownRequest): Promise<void> {
    const answer = await this.#client.call(asked);
    const verdict = verdictOf(answer, this.#namer);
    const body = answer.code < 300 ? show(parsed(answer)) : verdict.body;
    this.note(label, { ...verdict, body });
  }

  /** The code alone, for what is the server's own to say. */
  async code(asked: Asked): Promise<number> {
    const { code } = await this.#client.call(asked);
    this.note(labelOf(asked), { code });
    return code;
  }

  async watch(path: string, options: WatchOptions = {}): Promise<readonly Body[]> {
    const { events, during, show = (event) => event, ...rest } = options;
    const asked = { method: 'GET', path, ...rest };
    const stream = await this.#client.stream(asked);
    await during?.();
    await stream.until(events ?? Number.MAX_SAFE_INTEGER);
    stream.end();
    const lines = stream
      .lines()
      .slice(0, events)
      .map((line) => JSON.parse(line) as Body);
    const shown = lines.map((line) => bodyOf(JSON.stringify(show(line)), this.#namer));
    const type = String(stream.headers['content-type'] ?? '');
    const headers = { 'content-type': type };
    this.note(labelOf(asked), { code: stream.code, headers, body: shown });
    return lines;
  }

  /** What a case found out by looking at several answers. */
  note(label: string, verdict: Verdict): void {
    let free = label;
    for (let again = 2; this.#verdicts[free] !== undefined; again++) free = `${label} (${again})`;
    const { body, ...rest } = verdict;
    const ordered = body === undefined ? {} : { body: bodyOf(JSON.stringify(body), this.#namer) };
    this.#verdicts[free] = { ...rest, ...ordered };
  }
}

export const MERGE = 'application/merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const APPLY = 'application/apply-patch+yaml';

/** Identities and tokens of one run say nothing. */
function labelOf({ method, path, type, accept }: Asked): string {
  const steady = path
    .replace(/(resourceVersion=)\d{2,}/, '$1<version>')
    .replace(/(continue=)[^&]+/, '$1<token>');
  const kind = method === 'PATCH' && type != null ? ` ${type.split('/')[1]}` : '';
  const wish = accept === undefined ? '' : ` as ${accept}`;
  return `${method} ${steady}${kind}${wish}`;
}

function parsed({ text }: Answered): Body {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The verdicts of the cases of an area, by their names. */
export type Judged = Readonly<Record<string, Verdicts>>;

/** Runs areas beside each other, the cases of each in order; throws when a case cannot be run. */
export async function judge(
  target: Target,
  areas: Readonly<Record<string, readonly Case[]>>,
): Promise<Readonly<Record<string, Judged>>> {
  const client = clientOf(target);
  const one = async ([area, cases]: [string, readonly Case[]]): Promise<[string, Judged]> => {
    const found: Record<string, Verdicts> = {};
    for (const { name, run } of cases) {
      const api = new Api(client);
      await run(api).catch((cause: unknown) => {
        throw new Error(`${area}: "${name}" cannot be judged`, { cause });
      });
      found[name] = api.verdicts;
    }
    return [area, found];
  };
  try {
    return Object.fromEntries(await Promise.all(Object.entries(areas).map(one)));
  } finally {
    client.close();
  }
}

/** Objects of the kinds that cases are about. */
export function team(name: string, rest: object = {}, meta: object = {}): object {
  return {
    apiVersion: API_VERSION,
    kind: 'Team',
    metadata: { name, ...meta },
    spec: { displayName: 'Data', ...rest },
  };
}

export function secret(name: string, rest: object = {}, meta: object = {}): object {
  return {
    apiVersion: API_VERSION,
    kind: 'SharedSecret',
    metadata: { name, ...meta },
    spec: { displayName: 'Database', ...rest },
  };
}
