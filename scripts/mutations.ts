/** Changes of one expression of a source file, as a slip of the hand would make them. */
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
  isIdentifier,
  isPrefixUnaryExpression,
  isReturnStatement,
  isThrowStatement,
  isTypeNode,
} from 'typescript/unstable/ast/is';

export interface Mutation {
  /** Below `src/`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Offsets into the text of the file, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  readonly before: string;
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

/** Every mutation of a file, in the order of its text; messages of errors are left alone. */
export function mutationsOf(file: string, source: SourceFile): readonly Mutation[] {
  const { text } = source;
  const found: Mutation[] = [];
  const visit = (node: Node): void => {
    if (isTypeNode(node) || isThrowStatement(node)) return;
    for (const change of changesOf(node, source)) {
      const before = text.slice(change.start, change.end).replaceAll(/\s+/g, ' ');
      const line = text.slice(0, change.start).split('\n').length;
      found.push({ file, line, before, ...change });
    }
    node.forEachChild(visit);
  };
  visit(source);
  return found;
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

function saysSomething(returned: Node | undefined): boolean {
  return returned !== undefined && !(isIdentifier(returned) && returned.text === 'undefined');
}

function isCall(node: Node): boolean {
  return isAwaitExpression(node) ? isCall(node.expression) : isCallExpression(node);
}

function isText({ kind }: Node): boolean {
  return kind === SyntaxKind.StringLiteral || kind === SyntaxKind.TemplateExpression;
}
