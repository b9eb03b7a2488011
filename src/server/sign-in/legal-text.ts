/** Sanitises `uiSettings.legalTemplate`: text with links, nothing active. */
import type { IOptions } from 'sanitize-html';
import { type Html, trustedHtml } from './html.ts';

const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];

/**
 * No classes, ids or styles, which could imitate the page around it, and no images or frames. The page has
 * a heading above, so all headings move one level down.
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

/** Loads the library with the first text. */
export async function legalText(template: string): Promise<Html> {
  const { default: sanitize } = await import('sanitize-html');
  return trustedHtml(sanitize(template, RULES));
}
