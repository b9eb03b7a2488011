/**
 * Composes the text of one document into the syntax tree of the `yaml` library, with the flaws that
 * the library found. It reads every scalar as text; evaluate.ts resolves the scalars.
 */
import { Composer, type CST, type Document, Lexer, type ParsedNode, Parser, Schema } from 'yaml';

/** A problem at an offset of the composed text. */
export interface Flaw {
  readonly offset: number;
  /** One line. Contains no text of the document except names of keys, tags and anchors. */
  readonly message: string;
}

export interface Composed {
  /** Null if the text has no document. */
  readonly contents: ParsedNode | null;
  /** Source tokens of the document. */
  readonly token: CST.Document | undefined;
  readonly flaws: readonly Flaw[];
}

/** Shared by all documents: building one costs as much as parsing a short manifest. */
const TEXT_ONLY = new Schema({ schema: 'failsafe', merge: false, resolveKnownTags: false });

/** Enough to find the mistake; one mistake often causes many errors of the library. */
const FLAWS_KEPT = 10;

/**
 * The library recurses once per level, and a stack overflow within a regular expression ends the
 * whole process. So text that could nest deeper than this is refused before it is composed.
 */
const MAX_FLOW_DEPTH = 100;
/** Every block collection except a flush-left list begins further right than its parent. */
const MAX_COLUMN = 400;

/**
 * Characters that YAML forbids outside of escapes, and breaks that YAML 1.1 and 1.2 read
 * differently.
 */
const FORBIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufeff\ufffe\uffff]|\r(?!\n)/;

/**
 * Composes a text with at most one document. Never throws. Evaluation checks for duplicate keys,
 * since the library compares every key of a map with every other.
 */
export function compose(text: string, options: { tokens: boolean }): Composed {
  const forbidden = text.search(FORBIDDEN);
  if (forbidden !== -1) return broken(forbidden, forbiddenMessage(text, forbidden));
  const tooLong = text.length > USUAL_LENGTH ? lexemesEnd(text) : undefined;
  if (tooLong !== undefined) return broken(tooLong, TOO_LONG);
  const composer = new Composer({
    schema: TEXT_ONLY,
    uniqueKeys: false,
    keepSourceTokens: options.tokens,
    logLevel: 'silent',
  });
  const { documents, token, refused } = withoutStackTraces(() => read(text, composer));
  if (refused !== undefined) return broken(refused.offset, refused.message);
  const [document, second] = documents;
  if (second !== undefined) return broken(second.range[0], 'unexpected second document');
  const errors = document === undefined ? composer.streamInfo().errors : document.errors;
  const flaws = errors.slice(0, FLAWS_KEPT).map((error) => ({
    offset: Math.min(error.pos[0], text.length),
    message: oneLine(error.code, error.message),
  }));
  return { contents: document?.contents ?? null, token, flaws };
}

interface Stream {
  readonly documents: Document.Parsed[];
  token: CST.Document | undefined;
  refused: Flaw | undefined;
}

/**
 * Limit of lexemes in a document: the library spends microseconds and hundreds of bytes on each.
 * This many make a megabyte of usual YAML. The fast reader, which accepts larger manifests, has no
 * such limit.
 */
export const MAX_LEXEMES = 250_000;
export const TOO_LONG = `more than ${MAX_LEXEMES} words, marks and comments in one document; split it`;

/** A longer text is likely to have too many, and counting is a fraction of the time of reading. */
const USUAL_LENGTH = 1024 * 1024;

export function hasTooManyLexemes(text: string): boolean {
  return lexemesEnd(text) !== undefined;
}

/** Offset of the first lexeme above the limit; undefined if there is none. */
function lexemesEnd(text: string): number | undefined {
  let offset = 0;
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (++count > MAX_LEXEMES) return offset;
    if (!CONTROL_LEXEMES.has(lexeme)) offset += lexeme.length;
  }
  return undefined;
}

/** The library creates an error for each mistake, and a stack trace costs more than parsing. */
function withoutStackTraces<T>(run: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Runs the three stages of the library, with limits of nesting depth and length. */
function read(text: string, composer: Composer): Stream {
  const stream: Stream = { documents: [], token: undefined, refused: undefined };
  const take = (token: CST.Token) => {
    if (token.type === 'document') stream.token = token;
    stream.documents.push(...composer.next(token));
  };
  const parser = new Parser();
  const depth = new DepthGuard();
  let offset = 0;
  let count = 0;
  const refuse = (message: string): Stream => ({ ...stream, refused: { offset, message } });
  for (const lexeme of new Lexer().lex(text)) {
    if (!depth.allows(lexeme)) return refuse('nested too deeply');
    if (++count > MAX_LEXEMES) return refuse(TOO_LONG);
    if (!CONTROL_LEXEMES.has(lexeme)) offset += lexeme.length;
    for (const token of parser.next(lexeme)) take(token);
  }
  for (const token of parser.end()) take(token);
  stream.documents.push(...composer.end());
  return stream;
}

/** Lexemes without source: a document, the end of a flow collection by an error, a scalar. */
const SCALAR_NEXT = '\u001f';
const CONTROL_LEXEMES = new Set(['\u0002', '\u0018', SCALAR_NEXT]);

class DepthGuard {
  #flow = 0;
  #column = 0;
  #lineStarts = true;
  #scalar = false;

  allows(lexeme: string): boolean {
    if (this.#scalar) {
      // The check is only needed after block scalars, but harmless after others.
      this.#scalar = false;
      this.#lineStarts = lexeme.endsWith('\n');
      if (this.#lineStarts) this.#column = 0;
      return true;
    }
    switch (lexeme) {
      case SCALAR_NEXT:
        this.#scalar = true;
        return true;
      case '[':
      case '{':
        return ++this.#flow <= MAX_FLOW_DEPTH;
      case ']':
      case '}':
        this.#flow = Math.max(0, this.#flow - 1);
        return true;
      case '\u0018':
        this.#flow = 0;
        return true;
      case '-':
      case '?':
      case ':':
        if (this.#flow === 0) this.#column++;
        return this.#column <= MAX_COLUMN;
      case '\n':
      case '\r\n':
        this.#column = 0;
        this.#lineStarts = true;
        return true;
    }
    return this.#other(lexeme);
  }

  #other(lexeme: string): boolean {
    const indents = this.#lineStarts && this.#flow === 0 && lexeme.startsWith(' ');
    if (indents) this.#column += lexeme.length;
    this.#lineStarts = false;
    return this.#column <= MAX_COLUMN;
  }
}

function broken(offset: number, message: string): Composed {
  return { contents: null, token: undefined, flaws: [{ offset, message }] };
}

function forbiddenMessage(text: string, at: number): string {
  const code = text.charCodeAt(at);
  if (code === 0x0d) return 'a carriage return without a line feed; end lines with LF or CRLF';
  if (code === 0xfeff) return 'a byte order mark inside the file; remove it';
  const name = code.toString(16).toUpperCase().padStart(4, '0');
  return `the control character U+${name} is not allowed; write it as an escape in double quotes`;
}

/** The library quotes the offending source after a colon, and that may be part of a secret. */
function oneLine(code: string, message: string): string {
  if (code === 'BAD_DQ_ESCAPE') return 'Invalid escape sequence in double quotes';
  const words = code === 'UNEXPECTED_TOKEN' ? message.replace(/:\s.*$/s, '') : message;
  // A tag: an unquoted password may begin with the same character.
  return words
    .replace(/:? !\S+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}
