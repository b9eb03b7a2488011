/** What rows measure on. Made once a run, on first use; a row that writes takes a copy. */
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Corpus, CorpusFile } from './corpus.ts';
import { type DaemonProcess, startDaemon } from './daemon-process.ts';
import { makeRepository } from './git.ts';
import type { Workspace } from './workspace.ts';

export interface FixtureOptions {
  readonly workspace: Workspace;
  readonly corpus: Corpus;
  readonly repetitions: number;
  /** Where CPU profiles of the daemons go. */
  readonly profile: string | undefined;
}

export class Fixture {
  readonly workspace: Workspace;
  readonly corpus: Corpus;
  readonly repetitions: number;
  readonly #profile: string | undefined;
  #repository: Promise<string> | undefined;
  #platform: Promise<string> | undefined;

  constructor(options: FixtureOptions) {
    this.workspace = options.workspace;
    this.corpus = options.corpus;
    this.repetitions = options.repetitions;
    this.#profile = options.profile;
  }

  /** The same for other manifests. */
  on(corpus: Corpus): Fixture {
    const { workspace, repetitions } = this;
    return new Fixture({ workspace, corpus, repetitions, profile: this.#profile });
  }

  /** A bare repository with every manifest in one commit and one pack. Not to be written to. */
  repository(): Promise<string> {
    this.#repository ??= this.#makeRepository();
    return this.#repository;
  }

  /**
   * The data directory of a daemon that has served the corpus and was stopped. Starting a daemon
   * on it and deleting its state are fine; commits are not.
   */
  platform(): Promise<string> {
    this.#platform ??= this.repository().then((repository) => this.#makePlatform(repository));
    return this.#platform;
  }

  /** A data directory like `platform`, to write to. */
  async copyOfPlatform(): Promise<string> {
    const copy = this.workspace.path('platform');
    await cp(await this.platform(), copy, {
      recursive: true,
      preserveTimestamps: true,
      // Sockets cannot be copied.
      filter: (path) => basename(path) !== 'run',
    });
    return copy;
  }

  /** The data directory of a daemon that was started on no manifests at all. */
  emptyPlatform(): Promise<string> {
    return this.#makePlatform(undefined);
  }

  /** A data directory like `platform`, of other files and with a key that opens them. */
  async platformOf(files: Iterable<CorpusFile>, ageKey: string): Promise<string> {
    const gitDir = this.workspace.path('repository.git');
    await makeRepository(gitDir, files);
    return await this.#makePlatform(gitDir, ageKey);
  }

  /** `args`: more arguments of `serve`. */
  start(dataDir: string, args: readonly string[] = []): Promise<DaemonProcess> {
    return startDaemon({ workspace: this.workspace, dataDir, profile: this.#profile, args });
  }

  async #makeRepository(): Promise<string> {
    const gitDir = this.workspace.path('repository.git');
    await makeRepository(gitDir, this.corpus.files());
    return gitDir;
  }

  async #makePlatform(repository: string | undefined, ageKey?: string): Promise<string> {
    const dataDir = this.workspace.path('platform');
    await mkdir(dataDir, { mode: 0o700 });
    if (ageKey !== undefined) {
      await writeFile(join(dataDir, 'age.key'), `${ageKey}\n`, { mode: 0o600 });
    }
    if (repository !== undefined) {
      await cp(repository, join(dataDir, 'repo.git'), { recursive: true });
    }
    // Makes the certificate and the first access key, which are no part of any row.
    const daemon = await startDaemon({ workspace: this.workspace, dataDir, profile: undefined });
    await daemon.stop();
    return dataDir;
  }
}
