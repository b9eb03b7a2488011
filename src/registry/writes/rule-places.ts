/**
 * Values of a manifest that a rule of `.sops.yaml` encrypts. The kind decides about its own secret
 * fields; the rule decides about all others.
 */
import { isRecord, type JsonObject, type JsonValue } from '../../apimachinery/index.ts';
import {
  besideSecrets,
  type Kind,
  LAST_APPLIED,
  type SecretPaths,
  schemaPlaces,
  schemaTree,
} from '../../kinds/index.ts';
import {
  type CreationRule,
  mapLeaves,
  type Rule,
  SealingError,
  type Selection,
  selectionOf,
} from '../../sealing/index.ts';

/** Fields that stay in plaintext: git, people and the platform find an object by them. */
const NAMES = [['apiVersion'], ['kind'], ['metadata', 'name'], ['metadata', 'namespace']];

/** Advice for a rule that selects the names of objects. */
export const LEAVE_NAMES =
  'write a rule that leaves apiVersion, kind and metadata in plaintext, such as unencrypted_regex: ^(apiVersion|kind|metadata)$';

export function selectsNames(rule: Rule): boolean {
  return NAMES.some(selectionOf(rule));
}

interface RuledManifest {
  readonly kind: Kind | undefined;
  readonly manifest: JsonObject;
  /** Of the file. */
  readonly path: string;
}

/**
 * Paths of the values that the rule encrypts beside the secret fields of the kind. A rule that names
 * no fields selects none of them: it has recipients alone. Throws SealingError if the rule would
 * encrypt the name of the object with them.
 */
export function placesOfRule(
  found: CreationRule | undefined,
  { kind, manifest, path }: RuledManifest,
): SecretPaths {
  if (found === undefined || !found.namesFields) return [];
  const places = selectedPlaces(found.rule, manifest);
  const others = kind === undefined ? places : (besideSecrets(kind, places) ?? []);
  const [first] = others;
  if (first === undefined || !selectsNames(found.rule)) return others;
  const { name, text } = found.rule;
  const own = first.join('.');
  throw new SealingError(
    `the rule ${name}: ${JSON.stringify(text)} of .sops.yaml, which matches ${path}, encrypts ${own} together with the name of the object; ${LEAVE_NAMES}`,
  );
}

/** Fields of a kind that a rule selects, by the schema alone. */
export function fieldsOfRule(rule: Rule, kind: Kind): SecretPaths {
  const selection = selectionOf(rule);
  return placesOf(kind).filter((path) => selection(path.filter((step) => step !== '*')));
}

const known = new WeakMap<Kind, SecretPaths>();

function placesOf(kind: Kind): SecretPaths {
  const found =
    known.get(kind) ?? Array.from(schemaPlaces(schemaTree(kind.schema)), ({ path }) => path);
  known.set(kind, found);
  return found;
}

/** Paths of the values that a rule selects; `*` stands for a place in a list. */
export function selectedPlaces(rule: Rule, manifest: JsonObject): SecretPaths {
  const selection = selectionOf(rule);
  const isCopy = (path: readonly string[]): boolean => path.at(-1) === LAST_APPLIED;
  // Rules made by gitplane name the annotation in every file; most copies have nothing to hide.
  const hidesCopies = selection(['metadata', 'annotations']) || copyIn(manifest, selection);
  const found = new Map<string, readonly string[]>();
  mapLeaves(manifest, ({ path, at, value }) => {
    if (isCopy(path) && !hidesCopies) return value;
    if (value !== null && value !== '' && selection(path)) {
      const place = at.map((step) => (typeof step === 'number' ? '*' : step));
      found.set(JSON.stringify(place), place);
    }
    return value;
  });
  return [...found.values()];
}

/** True if the annotation of `kubectl apply` has a copy of a value that the selection encrypts. */
export function copyIn({ metadata }: JsonObject, selection: Selection): boolean {
  const annotations = isRecord(metadata) ? metadata['annotations'] : undefined;
  const text = isRecord(annotations) ? annotations[LAST_APPLIED] : undefined;
  if (typeof text !== 'string' || text === '') return false;
  try {
    let isCopied = false;
    mapLeaves(mapOf(JSON.parse(text)), ({ path, value }) => {
      isCopied ||= value !== null && value !== '' && selection(path);
      return value;
    });
    return isCopied;
  } catch {
    return false;
  }
}

export function mapOf(value: JsonValue | undefined): JsonObject {
  return isRecord(value) ? value : {};
}
