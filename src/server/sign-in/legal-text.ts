/** `uiSettings.legalTemplate` as a page may show it: text with links, and nothing that acts. */
import type { IOptions } from 'sanitize-html';
import { type Html, trustedHtml } from './html.ts';

const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];

/**
 * No classes, ids and styles, which could make it look like a part of the page around it, no images
 * and no frames. The page has headings of its own above it: all others are one step below.
 */
const RULES: IOptions = {
  allowedTags: [
    ...['a', 'abbr', 'b', 'blockquote', 'br', 'code', 'em', 'h3', 'hr', 'i', 'li', 'ol', 'p'],
    ...['pre', 's', 'small', 'strong', 'sub', 'sup', 'u', 'ul'],
  ],
  allowedAttributes: {
    a: ['href', 'title', 'rel', 'lang', 'dir'],
    abbr: ['title'],
    p: ['lang', 'dir'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowProtocolRelative: false,
  parseStyleAttributes: false,
  nestingLimit: 20,
  transformTags: {
    ...Object.fromEntries(HEADINGS.map((heading) => [heading, 'h3'])),
    div: 'p',
    a: (tagName, attribs) => ({ tagName, attribs: { ...attribs, rel: 'noopener noreferrer' } }),
  },
};

/** The library is loaded with the first text that needs it. */
export async function legalText(template: string): Promise<Html> {
  const { default: sanitize } = await import('sanitize-html');
  return trustedHtml(sanitize(template, RULES));
}
