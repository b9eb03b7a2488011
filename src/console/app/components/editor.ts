/**
 * The YAML editor, on CodeMirror. It lives in a shadow root, where its styles are sheets and not elements:
 * the policy of the page allows no style of a script.
 */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { fieldSchema, type Schema } from '../schema.ts';

/** A problem at an offset of the text. */
export interface Mark {
  readonly from: number;
  readonly to: number;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

export interface Editor {
  readonly text: string;
  setText(text: string): void;
  setMarks(marks: readonly Mark[]): void;
  setSchema(schema: Schema | undefined): void;
  destroy(): void;
}

const STYLE = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--link)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.string, tags.content], color: 'var(--ink)' },
  { tag: tags.keyword, color: 'var(--warn)' },
]);

const THEME = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--card)', fontSize: '0.8125rem' },
  '&.cm-focused': { outline: '2px solid var(--mark)', outlineOffset: '-2px' },
  // The outline again, above the numbers of lines and the current line.
  '&.cm-focused::after': {
    content: '""',
    position: 'absolute',
    inset: '0',
    border: '2px solid var(--mark)',
    pointerEvents: 'none',
    zIndex: '300',
  },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6', minHeight: '280px' },
  '.cm-gutters': {
    backgroundColor: 'var(--card)',
    color: 'var(--muted)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine': { backgroundColor: 'var(--hover)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    { backgroundColor: 'color-mix(in oklab, var(--solid) 30%, transparent)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--card)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    maxWidth: '420px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--solid)',
    color: 'var(--on-primary)',
  },
  '.cm-hover': { padding: '4px 8px', fontFamily: 'system-ui, sans-serif' },
});

export function createEditor(
  place: HTMLElement,
  of: {
    readonly text: string;
    readonly label: string;
    readonly onChange: (text: string) => void;
    readonly onSave: () => void;
  },
): Editor {
  let schema: Schema | undefined;
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
  const save = {
    key: 'Mod-s',
    run: () => {
      of.onSave();
      return true;
    },
  };
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: of.text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        highlightSpecialChars({ addSpecialChars: /[\u202a-\u202c\u2068]/ }),
        yaml(),
        EditorView.lineWrapping,
        syntaxHighlighting(STYLE),
        autocompletion({ override: [(context) => complete(context, schema)] }),
        hoverTooltip((shown, at) => hover(shown, at, schema)),
        // Tab leaves the editor after Escape.
        keymap.of([save, ...completionKeymap, ...lintKeymap, ...defaultKeymap, ...historyKeymap]),
        keymap.of([indentWithTab]),
        THEME,
        EditorView.contentAttributes.of({ 'aria-label': of.label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) of.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    get text() {
      return view.state.doc.toString();
    },
    setText: (text) =>
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    setMarks: (marks) => {
      const { length } = view.state.doc;
      const diagnostics = marks.map(
        ({ from, to, message, severity }): Diagnostic => ({
          from: Math.min(from, length),
          to: Math.min(Math.max(to, from), length),
          message,
          severity,
        }),
      );
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    setSchema: (next) => {
      schema = next;
    },
    destroy: () => view.destroy(),
  };
}

const KEY_LINE = /^(\s*(?:- +)*)([\w.$/-]+|"[^"]*"):/;

/** Names of the fields above a line, by indentation. Items of lists are `items` of their schema. */
function schemaAbove(
  state: EditorState,
  lineNumber: number,
  indent: number,
  root: Schema | undefined,
): Schema | undefined {
  const names: { readonly name: string; readonly isItem: boolean }[] = [];
  let least = indent;
  for (let at = lineNumber - 1; at >= 1 && least > 0; at--) {
    const line = state.doc.line(at).text;
    const [, lead = '', name = ''] = KEY_LINE.exec(line) ?? [];
    if (name === '') continue;
    const column = lead.length;
    const dash = lead.indexOf('-');
    const start = dash < 0 ? column : dash;
    if (start >= least && column >= least) continue;
    if (column >= least) {
      least = start;
      continue;
    }
    names.unshift({ name: name.replaceAll('"', ''), isItem: false });
    least = start;
  }
  return names.reduce<Schema | undefined>((schema, { name }) => {
    const found = fieldSchema(schema, name);
    return found?.items ?? found;
  }, root);
}

function complete(context: CompletionContext, schema: Schema | undefined): CompletionResult | null {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const value = /^(\s*(?:- +)*)([\w.-]+): *(\w*)$/.exec(before);
  if (value !== null) {
    const [, lead = '', name = '', word = ''] = value;
    const field = fieldSchema(schemaAbove(context.state, line.number, lead.length, schema), name);
    const options = valuesOf(field).map((label): Completion => ({ label, type: 'constant' }));
    return options.length === 0 ? null : { from: context.pos - word.length, options };
  }
  const key = /^(\s*(?:- +)*)([\w.-]*)$/.exec(before);
  if (key === null || (!context.explicit && (key[2] ?? '') === '')) return null;
  const [, lead = '', word = ''] = key;
  const above = schemaAbove(context.state, line.number, lead.length, schema);
  const options = Object.entries(above?.properties ?? {}).map(
    ([label, { description, type }]): Completion => ({
      label,
      type: 'property',
      apply: type === 'object' || type === 'array' ? `${label}:` : `${label}: `,
      ...(description === undefined ? {} : { info: description }),
    }),
  );
  return options.length === 0 ? null : { from: context.pos - word.length, options };
}

function valuesOf(schema: Schema | undefined): readonly string[] {
  if (schema?.type === 'boolean') return ['true', 'false'];
  return (schema?.enum ?? schema?.items?.enum ?? []).map(String);
}

function hover(view: EditorView, at: number, schema: Schema | undefined) {
  const line = view.state.doc.lineAt(at);
  const [, lead = '', name = ''] = KEY_LINE.exec(line.text) ?? [];
  const from = line.from + lead.length;
  if (name === '' || at < from || at > from + name.length) return null;
  const above = schemaAbove(view.state, line.number, lead.length, schema);
  const description = fieldSchema(above, name.replaceAll('"', ''))?.description;
  if (description === undefined) return null;
  return {
    pos: from,
    end: from + name.length,
    create: () => {
      const dom = document.createElement('div');
      dom.className = 'cm-hover';
      dom.textContent = description;
      return { dom };
    },
  };
}
