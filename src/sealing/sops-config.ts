/**
 * `.sops.yaml`: recipients and selected values of new files. The first rule whose pattern matches the
 * path applies. Encrypted files keep their own metadata.
 */
import { isRecord, type JsonObject, type LinearRegExp, listAt } from '../apimachinery/index.ts';
import { editDocument, formatManifest, type ManifestDocument } from '../manifests/index.ts';
import { pgpFingerprints } from './pgp.ts';
import { documentsOf } from './seal.ts';
import { SealingError } from './sealing-error.ts';
import { DEFAULT_RULE, RULES, type Rule, safePattern, selectionOf } from './selection.ts';

export interface CreationRule {
  /** Matches paths relative to the folder of `.sops.yaml`. Undefined: every path. */
  readonly path: LinearRegExp | undefined;
  readonly rule: Rule;
  /** False: the rule names no fields, so `rule` is the default of SOPS, which selects whole files. */
  readonly namesFields: boolean;
  /** age recipients. */
  readonly recipients: readonly string[];
  /** Fingerprints of PGP recipients, who decrypt the files elsewhere. */
  readonly pgp: readonly string[];
}

/** A rule that this platform cannot follow, such as one for the keys of a cloud. */
interface UnusableRule {
  readonly path: LinearRegExp | undefined;
  readonly error: SealingError;
}

export interface SopsConfig {
  readonly rules: readonly CreationRule[];
}

/** A config that may have unusable rules, which matter for the files that they match alone. */
export interface ReadSopsConfig {
  readonly rules: readonly (CreationRule | UnusableRule)[];
}

/** Throws SealingError with line and column. */
export function parseSopsConfig(text: string): SopsConfig {
  const { rules } = placedSopsConfig(text);
  return { rules };
}

/** The same with its document, which has the places of the rules. */
export function placedSopsConfig(
  text: string,
): SopsConfig & { readonly document: ManifestDocument } {
  const document = documentOf(text);
  return { document, rules: rulesIn(document).map(usable) };
}

/** Throws the SealingError of an unusable rule. */
export function usable(rule: CreationRule | UnusableRule): CreationRule {
  if ('error' in rule) throw rule.error;
  return rule;
}

/** Throws SealingError if the text has no list of rules. */
export function readSopsConfig(text: string): ReadSopsConfig {
  return { rules: rulesIn(documentOf(text)) };
}

function documentOf(text: string): ManifestDocument {
  const [document] = documentsOf(text);
  if (document === undefined) throw new SealingError(NO_LIST);
  return document;
}

const NO_LIST = '1:1: creation_rules must be a list';

function rulesIn(document: ManifestDocument): (CreationRule | UnusableRule)[] {
  const rules = isRecord(document.value) ? document.value['creation_rules'] : undefined;
  if (!Array.isArray(rules)) throw new SealingError(NO_LIST);
  return rules.map((rule: unknown, i) => {
    try {
      return creationRule(rule);
    } catch (error) {
      if (!(error instanceof SealingError)) throw error;
      return {
        path: patternOf(rule),
        get error(): SealingError {
          const { line, col } = document.locate(['creation_rules', i]);
          const where = `${line}:${col}: creation_rules[${i}]`;
          return new SealingError(`${where}: ${error.message}`, { cause: error });
        },
      };
    }
  });
}

/** Undefined: the rule has no pattern, or one that cannot be read, and counts for every path. */
function patternOf(rule: unknown): LinearRegExp | undefined {
  try {
    const path = isRecord(rule) ? rule['path_regex'] : undefined;
    return typeof path === 'string' && path !== '' ? safePattern(path) : undefined;
  } catch {
    return undefined;
  }
}

const OTHER_KEYS = ['kms', 'gcp_kms', 'azure_keyvault', 'hc_vault_transit_uri', 'hckms'];

function creationRule(value: unknown): CreationRule {
  if (!isRecord(value)) throw new SealingError('must be a map');
  const { path_regex: path, key_groups: groups } = value;
  if (Array.isArray(groups) && groups.length > 1) {
    throw new SealingError('has several key groups, which are not supported; use one');
  }
  const group = Array.isArray(groups) && isRecord(groups[0]) ? groups[0] : value;
  const other = OTHER_KEYS.find((name) => hasKeys(group[name]));
  if (other !== undefined) {
    throw new SealingError(`names keys of ${other}; only age, and PGP beside it, are supported`);
  }
  const recipients = namesIn(group['age']);
  const pgp = pgpFingerprints(namesIn(group['pgp']));
  if (pgp.length > 0 && recipients.length === 0) {
    throw new SealingError(
      'names PGP keys alone, which this platform cannot open; add an age recipient of this platform beside them',
    );
  }
  const stated = RULES.filter((name) => typeof value[name] === 'string' && value[name] !== '');
  const [name, second] = stated;
  if (second !== undefined) throw new SealingError(`has both ${name} and ${second}; keep one`);
  const rule = name === undefined ? DEFAULT_RULE : { name, text: String(value[name]) };
  selectionOf(rule);
  const pattern = typeof path === 'string' && path !== '' ? safePattern(path) : undefined;
  return { path: pattern, rule, namesFields: name !== undefined, recipients, pgp };
}

function hasKeys(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '';
}

/** A list, or one string with commas. */
function namesIn(given: unknown): string[] {
  const list = Array.isArray(given) ? given.map(String) : String(given ?? '').split(',');
  return [...new Set(list.map((item) => item.trim()).filter((item) => item !== ''))];
}

/**
 * The rule for a new file. `path` is relative to the folder of the config. Throws SealingError if the
 * rule is unusable.
 */
export function creationRuleFor({ rules }: ReadSopsConfig, path: string): CreationRule | undefined {
  const found = rules.find((rule) => rule.path === undefined || rule.path(path));
  return found && usable(found);
}

/** The folder of a kind, and the names of its secret fields. */
export interface KindOfFiles {
  /** Name of the folder, such as `sharedsecrets`. */
  readonly folder: string;
  readonly keys: readonly string[];
}

/** The text of a new `.sops.yaml`. */
export function formatSopsConfig(
  files: readonly KindOfFiles[],
  recipients: readonly string[],
): string {
  const rules: JsonObject[] = files.map(({ folder, keys }) => ({
    path_regex: `(^|/)${folder}/.*\\.ya?ml$`,
    ...fieldsOf(keys, recipients),
  }));
  // For files in other folders.
  const all = [...new Set(files.flatMap(({ keys }) => keys))];
  rules.push({ path_regex: '\\.ya?ml$', ...fieldsOf(all, recipients) });
  return HEAD + formatManifest({ creation_rules: rules, stores: { yaml: { indent: 2 } } });
}

const HEAD = `# For whom secrets are sealed, and which keys of which files. gitplane and sops both read this.
# While this file is here, and ever after, a secret in the clear is refused. See docs/sealing.md.
`;

/** The recipients are one string: sops before 3.11 reads no list. */
function fieldsOf(keys: readonly string[], recipients: readonly string[]): JsonObject {
  const { name, text } = ruleOfKeys(keys);
  return { [name]: text, mac_only_encrypted: true, age: recipients.join(',') };
}

/** The rule that encrypts everything below these keys, at any depth. */
export function ruleOfKeys(keys: readonly string[]): Rule {
  const escaped = keys.map((key) => key.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).sort();
  const [only = ''] = escaped;
  const text = escaped.length === 1 ? `^${only}$` : `^(${escaped.join('|')})$`;
  return { name: 'encrypted_regex', text };
}

/** The config with the recipients of every rule changed. Comments and other fields stay. */
export function changeRecipients(
  text: string,
  change: (recipients: readonly string[]) => readonly string[],
): string {
  const { value: config, index } = placedSopsConfig(text).document;
  const rules = listAt<JsonObject>(config, ['creation_rules']).map((rule) => {
    const groups = rule['key_groups'];
    if (!Array.isArray(groups)) return withRecipients(rule, change);
    const group = isRecord(groups[0]) ? groups[0] : {};
    return { ...rule, key_groups: [withRecipients(group, change)] };
  });
  return editDocument(text, index, { ...(isRecord(config) ? config : {}), creation_rules: rules });
}

function withRecipients(
  group: JsonObject,
  change: (recipients: readonly string[]) => readonly string[],
): JsonObject {
  const before = namesIn(group['age']);
  const after = [...change(before)];
  const age = typeof group['age'] === 'string' ? after.join(',') : after;
  return JSON.stringify(before) === JSON.stringify(after) ? group : { ...group, age };
}
