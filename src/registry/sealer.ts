/**
 * Seals what API writes bring, on the way to the commit. A file that is sealed keeps its key, its
 * recipients and the bytes of every value that stays; a new one is sealed as `.sops.yaml` says.
 */
import type { Clock } from '../apimachinery/clock.ts';
import { formatPath } from '../apimachinery/field-error.ts';
import type { JsonObject } from '../apimachinery/object.ts';
import type { Sealing } from '../catalog/tree.ts';
import type { Repository } from '../git/repository.ts';
import { secretKeys, secretPlaces } from '../kinds/secret-places.ts';
import type { KindTable } from '../kinds/table.ts';
import { appendDocument, editDocument } from '../manifests/edit.ts';
import { relativeTo } from '../manifests/layout.ts';
import { decodeUtf8 } from '../manifests/parse.ts';
import { formatManifest } from '../manifests/write.ts';
import type { FileKey, Keyring } from '../sealing/data-keys.ts';
import { SOPS } from '../sealing/metadata.ts';
import { metadataOf, type OpenedFile, openStream } from '../sealing/open.ts';
import { documentsOf, Reuse, sealDocument, sealText } from '../sealing/seal.ts';
import { SealingError } from '../sealing/sealing-error.ts';
import { type Rule, selectionOf } from '../sealing/selection.ts';
import {
  creationRuleFor,
  parseSopsConfig,
  ruleOfKeys,
  type SopsConfig,
} from '../sealing/sops-config.ts';

export interface SealerOptions {
  readonly keyring: Keyring;
  readonly kinds: KindTable;
  readonly clock: Clock;
  /** Whether it may seal what it could not open again. */
  readonly forOthers?: true;
}

/** A file that is sealed and open. */
export interface OpenFile {
  readonly file: OpenedFile;
  readonly key: FileKey;
}

/** Where a file is, and what the repository says of sealing it. */
interface Place {
  readonly path: string;
  readonly sealing: Sealing | undefined;
  readonly repository: Pick<Repository, 'readBlobs'>;
}

/** A document to be written in a file. */
export interface SealedWrite extends Place {
  /** Absent: the file is new. */
  readonly text: string | undefined;
  /** Absent: the document is. */
  readonly index: number | undefined;
  /** In the clear. */
  readonly manifest: JsonObject;
  /** Absent: the file is not sealed. */
  readonly open: OpenFile | undefined;
}

export class Sealer {
  readonly #options: SealerOptions;
  readonly #configs = new Map<string, SopsConfig>();

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  /** For whom we seal where nobody says, ours first. */
  recipients(): Promise<readonly string[]> {
    return this.#options.keyring.recipients();
  }

  /** A file of clear manifests with every secret sealed. Throws SealingError. */
  async sealFile(place: Place, text: string): Promise<string> {
    const manifests = documentsOf(text).map(({ value }) => value as JsonObject);
    const { key, rule } = await this.#newFile(place, manifests);
    return sealText(text, { key, rule, now: this.#options.clock.now() });
  }

  /** Undefined where the text is not sealed. Throws SealingError when it does not open. */
  async open(text: string): Promise<OpenFile | undefined> {
    const open = await this.reopen(text);
    // To seal it again would vouch for what somebody else may have put there.
    const [problem] = open?.file.documents.flatMap(({ problems }) => problems) ?? [];
    if (problem === undefined) return open;
    const place = formatPath(problem.path);
    throw new SealingError(`the file has to be mended in git first: ${place}: ${problem.message}`);
  }

  /** As `open`, for who stands up for whatever is in the file. */
  async reopen(text: string): Promise<OpenFile | undefined> {
    if (!text.includes(SOPS)) return undefined;
    const documents = documentsOf(text);
    const metadata = metadataOf(documents);
    if (metadata === undefined) return undefined;
    const dataKey = await this.#options.keyring.dataKey(metadata.age);
    const file = openStream({ text, documents }, dataKey);
    if (dataKey === undefined) throw new SealingError(`the file ${file.unreadable}`);
    return { file, key: { dataKey, age: metadata.age } };
  }

  /** Whether a manifest must be sealed to be written. */
  isSecret(manifest: JsonObject): boolean {
    const kind = this.#kindOf(manifest);
    return kind !== undefined && secretPlaces(kind, manifest).length > 0;
  }

  /** The text of the file with the document in it. Throws SealingError. */
  async write(write: SealedWrite): Promise<string> {
    const { text, index, manifest, open } = write;
    const old = open?.file.metadata;
    const fresh =
      open === undefined || old === undefined
        ? await this.#newFile(write, [manifest])
        : { key: open.key, rule: old.rule };
    const sealing = {
      ...fresh,
      reuse: new Reuse(open?.file.sealed ?? []),
      now: this.#options.clock.now(),
    };
    const own = text === undefined || index === undefined ? undefined : blockOf(text, index);
    const sealed = sealDocument(manifest, selectionOf(sealing.rule), sealing);
    const document = own === undefined ? sealed : { ...sealed, [SOPS]: own };
    return sealText(placed(text, index, document), sealing);
  }

  /** A sealed file that a document was taken from. */
  rest(text: string, { key, file }: OpenFile): string {
    const { metadata } = file;
    if (metadata === undefined) return text;
    return sealText(text, { key, rule: metadata.rule, now: this.#options.clock.now() });
  }

  async #newFile(
    write: Place,
    manifests: readonly JsonObject[],
  ): Promise<{ key: FileKey; rule: Rule }> {
    const { keyring } = this.#options;
    const found = await this.#creationRule(write);
    const recipients = found?.recipients ?? [];
    const keys = manifests.flatMap((manifest) => {
      const kind = this.#kindOf(manifest);
      return kind === undefined ? [] : secretKeys(kind);
    });
    const own = ruleOfKeys([...new Set(keys)]);
    const mine = await keyring.recipients();
    const isOurs = recipients.some((name) => mine.includes(name));
    if (recipients.length > 0 && !isOurs && this.#options.forOthers !== true) {
      const [ours = ''] = mine;
      throw new SealingError(
        `.sops.yaml seals ${write.path} for others only, and nobody here could read it again; add this platform with "gitplane recipients add ${ours}"`,
      );
    }
    const key = await keyring.make(recipients.length > 0 ? recipients : mine);
    const covers = manifests.every((manifest) => found && this.#covers(found.rule, manifest));
    return { key, rule: found !== undefined && covers ? found.rule : own };
  }

  /** Whether a rule seals every secret, and leaves what tells which object it is. */
  #covers(rule: Rule, manifest: JsonObject): boolean {
    const kind = this.#kindOf(manifest);
    const selection = selectionOf(rule);
    const keys = (path: readonly (string | number)[]): string[] =>
      path.filter((step) => typeof step === 'string');
    const all = kind === undefined ? [] : secretPlaces(kind, manifest);
    const head = [['apiVersion'], ['kind'], ['metadata', 'name'], ['metadata', 'namespace']];
    return all.every((path) => selection(keys(path))) && !head.some(selection);
  }

  async #creationRule({
    path,
    sealing,
    repository,
  }: Place): Promise<ReturnType<typeof creationRuleFor>> {
    for (const [config, blob] of Object.entries(sealing?.configs ?? {})) {
      const folder = config.split('/').slice(0, -1).join('/');
      const inner = relativeTo(folder, path);
      if (inner === undefined) continue;
      return creationRuleFor(await this.#config(config, blob, repository), inner);
    }
    return undefined;
  }

  async #config(
    path: string,
    blob: string,
    repository: Pick<Repository, 'readBlobs'>,
  ): Promise<SopsConfig> {
    const known = this.#configs.get(blob);
    if (known !== undefined) return known;
    const [content = Buffer.alloc(0)] = await repository.readBlobs([blob]);
    try {
      const decoded = decodeUtf8(content);
      if ('problem' in decoded) throw new SealingError(decoded.problem.message);
      const config = parseSopsConfig(decoded.text);
      this.#configs.clear();
      this.#configs.set(blob, config);
      return config;
    } catch (error) {
      if (!(error instanceof SealingError)) throw error;
      throw new SealingError(`${path} cannot be used: ${error.message}`, { cause: error });
    }
  }

  #kindOf({ apiVersion, kind }: JsonObject): ReturnType<KindTable['byKind']> {
    return this.#options.kinds.byKind(String(apiVersion), String(kind));
  }
}

function placed(text: string | undefined, index: number | undefined, document: JsonObject): string {
  if (text === undefined) return formatManifest(document);
  return index === undefined ? appendDocument(text, document) : editDocument(text, index, document);
}

function blockOf(text: string, index: number): JsonObject[string] | undefined {
  const found = documentsOf(text).find((document) => document.index === index);
  return (found?.value as JsonObject | undefined)?.[SOPS];
}
