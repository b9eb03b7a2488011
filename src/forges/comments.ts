/** Finds the comment of the daemon among those of a pull request. */

import { DeliveryError } from '../outbox/index.ts';
import { numberAt, textAt } from './answers.ts';
import type { ApiClient } from './api-client.ts';

interface Account {
  /** Undefined: the token is one of an app, which has no user. */
  readonly id: number | undefined;
}

/** The account of the token, read once. */
export class OwnAccount {
  readonly #api: ApiClient;
  #account: Promise<Account> | undefined;

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** True if the comment or review begins with the marker, and this account wrote it. */
  async wrote(item: unknown, marker: string): Promise<boolean> {
    if (!textAt(item, 'body').startsWith(marker)) return false;
    const { id } = await this.#read();
    const author = ['user', 'author'].map((field) => numberAt(item, field, 'id'));
    if (id !== undefined) return author.includes(id);
    return textAt(item, 'user', 'type') === 'Bot';
  }

  async #read(): Promise<Account> {
    this.#account ??= this.#ask().catch((error: unknown) => {
      this.#account = undefined;
      throw error;
    });
    return await this.#account;
  }

  async #ask(): Promise<Account> {
    try {
      return { id: numberAt(await this.#api.call({ path: '/user' }), 'id') };
    } catch (error) {
      const isApp = error instanceof DeliveryError && / answered 403$/.test(error.message);
      if (isApp) return { id: undefined };
      throw error;
    }
  }
}

/** Identifier of the comment; undefined: there is none. */
export async function findComment(
  pages: AsyncIterable<readonly unknown[]>,
  { account, marker }: { readonly account: OwnAccount; readonly marker: string },
): Promise<number | undefined> {
  let last: number | undefined;
  for await (const page of pages) {
    // A list without pages, such as that of Gitea, is the same on each.
    const id = numberAt(page.at(-1), 'id');
    if (id !== undefined && id === last) return undefined;
    last = id;
    for (const comment of page) {
      if (await account.wrote(comment, marker)) return numberAt(comment, 'id');
    }
  }
  return undefined;
}
