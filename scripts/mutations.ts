/** Changes of one expression of a source file, as a slip of the hand would make them. */
import { join } from 'node:path';
import {
  type BinaryExpression,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import {
  isAwaitExpression,
  isBinaryExpression,
  isCallExpression,
  isExpressionStatement,
  isFunctionDeclaration,
  isGetAccessorDeclaration,
  isIdentifier,
  isMethodDeclaration,
  isPrefixUnaryExpression,
  isPropertyDeclaration,
  isReturnStatement,
  isThrowStatement,
  isTypeNode,
} from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';

const ROOT = join(import.meta.dirname, '..');

export interface Mutation {
  /** Below `src/`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Name of the function, method or property around it; empty at the top of the file. */
  readonly scope: string;
  /** The lines that it changes, before and after, on one line each. */
  readonly from: string;
  readonly to: string;
  /** Offsets into the text of the file, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  readonly after: string;
}

type Change = Pick<Mutation, 'start' | 'end' | 'after'>;

const OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '+=': '-=',
  '-=': '+=',
};

/** Every mutation of files below `src/`, without the extension, in the order of their text. */
export function mutationsIn(files: readonly string[]): readonly Mutation[] {
  const api = new API({ cwd: ROOT });
  try {
    const [project] = api
      .updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.json')] })
      .getProjects();
    return files.flatMap((file) => {
      const source = project?.program.getSourceFile(join(ROOT, 'src', `${file}.ts`));
      if (source === undefined) throw new Error(`src/${file}.ts is not there`);
      return mutationsOf(`${file}.ts`, source);
    });
  } finally {
    api.close();
  }
}

/** Messages of errors are left alone. */
function mutationsOf(file: string, source: SourceFile): readonly Mutation[] {
  const { text } = source;
  const found: Mutation[] = [];
  const visit = (node: Node, outer: string): void => {
    if (isTypeNode(node) || isThrowStatement(node)) return;
    const scope = nameOf(node, source) ?? outer;
    for (const change of changesOf(node, source)) {
      const line = text.slice(0, change.start).split('\n').length;
      found.push({ file, line, scope, ...linesOf(change, text), ...change });
    }
    node.forEachChild((child) => visit(child, scope));
  };
  visit(source, '');
  return found;
}

function nameOf(node: Node, source: SourceFile): string | undefined {
  const isNamed = [
    isFunctionDeclaration,
    isGetAccessorDeclaration,
    isMethodDeclaration,
    isPropertyDeclaration,
  ].some((isOne) => isOne(node));
  return isNamed ? (node as { name?: Node }).name?.getText(source) : undefined;
}

function linesOf({ start, end, after }: Change, text: string): Pick<Mutation, 'from' | 'to'> {
  const first = text.lastIndexOf('\n', start) + 1;
  const last = text.indexOf('\n', end);
  const onOneLine = (lines: string): string => lines.replaceAll(/\s+/g, ' ').trim();
  return {
    from: onOneLine(text.slice(first, last)),
    to: onOneLine(text.slice(first, start) + after + text.slice(end, last)),
  };
}

function* changesOf(node: Node, source: SourceFile): Generator<Change> {
  const start = node.getStart(source);
  const { end } = node;
  if (isBinaryExpression(node)) yield* operatorOf(node, source);
  else if (node.kind === SyntaxKind.TrueKeyword) yield { start, end, after: 'false' };
  else if (node.kind === SyntaxKind.FalseKeyword) yield { start, end, after: 'true' };
  else if (isPrefixUnaryExpression(node) && source.text[start] === '!') {
    yield { start, end: start + 1, after: '' };
  } else if (isReturnStatement(node) && saysSomething(node.expression)) {
    yield { start, end, after: 'return undefined as never;' };
  } else if (isExpressionStatement(node) && isCall(node.expression)) {
    yield { start, end, after: ';' };
  }
}

function* operatorOf(node: BinaryExpression, source: SourceFile): Generator<Change> {
  const { operatorToken, left, right } = node;
  const start = operatorToken.getStart(source);
  const operator = source.text.slice(start, operatorToken.end);
  const after = OPERATORS[operator];
  // A text that another one is joined to is no number.
  if (after === undefined || (operator === '+' && [left, right].some(isText))) return;
  yield { start, end: operatorToken.end, after };
}

/** True and false have a mutation of their own, which is the larger change. */
function saysSomething(returned: Node | undefined): boolean {
  if (returned === undefined) return false;
  if ([SyntaxKind.TrueKeyword, SyntaxKind.FalseKeyword].includes(returned.kind)) return false;
  return !(isIdentifier(returned) && returned.text === 'undefined');
}

function isCall(node: Node): boolean {
  return isAwaitExpression(node) ? isCall(node.expression) : isCallExpression(node);
}

function isText({ kind }: Node): boolean {
  return kind === SyntaxKind.StringLiteral || kind === SyntaxKind.TemplateExpression;
}
