/** The signature policy: which commits must be signed, and by whom, by the paths that they change. */
import { type Document, isMap, parseDocument } from 'yaml';
import { SignatureFileError } from './signature-error.ts';

export interface PathRule {
  readonly paths: readonly string[];
  /** Principals of SSH keys, `SHA256:…`, or fingerprints of OpenPGP keys; undefined: any listed signer. */
  readonly signers: readonly string[] | undefined;
  matches(path: string): boolean;
}

export interface PathRules {
  /** True if every commit must be signed, including those that no rule matches. */
  readonly require: boolean;
  /** Commit that is trusted with its history at the first start, for a history without signatures. */
  readonly trusted: string | undefined;
  /** The first rule that matches a path decides. */
  readonly rules: readonly PathRule[];
}

const commitId = /^[0-9a-f]{40}$/;

/** Without a policy file, every commit must be signed by a listed signer. */
export const SIGN_EVERYTHING: PathRules = { require: true, trusted: undefined, rules: [] };

/** Throws SignatureFileError with the file and the problem. */
export function parsePathRules(text: string, file: string): PathRules {
  const document = parseDocument(text, { prettyErrors: true });
  const [problem] = document.errors;
  if (problem !== undefined) throw wrong(file, problem.message.split('\n')[0] ?? '');
  if (!isMap(document.contents)) throw wrong(file, 'write a map with `require` and `rules`');
  const { require, trusted, rules, ...others } = contentOf(document, file);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw wrong(file, `${unknown}: unknown field; use \`require\`, \`trusted\` and \`rules\``);
  }
  if (require !== undefined && typeof require !== 'boolean') {
    throw wrong(file, 'require: write true or false');
  }
  if (trusted !== undefined && !(typeof trusted === 'string' && commitId.test(trusted))) {
    throw wrong(file, 'trusted: write a full commit id in quotes');
  }
  if (rules !== undefined && !Array.isArray(rules)) throw wrong(file, 'rules: write a list');
  const list: readonly unknown[] = rules ?? [];
  return {
    require: require ?? true,
    trusted,
    rules: list.map((rule, i) => parseRule(rule, `rules[${i}]`, file)),
  };
}

function contentOf(document: Document, file: string): Record<string, unknown> {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw wrong(file, error instanceof Error ? error.message : String(error));
  }
}

function parseRule(rule: unknown, at: string, file: string): PathRule {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
    throw wrong(file, `${at}: write a map with \`paths\` and \`signers\``);
  }
  const { paths, signers, ...others }: { paths?: unknown; signers?: unknown } = rule;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw wrong(file, `${at}.${unknown}: unknown field; use \`paths\` and \`signers\``);
  }
  if (!isTexts(paths)) throw wrong(file, `${at}.paths: write a list of patterns`);
  if (signers !== undefined && !isTexts(signers)) {
    throw wrong(file, `${at}.signers: write a list of names, or omit it for any signer`);
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

/** Removes the blanks between groups of digits that gpg prints in fingerprints. */
function canonicalSigner(signer: string): string {
  return openPgp.test(signer) ? signer.replaceAll(/\s+/g, '').toUpperCase() : signer;
}

/**
 * `*` and `?` match within a name, `**` crosses folders. A pattern with a trailing `/` matches everything
 * below. Patterns start at the root of the repository.
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
