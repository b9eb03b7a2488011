/**
 * Decodes the text of a response from the form field, in linear time. Constructs that cost a parser more,
 * or that parsers read differently, are refused. Signed responses need no DTD, comment, CDATA section or
 * processing instruction.
 */
import { demand } from './refusal.ts';

const MOST_BYTES = 256 * 1024;
/** Limit of tags, because the cost of parsing is quadratic. */
const MOST_TAGS = 10_000;
const MOST_ATTRIBUTES = 5000;
const MOST_NAMESPACES = 2500;

const ENTITY = /&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const NO_CHARACTER = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;
const DECLARATION = /^<\?xml\s+version\s*=\s*["']1\.0["'][^<>?]{0,100}\?>\s*/;

/** Removes the XML declaration, and normalises line ends to `\n`. Throws Refusal. */
export function responseText(encoded: string): string {
  const text = decoded(encoded);
  demand(count(text, '<') <= MOST_TAGS, 'too-large', `it has more than ${MOST_TAGS} tags`);
  demand(
    count(text, '="') + count(text, "='") <= MOST_ATTRIBUTES,
    'too-large',
    `it has more than ${MOST_ATTRIBUTES} attributes`,
  );
  demand(
    count(text, 'xmlns') <= MOST_NAMESPACES,
    'too-large',
    `it has more than ${MOST_NAMESPACES} namespace declarations`,
  );
  const document = text.replace(/\r\n?/g, '\n').trimStart().replace(DECLARATION, '');
  demand(!/<!(DOCTYPE|ENTITY)/i.test(document), 'has-dtd', 'it has a document type');
  demand(!document.includes('<!'), 'has-comment', 'it has comments or CDATA sections');
  demand(!document.includes('<?'), 'has-instruction', 'it has processing instructions');
  demand(!ENTITY.test(document), 'has-entity', 'it has entities of its own');
  demand(!NO_CHARACTER.test(document), 'no-xml', 'it has characters that XML has not');
  return document;
}

function decoded(encoded: string): string {
  // MIME line breaks; base64 is a third longer.
  demand(encoded.length <= MOST_BYTES * 1.4, 'too-large', 'it is larger than 256 KiB');
  const compact = encoded.replace(/[\r\n\t ]/g, '');
  const isBase64 = compact.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(compact);
  demand(isBase64, 'no-base64', 'it is no base64');
  const bytes = Buffer.from(compact, 'base64');
  demand(bytes.length <= MOST_BYTES, 'too-large', 'it is larger than 256 KiB');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    demand(false, 'no-xml', 'it is no UTF-8');
  }
}

function count(text: string, part: string): number {
  let found = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) found++;
  return found;
}
