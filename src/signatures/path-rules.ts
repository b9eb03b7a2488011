/** The signature policy: which commits have to be signed, and by whom, by the paths they change. */
import { type Document, isMap, parseDocument } from 'yaml';
import { SignatureFileError } from './signature-error.ts';

export interface PathRule {
  readonly paths: readonly string[];
  /** Principals of SSH keys, `SHA256:…`, or fingerprints of OpenPGP keys; undefined: anyone listed. */
  readonly signers: readonly string[] | undefined;
  matches(path: string): boolean;
}

export interface PathRules {
  /** Whether every commit has to be signed, also those that no rule is about. */
  readonly require: boolean;
  /** A commit that is trusted with its history where nothing is yet: a start from unsigned history. */
  readonly trusted: string | undefined;
  /** The first that matches a path decides. */
  readonly rules: readonly PathRule[];
}

const commitId = /^[0-9a-f]{40}$/;

/** Without a policy file: every commit is signed by any listed signer. */
export const SIGN_EVERYTHING: PathRules = { require: true, trusted: undefined, rules: [] };

/** Throws SignatureFileError that names the file and what is wrong in it. */
export function parsePathRules(text: string, file: string): PathRules {
  const document = parseDocument(text, { prettyErrors: true });
  const [problem] = document.errors;
  if (problem !== undefined) throw wrong(file, problem.message.split('\n')[0] ?? '');
  if (!isMap(document.contents)) throw wrong(file, 'write a map with `require` and `rules`');
  const { require, trusted, rules, ...others } = contentOf(document, file);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw wrong(
      file,
      `${unknown}: unknown field; there are \`require\`, \`trusted\` and \`rules\``,
    );
  }
  if (require !== undefined && typeof require !== 'boolean') {
    throw wrong(file, 'require: write true or false');
  }
  if (trusted !== undefined && !(typeof trusted === 'string' && commitId.test(trusted))) {
    throw wrong(file, 'trusted: write the whole id of a commit, in quotes');
  }
  if (rules !== undefined && !Array.isArray(rules)) throw wrong(file, 'rules: write a list');
  return {
    require: require ?? true,
    trusted,
    rules: ((rules ?? []) as unknown[]).map((rule, i) => parseRule(rule, `rules[${i}]`, file)),
  };
}

function contentOf(document: Document, file: string): Record<string, unknown> {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw wrong(file, error instanceof Error ? error.message : String(error));
  }
}

function parseRule(rule: unknown, place: string, file: string): PathRule {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
    throw wrong(file, `${place}: write a map with \`paths\` and \`signers\``);
  }
  const { paths, signers, ...others } = rule as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw wrong(file, `${place}.${unknown}: unknown field; there are \`paths\` and \`signers\``);
  }
  if (!isTexts(paths)) throw wrong(file, `${place}.paths: write a list of patterns`);
  if (signers !== undefined && !isTexts(signers)) {
    throw wrong(file, `${place}.signers: write a list of names, or leave it out for any signer`);
  }
  const patterns = paths.map((path) => globPattern(path));
  return {
    paths,
    signers: signers?.map(canonicalSigner),
    matches: (path) => patterns.some((pattern) => pattern.test(path)),
  };
}

function isTexts(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one) => typeof one === 'string' && one !== '')
  );
}

const openPgp = /^(?:[0-9a-f]{4}\s*){10}$/i;

/** Fingerprints may be written in groups, as gpg shows them. */
function canonicalSigner(signer: string): string {
  return openPgp.test(signer) ? signer.replaceAll(/\s+/g, '').toUpperCase() : signer;
}

/**
 * `*` and `?` stay within a name, `**` crosses folders; a pattern that ends in `/` means all below.
 * Patterns begin at the root of the repository.
 */
function globPattern(glob: string): RegExp {
  const whole = glob.replace(/^\/+/, '').replace(/\/$/, '/**');
  const source = whole.replaceAll(/\*\*\/|\*\*|\*|\?|[\\^$.+()[\]{}|]/g, (token) => {
    if (token === '**/') return '(?:[^/]+/)*';
    if (token === '**') return '.*';
    if (token === '*') return '[^/]*';
    return token === '?' ? '[^/]' : `\\${token}`;
  });
  return new RegExp(`^${source}$`, 's');
}

function wrong(file: string, what: string): SignatureFileError {
  return new SignatureFileError(`Cannot use the signature policy ${file}: ${what}`);
}
