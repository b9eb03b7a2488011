/**
 * Encrypts API writes on the way to the commit, for the recipients that `.sops.yaml` names at that
 * commit. A file keeps its data key and the bytes of unchanged values only while that key was
 * generated here for those recipients. Otherwise the write re-keys the whole file.
 */
import {
  type Clock,
  formatPath,
  isRecord,
  type JsonObject,
  type JsonValue,
} from '../../apimachinery/index.ts';
import type { DocumentEncryption } from '../../catalog/index.ts';
import { type KindTable, type SecretPaths, secretPlaces } from '../../kinds/index.ts';
import {
  appendDocument,
  editDocument,
  type FormerDocument,
  formatLike,
  formatManifest,
  removeDocument,
} from '../../manifests/index.ts';
import {
  documentsOf,
  type FileKey,
  isSealed,
  type Keyring,
  mapLeaves,
  mayBeSealed,
  metadataOf,
  missingKey,
  type OpenedFile,
  openStream,
  type PgpKeys,
  Reuse,
  type Rule,
  SealingError,
  type SealMetadata,
  SOPS,
  saysOnly,
  sealDocument,
  sealText,
  selectionOf,
  unsealText,
  wrapForPgp,
} from '../../sealing/index.ts';
import { CreationRules, type SealedPlace } from './creation-rules.ts';
import { mapOf, placesOfRule, selectsNames } from './rule-places.ts';
import { hidesSecrets, kindOf, ownRule, type Secret, widenedRule } from './widened-rule.ts';

export interface SealerOptions {
  readonly keyring: Keyring;
  readonly kinds: KindTable;
  readonly clock: Clock;
  /** Allows encryption that the daemon cannot decrypt again. */
  readonly forOthers?: true;
  /** Public keys of PGP recipients; absent: none. */
  readonly pgpKeys?: PgpKeys | undefined;
}

/** A decrypted file. */
export interface OpenFile {
  readonly file: OpenedFile;
  readonly key: FileKey;
  /** True if this platform generated the data key, and no document states another key. */
  readonly isOwn: boolean;
}

/** Facts about the data key of a decrypted file. */
interface StatedKey {
  readonly dataKey: Buffer;
  readonly isGenerated: boolean;
}

/** A document to remove from a file. */
export interface SealedRemoval extends SealedPlace {
  readonly text: string;
  readonly index: number;
  readonly open: OpenFile;
}

/** Recipients of a file: age keys and PGP fingerprints. */
export interface Recipients {
  readonly age: readonly string[];
  readonly pgp: readonly string[];
}

/** A file ready for a document, with its data key and encryption rule. */
interface ReadyFile {
  readonly text: string | undefined;
  readonly key: FileKey;
  readonly rule: Rule;
  /** Encrypted values that may stay unchanged. */
  readonly reuse: Reuse;
}

/** A document to write to a file. */
export interface SealedWrite extends SealedPlace {
  /** Absent: the file is new. */
  readonly text: string | undefined;
  /** Absent: the document is new. */
  readonly index: number | undefined;
  /** In plaintext. */
  readonly manifest: JsonObject;
  /** Paths to encrypt beside the secret fields of the kind. */
  readonly encrypted?: SecretPaths;
  /** Absent: the file is not encrypted. */
  readonly open: OpenFile | undefined;
  /** A past document of the object whose bytes the new one takes over, encrypted or not. */
  readonly former?: FormerDocument | undefined;
}

export class Sealer {
  readonly #options: SealerOptions;
  /** Rules of the `.sops.yaml` files. */
  readonly rules = new CreationRules();

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  /** Default recipients, the daemon's own first. */
  recipients(): Promise<readonly string[]> {
    return this.#options.keyring.recipients();
  }

  /** Public keys of PGP recipients; undefined: there are none. */
  get pgpKeys(): PgpKeys | undefined {
    return this.#options.pgpKeys;
  }

  /** The data key of a file that the daemon can decrypt, and whether this platform generated it. */
  async dataKeyOf(documents: readonly DocumentEncryption[]): Promise<StatedKey | undefined> {
    const { keyring } = this.#options;
    const values = documents.flatMap(({ metadata }) =>
      metadata === undefined ? [] : [{ value: { [SOPS]: metadata } }],
    );
    const metadata = readableMetadata({ documents: values });
    const dataKey = metadata && (await keyring.dataKey(metadata.age));
    return dataKey && { dataKey, isGenerated: keyring.isGenerated(dataKey) };
  }

  /** A plaintext manifest file with every secret encrypted. Throws SealingError. */
  async sealFile(place: SealedPlace, text: string): Promise<string> {
    const secrets = documentsOf(text).map(({ value }) => secretOf(value));
    const { key, rule } = await this.#newFile(place, secrets);
    return sealText(text, { key, rule, now: this.#options.clock.now() });
  }

  /** Undefined if the text is not encrypted. Throws SealingError if it cannot be decrypted. */
  async open(text: string): Promise<OpenFile | undefined> {
    const open = await this.reopen(text);
    // Encrypting it again would vouch for contents that another party may have put there.
    const [problem] = open?.file.documents.flatMap(({ problems }) => problems) ?? [];
    if (problem === undefined) return open;
    const place = formatPath(problem.path);
    throw new SealingError(`the file must be repaired in git first: ${place}: ${problem.message}`);
  }

  /** Like `open`, for callers that vouch for the contents of the file. */
  async reopen(text: string): Promise<OpenFile | undefined> {
    if (!mayBeSealed(text)) return undefined;
    const documents = documentsOf(text);
    const metadata = metadataOf(documents);
    if (metadata === undefined) return undefined;
    const dataKey = await this.#options.keyring.dataKey(metadata.age);
    const file = openStream({ text, documents }, dataKey);
    if (dataKey === undefined) throw new SealingError(`the file ${file.unreadable}`);
    const { age, pgp, mark } = metadata;
    const key = { dataKey, age, mark, ...(pgp && { pgp }) };
    const isAlone = documents.every(
      ({ value }) =>
        !isRecord(value) || value[SOPS] === undefined || saysOnly(value[SOPS], metadata),
    );
    return { file, key, isOwn: isAlone && this.#options.keyring.isOwn(key) };
  }

  /** True if a manifest must be encrypted. */
  isSecret(manifest: JsonObject): boolean {
    const kind = kindOf(this.#options.kinds, manifest);
    return kind !== undefined && secretPlaces(kind, manifest).length > 0;
  }

  /**
   * Paths of the values that `.sops.yaml` encrypts at a place, beside the secret fields of the kind.
   * Throws SealingError.
   */
  async placesOfRule(place: SealedPlace, manifest: JsonObject): Promise<SecretPaths> {
    const rule = await this.rules.ruleFor(place);
    return placesOfRule(rule, {
      kind: kindOf(this.#options.kinds, manifest),
      manifest,
      path: place.path,
    });
  }

  /** The text of the file with the document in it. Throws SealingError. */
  async write(write: SealedWrite): Promise<string> {
    const { index, manifest, encrypted = [] } = write;
    refuseEncrypted(manifest);
    const { text, ...ready } = await this.#ready(write, [{ manifest, encrypted }]);
    const sealing = { ...ready, now: this.#options.clock.now() };
    const own = text === undefined || index === undefined ? undefined : blockOf(text, index);
    const sealed = sealDocument(manifest, selectionOf(sealing.rule), sealing);
    const document = own === undefined ? sealed : { ...sealed, [SOPS]: own };
    if (text !== undefined && index !== undefined) {
      return sealText(editDocument(text, index, document), sealing);
    }
    const former = write.former && (await this.#inTheClear(write.former));
    return sealText(added(text, document, former), sealing);
  }

  /** Undefined if it cannot be decrypted: its bytes are not used. */
  async #inTheClear(former: FormerDocument): Promise<FormerDocument | undefined> {
    try {
      const open = await this.open(former.text);
      if (open === undefined) return former;
      return { ...former, text: unsealText(former.text, open.key.dataKey) };
    } catch (error) {
      if (error instanceof SealingError) return undefined;
      throw error;
    }
  }

  /** The text of the file without one of its documents. Throws SealingError. */
  async remove(removal: SealedRemoval): Promise<string> {
    const { text = '', ...ready } = await this.#ready(removal, []);
    const edited = removeDocument(text, removal.index);
    return sealText(edited, { ...ready, now: this.#options.clock.now() });
  }

  /** The file unchanged, or decrypted with a new data key if the present one cannot stay. */
  async #ready(
    of: SealedPlace & Pick<SealedWrite, 'text' | 'index' | 'open'>,
    added: readonly Secret[],
  ): Promise<ReadyFile> {
    const { text, index, open } = of;
    const { kinds } = this.#options;
    const rule = open?.file.metadata?.rule;
    if (text === undefined || open === undefined || rule === undefined) {
      return { ...(await this.#newFile(of, added)), text, reuse: new Reuse([]) };
    }
    const staying = open.file.documents.filter((document) => document.index !== index);
    const secrets = [...staying.map(({ value }) => secretOf(value)), ...added];
    await this.#refuseUnnamed(of, open);
    const recipients = await this.#recipientsOf(of);
    const keeps =
      open.isOwn &&
      sameNames(open.key, recipients) &&
      secrets.every((one) => hidesSecrets(kinds, rule, one));
    // The bytes of a neighbour would tell that the values are equal.
    const own = open.file.sealed.filter((place) => place.index === index);
    if (keeps) return { text, key: open.key, rule, reuse: new Reuse(own) };
    const key = await this.make(of, recipients);
    const clear = unsealText(text, open.key.dataKey);
    const created = (await this.rules.ruleFor(of))?.rule;
    return {
      text: clear,
      key,
      rule: widenedRule(kinds, { rules: [rule], secrets, created }),
      reuse: new Reuse([]),
    };
  }

  /**
   * Without `.sops.yaml` it is unknown whether an authorized person added the other recipients of a
   * file. Throws SealingError.
   */
  async #refuseUnnamed({ path, sealing }: SealedPlace, { key }: OpenFile): Promise<void> {
    if (sealing !== undefined || this.#options.forOthers === true) return;
    const mine = await this.recipients();
    const others = key.age.map(({ recipient }) => recipient).filter((one) => !mine.includes(one));
    const [pgp] = key.pgp ?? [];
    if (pgp !== undefined) {
      throw new SealingError(
        `${path} is encrypted for the PGP key ${pgp.fp.slice(0, 80)} too, and no .sops.yaml names it; make one with "gitplane seal --init --recipient ${mine[0]}", and name the key in it as pgp beside age`,
      );
    }
    if (others.length === 0) return;
    const all = [...mine.slice(0, 1), ...others].map((one) => `--recipient ${one}`).join(' ');
    throw new SealingError(
      `${path} is encrypted for ${others.join(', ')}, and no .sops.yaml names them; make one for those who may read, as with "gitplane seal --init ${all}"`,
    );
  }

  /** An encrypted file after a document was removed. */
  rest(text: string, { key, file }: OpenFile): string {
    const { metadata } = file;
    if (metadata === undefined) return text;
    return sealText(text, { key, rule: metadata.rule, now: this.#options.clock.now() });
  }

  async #newFile(
    write: SealedPlace,
    secrets: readonly Secret[],
  ): Promise<{ key: FileKey; rule: Rule }> {
    const found = await this.rules.ruleFor(write);
    const { kinds } = this.#options;
    const own = ownRule(kinds, secrets);
    const key = await this.make(write, await this.#recipientsOf(write));
    const rules = found === undefined || selectsNames(found.rule) ? [own] : [found.rule, own];
    return { key, rule: widenedRule(kinds, { rules, secrets }) };
  }

  /** A new data key for a file. Throws SealingError. */
  async make({ path }: Pick<SealedPlace, 'path'>, { age, pgp }: Recipients): Promise<FileKey> {
    const { keyring, pgpKeys } = this.#options;
    const missing = pgp.find((fp) => pgpKeys?.has(fp) !== true);
    if (missing !== undefined) throw new SealingError(`${path}: ${missingKey(missing)}`);
    return await keyring.make(age, (dataKey) => wrapForPgp(dataKey, pgp, pgpKeys));
  }

  /** Recipients in `.sops.yaml` for a path; default: the daemon's own. Throws SealingError. */
  async #recipientsOf(place: SealedPlace): Promise<Recipients> {
    const { recipients = [], pgp = [] } = (await this.rules.ruleFor(place)) ?? {};
    const mine = await this.recipients();
    const isOurs = recipients.some((name) => mine.includes(name));
    if (recipients.length > 0 && !isOurs && this.#options.forOthers !== true) {
      const [ours = ''] = mine;
      throw new SealingError(
        `.sops.yaml seals ${place.path} for others only, and this platform could not read it again; add it with "gitplane recipients add ${ours}"`,
      );
    }
    return { age: recipients.length > 0 ? recipients : mine, pgp };
  }
}

/** A value that looks encrypted would be decrypted as if it were: another object may have it. Throws SealingError. */
function refuseEncrypted(manifest: JsonObject): void {
  mapLeaves(manifest, ({ at, value }) => {
    if (!isSealed(value)) return value;
    throw new SealingError(`${formatPath(at)} is an encrypted value; write it in plaintext`);
  });
}

/** Undefined if the metadata is broken as well, which is reported where the file is read. */
function readableMetadata({
  documents,
}: {
  readonly documents: Parameters<typeof metadataOf>[0];
}): SealMetadata | undefined {
  try {
    return metadataOf(documents);
  } catch (error) {
    if (error instanceof SealingError) return undefined;
    throw error;
  }
}

function sameNames({ age, pgp = [] }: FileKey, wanted: Recipients): boolean {
  const sameAge = sameSet(
    age.map(({ recipient }) => recipient),
    wanted.age,
  );
  return (
    sameAge &&
    sameSet(
      pgp.map(({ fp }) => fp.toUpperCase()),
      wanted.pgp,
    )
  );
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const all = new Set(a);
  return all.size === new Set(b).size && b.every((one) => all.has(one));
}

function added(text: string | undefined, document: JsonObject, former?: FormerDocument): string {
  if (text !== undefined) return appendDocument(text, document, former);
  return (former && formatLike(former, document)) ?? formatManifest(document);
}

function secretOf(value: JsonValue | undefined): Secret {
  return { manifest: mapOf(value), encrypted: [] };
}

function blockOf(text: string, index: number): JsonObject[string] | undefined {
  const found = documentsOf(text).find((document) => document.index === index);
  return mapOf(found?.value)[SOPS];
}
