/** HTML templates: values are escaped unless they are HTML already. */

export interface Html {
  readonly html: string;
}

type Part = string | number | undefined | Html | readonly Html[];

export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const written = texts.map((text, index) => text + textOf(parts[index]));
  return { html: written.join('') };
}

/** For HTML that was sanitised before. */
export function trustedHtml(text: string): Html {
  return { html: text };
}

function textOf(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part));
  return 'html' in part ? part.html : part.map(({ html: text }) => text).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '');
}
