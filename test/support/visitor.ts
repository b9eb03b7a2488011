/** A browser without a screen: follows nothing by itself, and keeps cookies as a browser does. */
import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface Page {
  readonly url: string;
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Where it is sent on; undefined: nowhere. */
  readonly next: string | undefined;
}

export interface Form {
  readonly action: string;
  readonly fields: Record<string, string>;
}

interface Cookie {
  readonly value: string;
  readonly sameSite: string;
}

export class Visitor {
  readonly #ca: string | undefined;
  /** By origin, and then by name. */
  readonly #cookies = new Map<string, Map<string, Cookie>>();

  /** `ca`: PEM of an authority that is trusted beside those of the system. */
  constructor(ca?: string) {
    this.#ca = ca;
  }

  /** `from`: the site of the page that leads there; the same one when absent. */
  async get(url: string, from?: string): Promise<Page> {
    return await this.#send(url, { method: 'GET', from });
  }

  async post(url: string, fields: Readonly<Record<string, string>>, from?: string): Promise<Page> {
    const body = new URLSearchParams(fields).toString();
    return await this.#send(url, { method: 'POST', body, from });
  }

  /** The page at the end of its redirects, and of the forms that post themselves. */
  async follow(page: Page): Promise<Page> {
    let last = page;
    for (;;) {
      if (last.next !== undefined) last = await this.get(last.next);
      else if (last.text.includes('document.forms[0].submit()')) last = await this.submit(last);
      else return last;
    }
  }

  /** Posts the form of a page, from that page. */
  async submit(page: Page): Promise<Page> {
    const { action, fields } = formOf(page);
    return await this.post(action, fields, page.url);
  }

  cookie(origin: string, name: string): string | undefined {
    return this.#cookies.get(origin)?.get(name)?.value;
  }

  #send(
    url: string,
    of: { method: 'GET' | 'POST'; body?: string; from?: string | undefined },
  ): Promise<Page> {
    const { origin, protocol } = new URL(url);
    const isCrossSite = of.from !== undefined && new URL(of.from).origin !== origin;
    const headers = {
      cookie: this.#cookieHeader(origin, isCrossSite && of.method === 'POST'),
      ...(of.method === 'GET' && of.from === undefined ? {} : { origin: of.from ?? origin }),
      ...(of.body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    };
    const send = protocol === 'https:' ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const sent = send(url, { method: of.method, headers, ca: this.#ca }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          this.#keep(origin, response.headers['set-cookie'] ?? []);
          const { location } = response.headers;
          resolve({
            url,
            code: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(parts).toString(),
            next: location === undefined ? undefined : new URL(location, url).href,
          });
        });
      });
      sent.on('error', reject);
      sent.end(of.body);
    });
  }

  /** Lax and Strict cookies do not go with forms of other sites. */
  #cookieHeader(origin: string, isForeignForm: boolean): string {
    return [...(this.#cookies.get(origin) ?? [])]
      .filter(([, { sameSite }]) => !isForeignForm || sameSite === 'none')
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
  }

  #keep(origin: string, lines: readonly string[]): void {
    const own = this.#cookies.get(origin) ?? new Map<string, Cookie>();
    this.#cookies.set(origin, own);
    for (const line of lines) {
      const [pair = '', ...rest] = line.split(';').map((part) => part.trim());
      const name = pair.slice(0, pair.indexOf('='));
      const value = pair.slice(pair.indexOf('=') + 1);
      const attributes = rest.map((part) => part.toLowerCase());
      const sameSite = attributes.find((part) => part.startsWith('samesite='))?.slice(9) ?? 'lax';
      if (attributes.includes('max-age=0')) own.delete(name);
      else own.set(name, { value, sameSite });
    }
  }
}

/** The first form of a page. Throws where there is none. */
export function formOf({ text, url }: Page): Form {
  const form = /<form\b([^>]*)>([\s\S]*?)<\/form>/i.exec(text);
  if (form === null) throw new Error(`There is no form at ${url}: ${text.slice(0, 500)}`);
  const [, head = '', body = ''] = form;
  const inputs = [...body.matchAll(/<input\b([^>]*)>/gi)].map(([, attributes = '']) => attributes);
  const fields = inputs.flatMap((attributes): [string, string][] => {
    const name = attributeOf(attributes, 'name');
    return name === undefined ? [] : [[name, attributeOf(attributes, 'value') ?? '']];
  });
  const action = attributeOf(head, 'action');
  return {
    action: new URL(action === undefined || action === '?' ? url : action, url).href,
    fields: Object.fromEntries(fields),
  };
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

function attributeOf(attributes: string, name: string): string | undefined {
  const found = new RegExp(`\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'i').exec(attributes);
  const text = found?.[1] ?? found?.[2];
  return text?.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, named) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return hex === undefined
      ? (ENTITIES[named] ?? whole)
      : String.fromCodePoint(Number.parseInt(hex, 16));
  });
}
