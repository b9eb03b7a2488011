/**
 * A list of parts in start order. Each part is opened with the parts before it, and parts are closed
 * in reverse. The compiler rejects a part that needs a later one.
 */
interface Closable {
  close(): Promise<void> | void;
}

export interface Started<Parts> {
  readonly parts: Parts;
  /**
   * Closes all parts, last first; a failure does not keep the others open. Failures go to `onError`;
   * without it, the first one is thrown at the end.
   */
  close(onError?: (error: unknown) => void): Promise<void>;
}

type OpenAll<Given, Parts> = (given: Given, opened: Closable[]) => Promise<Parts>;

export class StartOrder<Given extends object, Parts extends object = Given> {
  readonly #openAll: OpenAll<Given, Parts>;

  private constructor(openAll: OpenAll<Given, Parts>) {
    this.#openAll = openAll;
  }

  /** An empty list, for parts that are opened with `Given`. */
  static with<Given extends object>(): StartOrder<Given> {
    return new StartOrder<Given>(async (given) => given);
  }

  /** Adds a part that is closed at the end; undefined: an optional part is absent. */
  open<Name extends string, Part extends Closable | undefined>(
    name: Name,
    open: (before: Parts) => Part | Promise<Part>,
  ): StartOrder<Given, Parts & Record<Name, Part>> {
    return this.#then(name, async (before, opened) => {
      const part = await open(before);
      if (part !== undefined) opened.push(part);
      return part;
    });
  }

  /** Adds a part that holds no resources, or a step of the start. */
  make<Name extends string, Part>(
    name: Name,
    make: (before: Parts) => Part | Promise<Part>,
  ): StartOrder<Given, Parts & Record<Name, Part>> {
    return this.#then(name, make);
  }

  /** Opens all parts. When one fails, closes those before it and throws. */
  async start(given: Given, onError: (error: unknown) => void = ignore): Promise<Started<Parts>> {
    const opened: Closable[] = [];
    try {
      const parts = await this.#openAll(given, opened);
      return { parts, close: (onCloseError) => closeAll(opened, onCloseError) };
    } catch (error) {
      await closeAll(opened, onError);
      throw error;
    }
  }

  #then<Name extends string, Part>(
    name: Name,
    open: (before: Parts, opened: Closable[]) => Part | Promise<Part>,
  ): StartOrder<Given, Parts & Record<Name, Part>> {
    return new StartOrder(async (given, opened) => {
      const before = await this.#openAll(given, opened);
      const part = { [name]: await open(before, opened) } as Record<Name, Part>;
      return { ...before, ...part };
    });
  }
}

function ignore(): void {}

async function closeAll(opened: Closable[], onError?: (error: unknown) => void): Promise<void> {
  const failures: unknown[] = [];
  for (const part of opened.splice(0).reverse()) {
    try {
      await part.close();
    } catch (error) {
      failures.push(error);
      onError?.(error);
    }
  }
  if (onError === undefined && failures.length > 0) throw failures[0];
}
